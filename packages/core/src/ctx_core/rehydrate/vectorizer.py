"""Vectors for what is on a shelf: read from the store where they are kept, else embedded in the background."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from ctx_core import telemetry
from ctx_core.embeddings.base import embed_all
from ctx_core.embeddings.caching import CachingEmbedder
from ctx_core.errors import StoreCorrupt
from ctx_core.rehydrate.blobs import vector_key
from ctx_core.rehydrate.concurrent import each
from ctx_core.rehydrate.lexical import is_blank
from ctx_core.rehydrate.vectors import FLOAT_BYTES, decode_rows, encode_rows

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Sequence

    from ctx_core.embeddings.base import Embedder
    from ctx_core.rehydrate.backlog import Backlog
    from ctx_core.rehydrate.blobs import BlobStore
    from ctx_core.rehydrate.shelf import Shelf
    from ctx_core.rehydrate.turns import Turn

_QUERIES_KEPT: Final = 256


class Vectorizer:
    """Sees to it that the turns on a shelf get their vectors, each computed once and kept beside its archive.

    Args:
        blobs: Where vectors are kept.
        embedder: Computes them.
        backlog: Runs what may finish later.
    """

    def __init__(self, blobs: BlobStore, embedder: Embedder, backlog: Backlog) -> None:
        self._blobs = blobs
        self._embedder = embedder
        self._queries = CachingEmbedder(embedder, max_entries=_QUERIES_KEPT)
        self._backlog = backlog

    def query(self, text: str) -> array[float]:
        """Return the vector of a query."""
        return self._queries.embed_query(text)

    def embed_soon(self, shelf: Shelf, keys: Iterable[str]) -> None:
        """Embed the turns of these archives in the background."""
        for key in keys:
            self._backlog.offer(key, partial(self._embed, shelf, key))

    def complete(self, shelf: Shelf, *, seconds: float | None) -> None:
        """Read the vectors that are kept, have the others embedded, and wait for them at most `seconds`."""
        with shelf.lock:
            unread = [key for key in shelf.without_vectors(unasked=True) if not self._backlog.has(key)]
        self._read(shelf, unread)
        with shelf.lock:
            missing = shelf.without_vectors()
        if missing:
            self.embed_soon(shelf, missing)
            self._backlog.wait(seconds=seconds, among=set(missing))

    def _read(self, shelf: Shelf, keys: Sequence[str]) -> None:
        for key, data in zip(keys, each(self._blobs.get, [self._key(key) for key in keys]), strict=True):
            with shelf.lock:
                shelf.asked_for_vectors(key)
                if isinstance(data, Exception):
                    continue
                try:
                    rows = decode_rows(data, count=len(shelf.turns_of(key)), dimension=self._embedder.dimension)
                except StoreCorrupt as error:
                    telemetry.degraded(f"reading the vectors of {key}", error)
                    self._blobs.delete([self._key(key)])  # or they could never be written again
                else:
                    shelf.set_vectors(key, rows)

    def _embed(self, shelf: Shelf, key: str) -> None:
        with shelf.lock:
            if key not in shelf.without_vectors():  # they came in the meantime
                return
            turns = shelf.turns_of(key)
        spoken = {at: spoken_text(turn) for at, turn in enumerate(turns) if not is_blank(turn.text)}
        vectors = dict(zip(spoken, embed_all(self._embedder, list(spoken.values())), strict=True))
        blank = bytes(self._embedder.dimension * FLOAT_BYTES)
        rows = [vectors[at].tobytes() if at in vectors else blank for at in range(len(turns))]
        with shelf.lock:
            shelf.set_vectors(key, [memoryview(row).cast("f") for row in rows])
        self.store(key, rows)
        if shelf.deleted:  # the user was, meanwhile
            self.forget([key])

    def store(self, key: str, rows: Iterable[bytes]) -> None:
        """Keep the vectors of an archive, one for each of its turns."""
        model, dimension = self._embedder.model, self._embedder.dimension
        self._blobs.put(self._key(key), encode_rows(rows, model=model, dimension=dimension))

    def forget(self, keys: Iterable[str]) -> None:
        """Delete the vectors of archives that are gone."""
        self._blobs.delete([self._key(key) for key in keys])

    def _key(self, key: str) -> str:
        return vector_key(key, model=self._embedder.model, dimension=self._embedder.dimension)


def spoken_text(turn: Turn) -> str:
    """Return what is embedded for a turn: its text, after the name of who says it."""
    return f"{turn.name}: {turn.text}" if turn.name else turn.text
