"""The archive: turns that left the window, kept as blobs, found again by words and by meaning."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from threading import Lock
from time import time
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import uuid4

from ctx_core import telemetry
from ctx_core.embeddings.base import DEFAULT_FLOOR
from ctx_core.embeddings.minilm import MiniLmEmbedder
from ctx_core.embeddings.multilingual_e5 import MultilingualE5Embedder
from ctx_core.errors import InvalidInput
from ctx_core.rehydrate.backlog import Backlog
from ctx_core.rehydrate.blobs import VECTORS, Archived, BlobStore, LeavesUnfinished, decode, encode, user_folder
from ctx_core.rehydrate.compaction import SMALL_TURNS, compact
from ctx_core.rehydrate.concurrent import within
from ctx_core.rehydrate.lexical import is_blank
from ctx_core.rehydrate.query import read_query
from ctx_core.rehydrate.ranking import rank
from ctx_core.rehydrate.shelf import Shelf
from ctx_core.rehydrate.turns import ScoredTurn, Turn, as_time
from ctx_core.rehydrate.vectorizer import Vectorizer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ctx_core.embeddings.base import Embedder
    from ctx_core.messages import Message
    from ctx_core.rehydrate.index import Entry
    from ctx_core.rehydrate.vectors import VectorTable

__all__ = ["Archive", "Scan", "ScoredTurn", "Turn"]

# Users whose turns stay in memory; 1,000 turns of one take about 3 MB.
_MOST_SHELVES: Final = 64
# Small archives of one user that are left alone; more are merged.
_MOST_SMALL: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What a search found.

    Args:
        hits: The turns, best first.
        scanned_blobs: Archives that were searched.
        warnings: One line for each thing that failed and was left out.
        similarity_floor: Cosine below which a turn has nothing to do with the query.
    """

    hits: list[ScoredTurn]
    scanned_blobs: int
    warnings: list[str]
    similarity_floor: float = DEFAULT_FLOOR


class Archive:
    """Keeps turns that left the window, per user, and finds them again.

    A turn can be found by its words as soon as `append` returns, and by its meaning when a background thread has embedded it.

    Args:
        blobs: Where the archives are kept; None keeps them in this process.
        embedder: Turns texts into vectors; `auto` takes the local model if the extra `local` is installed and else searches by
            words alone, `local` insists on it, `multilingual` takes the model of the extra of that name, None searches by words alone.
        prefix: Key prefix of the archives in the blob store.
        timeout_seconds: When appending gives up on a store that does not answer.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        blobs: BlobStore | None = None,
        *,
        embedder: Embedder | Literal["auto", "local", "multilingual"] | None = "auto",
        prefix: str = "evictions",
        timeout_seconds: float = 30.0,
        clock: Callable[[], float] = time,
    ) -> None:
        self.blobs = _memory_blobs() if blobs is None else blobs
        self.embedder = _embedder(embedder)
        self.prefix = prefix.strip("/")
        self._timeout = timeout_seconds
        self._clock = clock
        self._backlog = Backlog()
        self._vectorizer = Vectorizer(self.blobs, self.embedder, self._backlog) if self.embedder else None
        self._shelves: OrderedDict[str, Shelf] = OrderedDict()
        self._of_threads: Archive | None = None
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {
            "blobs": self.blobs,
            "embedder": self.embedder,
            "prefix": self.prefix,
            "timeout_seconds": self._timeout,
            "clock": self._clock,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)

    @property
    def similarity_floor(self) -> float:
        """Cosine below which a turn has nothing to do with a query, for the embedder in use; 0 where there is none.

        An embedder that states none has the floor that each user's own turns say, once there are six.
        """
        if self.embedder is None:
            return 0.0
        floor = self.embedder.similarity_floor
        return DEFAULT_FLOOR if floor is None else floor

    def _measure_floor(self, vectors: VectorTable | None) -> float:
        """Return the embedder's floor; where it states none, what the archive's own turns say."""
        if self.embedder is None or self.embedder.similarity_floor is not None or vectors is None:
            return self.similarity_floor
        noise = vectors.measure_noise()
        return self.similarity_floor if noise is None else noise

    def under(self, prefix: str) -> Archive:
        """Return an archive in the same store, with the same embedder, under another prefix; itself if it is the same one."""
        if prefix.strip("/") == self.prefix:
            return self
        return Archive(
            self.blobs, embedder=self.embedder, prefix=prefix, timeout_seconds=self._timeout, clock=self._clock
        )

    @property
    def of_threads(self) -> Archive:
        """The archive of conversations that name no user, kept apart so that a thread called like a user is not that user."""
        with self._lock:
            if self._of_threads is None:
                self._of_threads = self.under(f"{self.prefix}-of-threads")
            return self._of_threads

    def append(
        self,
        user_id: str,
        turns: Sequence[Turn | Message | Mapping[str, Any]],
        *,
        session_id: str | None = None,
        summary: str | None = None,
    ) -> int:
        """Keep `turns` for a user, oldest first; return how many were new. Those that are here already stay as they are.

        A turn is known by its id. Turns without one are known by their place in the conversation: a history handed over again
        is kept once, the same short answer to two questions twice (see `ctx_core.rehydrate.identity`).

        Whatever the store raises is raised, and `StoreUnavailable` if it does not answer: then none of `turns` counts as kept,
        and they are to be given again. Should the store have written them after all, that shows none of them twice.
        """
        shelf = self._shelf(user_id)
        given = [Turn.of(turn, session_id=session_id) for turn in turns]
        with shelf.lock:
            new = tuple(shelf.index.unknown(given))
        if not new:
            return 0
        asked = tuple((turn.session_id, turn.id) for turn in new)
        attempt = shelf.unanswered.pop(asked, None) or uuid4().hex
        stamp = int(self._clock() * 1000)
        archived = Archived(turns=new, evicted_at_ms=stamp, user_id=user_id, attempt=attempt)
        data = encode(archived, session_id=session_id, summary=summary)
        try:
            key = within(self._timeout, lambda: self._put(self._folder(user_id), stamp, data))
        except BaseException:
            shelf.remember_unanswered(asked, attempt)
            raise
        with shelf.lock:
            shelf.put(key, archived)
            small = shelf.small(SMALL_TURNS)
        if self._vectorizer:
            self._vectorizer.embed_soon(shelf, [key])
        if small >= _MOST_SMALL:
            self._backlog.offer(f"{user_id} compact", lambda: self._compact(shelf, at_least=_MOST_SMALL // 2))
        return len(new)

    def search(
        self,
        user_id: str,
        query: str,
        *,
        top_k: int = 5,
        now: datetime | None = None,
        max_age_days: float | None = None,
        wait_seconds: float | None = None,
    ) -> list[ScoredTurn]:
        """Return the `top_k` turns of a user that answer `query` best, best first.

        Args:
            user_id: Whose turns are searched; no other's are ever read.
            query: What is looked for, as it was asked; times in it, such as `last Friday`, count.
            top_k: The most turns returned.
            now: The time of asking; the present by default.
            max_age_days: Turns older than this are left out; None searches all.
            wait_seconds: The longest wait for turns that are still being embedded; None waits until all are.
        """
        scan = self.scan(user_id, query, top_k=top_k, now=now, max_age_days=max_age_days, wait_seconds=wait_seconds)
        return scan.hits

    def scan(
        self,
        user_id: str,
        query: str,
        *,
        top_k: int = 5,
        now: datetime | None = None,
        max_age_days: float | None = None,
        max_reads: int | None = None,
        skip: Callable[[Turn], bool] | None = None,
        with_answers: bool = True,
        session_id: str | None = None,
        wait_seconds: float | None = None,
    ) -> Scan:
        """Search as `search` does, and say how it went.

        Args:
            user_id: Whose turns are searched.
            query: What is looked for.
            top_k: The most turns returned.
            now: The time of asking.
            max_age_days: Turns older than this are left out.
            max_reads: The most archives read from the store now, latest first; what was read before is searched at no cost.
            skip: Says which turns are left out.
            with_answers: Whether the question of an answer and the answer to a question count as beside it.
            session_id: The conversation that is going on.
            wait_seconds: The longest wait for turns that are still being embedded.
        """
        shelf = self._shelf(user_id)
        warnings = shelf.refresh(most_reads=max_reads)
        scanned = len(shelf.keys)
        if is_blank(query) or top_k <= 0 or not scanned:
            return Scan(hits=[], scanned_blobs=scanned, warnings=warnings)
        vector = self._query_vector(shelf, query, warnings, wait_seconds)
        moment = as_time(now) or datetime.fromtimestamp(self._clock(), UTC)
        oldest = moment - timedelta(days=max_age_days) if max_age_days is not None else None
        with shelf.lock:
            hits = rank(
                shelf.index,
                read_query(query, speakers=shelf.index.speakers, today=moment.date()),
                vector=vector,
                now=moment,
                top_k=top_k,
                eligible=lambda entry: _is_eligible(entry, oldest, skip),
                session_id=session_id,
                with_answers=with_answers,
            )
            floor = self._measure_floor(shelf.index.vectors)
        return Scan(hits=hits, scanned_blobs=scanned, warnings=warnings, similarity_floor=floor)

    def _query_vector(
        self, shelf: Shelf, query: str, warnings: list[str], wait_seconds: float | None
    ) -> Sequence[float] | None:
        """Return the query's vector once the shelf has its own; None, and a warning, where that fails."""
        if self._vectorizer is None:
            return None
        try:
            self._vectorizer.complete(shelf, seconds=wait_seconds)
            return self._vectorizer.query(query)
        except Exception as error:  # noqa: BLE001 - an embedder may raise anything, and words still find turns
            warnings.append(telemetry.degraded("embedding a query", error))
            return None

    def flush(self, *, seconds: float | None = None) -> bool:
        """Wait until all that was appended is embedded, at most `seconds`; say whether it is."""
        return self._backlog.wait(seconds=seconds)

    def compact(self, user_id: str) -> int:
        """Merge a user's small archives; return how many went. Appending has this done in the background every so often."""
        shelf = self._shelf(user_id)
        shelf.refresh()
        if self._vectorizer:
            self._vectorizer.complete(shelf, seconds=None)
        return self._compact(shelf, at_least=2)

    def _compact(self, shelf: Shelf, *, at_least: int) -> int:
        shelf.refresh()  # what another process wrote in between decides which turn is which
        return compact(self.blobs, shelf, vectorizer=self._vectorizer, at_least=at_least)

    def export(self, user_id: str, *, threads: bool = True) -> list[Turn]:
        """Return everything kept for a user, oldest first, to show or to move it.

        Args:
            user_id: The user, or the thread that named none.
            threads: Include what was kept for the thread of that name; never do so for what goes into a prompt.
        """
        others = self.of_threads.export(user_id, threads=False) if threads else []
        return [*self._exported(user_id), *others]

    def _exported(self, user_id: str) -> list[Turn]:
        shelf = self._shelf(user_id)
        shelf.refresh()
        with shelf.lock:
            return [entry.turn for entry in shelf.index.entries]

    def delete(self, user_id: str, *, session_id: str | None = None) -> int:
        """Remove everything kept for a user, or one session of theirs, for good; return how many archives that were."""
        if session_id is not None:
            return self._delete_session(user_id, session_id)
        folders = self._folder(user_id), self._vector_folder(user_id)
        with self._lock:
            shelf = self._shelves.pop(user_id, None)
        if shelf is not None:
            shelf.deleted = True  # what is being embedded right now is not kept either
        keys = [ref.key for folder in folders for ref in self.blobs.list(folder)]
        self.blobs.delete(keys)
        self._delete_unfinished(user_id)
        return sum(key.startswith(folders[0]) for key in keys)

    def _delete_session(self, user_id: str, session_id: str) -> int:
        """Remove the archives that hold turns of a session; turns of other sessions in them move to new ones first."""
        folder, touched = self._folder(user_id), list[str]()
        for ref in self.blobs.list(folder):
            archived = decode(ref.key, self.blobs.get(ref.key))
            others = tuple(turn for turn in archived.turns if turn.session_id != session_id)
            if len(others) == len(archived.turns):
                continue
            touched.append(ref.key)
            if others:
                rest = replace(archived, turns=others)
                self._put(folder, rest.evicted_at_ms, encode(rest))
        with self._lock:
            shelf = self._shelves.pop(user_id, None)
        if shelf is not None:
            shelf.deleted = True  # what is being embedded right now is not kept either
        stems = tuple(f"{key.rsplit('/', 1)[-1].removesuffix('.json')}." for key in touched)
        vectors = [ref.key for ref in self.blobs.list(self._vector_folder(user_id))]
        self.blobs.delete([*touched, *(key for key in vectors if key.rsplit("/", 1)[-1].startswith(stems))])
        self._delete_unfinished(user_id)
        return len(touched)

    def _delete_unfinished(self, user_id: str) -> None:
        if isinstance(self.blobs, LeavesUnfinished):
            for folder in (self._folder(user_id), self._vector_folder(user_id)):
                self.blobs.delete_unfinished(folder)

    async def aappend(self, user_id: str, turns: Sequence[Turn | Message | Mapping[str, Any]], **options: Any) -> int:
        """Do as `append`, in a worker thread."""
        return await asyncio.to_thread(self.append, user_id, turns, **options)

    async def asearch(self, user_id: str, query: str, **options: Any) -> list[ScoredTurn]:
        """Do as `search`, in a worker thread."""
        return await asyncio.to_thread(self.search, user_id, query, **options)

    async def aexport(self, user_id: str) -> list[Turn]:
        """Do as `export`, in a worker thread."""
        return await asyncio.to_thread(self.export, user_id)

    async def adelete(self, user_id: str, **options: Any) -> int:
        """Do as `delete`, in a worker thread."""
        return await asyncio.to_thread(self.delete, user_id, **options)

    def _folder(self, user_id: str) -> str:
        return f"{self.prefix}/{user_folder(user_id)}/"

    def _vector_folder(self, user_id: str) -> str:
        return f"{self.prefix}{VECTORS}/{user_folder(user_id)}/"

    def _shelf(self, user_id: str) -> Shelf:
        folder = self._folder(user_id)
        with self._lock:
            shelf = self._shelves.get(user_id)
            if shelf is None:
                shelf = self._shelves[user_id] = Shelf(self.blobs, folder, user_id)
            self._shelves.move_to_end(user_id)
            while len(self._shelves) > _MOST_SHELVES:
                self._shelves.popitem(last=False)
            return shelf

    def _put(self, folder: str, stamp_ms: int, data: bytes) -> str:
        """Store a new blob under the first free number of its time; another writer's blob is never overwritten."""
        for number in count():
            key = f"{folder}{stamp_ms}-{number}.json"
            if self.blobs.put(key, data):
                return key
        raise AssertionError  # count() has no end


def _is_eligible(entry: Entry, oldest: datetime | None, skip: Callable[[Turn], bool] | None) -> bool:
    in_time = oldest is None or not entry.at_ms or entry.at_ms >= oldest.timestamp() * 1000
    return in_time and not entry.is_blank and not (skip and skip(entry.turn))


def _memory_blobs() -> BlobStore:
    from ctx_core.stores.memory.blobs import MemoryBlobs  # noqa: PLC0415 - the default is chosen here, and is an adapter

    return MemoryBlobs()


def _embedder(chosen: Embedder | Literal["auto", "local", "multilingual"] | None) -> Embedder | None:
    if chosen == "local" or (chosen == "auto" and MiniLmEmbedder.available()):
        return MiniLmEmbedder()
    if chosen == "multilingual":
        return MultilingualE5Embedder()
    if isinstance(chosen, str):
        if chosen != "auto":
            raise InvalidInput(
                f"unknown embedder {chosen!r}; give an Embedder, 'auto', 'local', 'multilingual' or None"
            )
        return None
    return chosen
