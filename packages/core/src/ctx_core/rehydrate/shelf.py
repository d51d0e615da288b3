"""One user's archive as this process last saw it; what was read once is not read again."""

from __future__ import annotations

from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Final

from ctx_core import telemetry
from ctx_core.errors import ContentNotFound, StoreCorrupt
from ctx_core.rehydrate.blobs import Archived, BlobRef, BlobStore, decode, stamp_of
from ctx_core.rehydrate.concurrent import each
from ctx_core.rehydrate.index import TurnIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctx_core.rehydrate.turns import Turn
    from ctx_core.rehydrate.vectors import Row


_MOST_LISTINGS: Final = 3
# Writes that failed and may have been done after all; they are given again soon or never.
_MOST_UNANSWERED: Final = 64


@dataclass(slots=True)
class _Kept:
    """A blob that was read: its tag, what is in it (None if unreadable), and where its turns stand in the index."""

    etag: str | None
    archived: Archived | None
    places: list[int]
    has_vectors: bool = False
    asked_for_vectors: bool = False


class Shelf:
    """Mirrors the blobs of one user in memory and indexes them; who reads the index holds `lock`, which no I/O happens under.

    Args:
        store: Holds the blobs.
        folder: Key prefix of the user's archives, ending in a slash.
        user_id: Whose archives they are; blobs that name another user are left out.
    """

    def __init__(self, store: BlobStore, folder: str, user_id: str) -> None:
        self.lock = RLock()
        self.index = TurnIndex()
        self.deleted = False
        self.unanswered: dict[tuple[tuple[str | None, str], ...], str] = {}
        self._store = store
        self._folder = folder
        self.user_id = user_id
        self._kept: dict[str, _Kept] = {}

    @property
    def keys(self) -> list[str]:
        """Keys of the archives that are indexed."""
        return [key for key, kept in self._kept.items() if kept.archived is not None]

    def refresh(self, *, most_reads: int | None = None) -> list[str]:
        """List the user's blobs and read those that are new, the latest first; return a line for each that failed.

        Args:
            most_reads: The most blobs read now; the others are read by later calls.
        """
        warnings, complete = self._refresh(most_reads)
        for _ in range(_MOST_LISTINGS - 1):
            if complete:
                break
            warnings, complete = self._refresh(most_reads)
        return warnings

    def _refresh(self, most_reads: int | None) -> tuple[list[str], bool]:
        """Mirror one listing; it is not complete if a blob went away meanwhile, whose turns are then in another one."""
        listed = {ref.key: ref for ref in self._store.list(self._folder) if ref.key.endswith(".json")}
        with self.lock:
            gone = [key for key, kept in self._kept.items() if key not in listed and kept.etag is not None]
            new = [ref for ref in listed.values() if not self._knows(ref)]
        new.sort(key=lambda ref: stamp_of(ref.key), reverse=True)
        wanted = new[:most_reads]
        fresh, warnings, vanished = self._read(wanted)
        with self.lock:
            for key in gone:
                self._kept.pop(key, None)
            self._take({key: kept for key, kept in fresh.items() if key not in self._kept}, rebuild=bool(gone))
        return warnings, not vanished

    def _knows(self, ref: BlobRef) -> bool:
        kept = self._kept.get(ref.key)
        if kept is None:
            return False
        if kept.etag is None:  # written by this process, which is not told the tag
            kept.etag = ref.etag
        return kept.etag == ref.etag

    def _read(self, refs: Sequence[BlobRef]) -> tuple[dict[str, _Kept], list[str], int]:
        fresh: dict[str, _Kept] = {}
        vanished = 0
        warnings: list[str] = []
        for ref, data in zip(refs, each(self._store.get, [ref.key for ref in refs]), strict=True):
            if isinstance(data, ContentNotFound):  # compacted or deleted since it was listed
                vanished += 1
                continue
            try:
                fresh[ref.key] = _Kept(ref.etag, self._mine(ref.key, _raised(data)), [])
            except StoreCorrupt as error:  # its bytes will not change: they are not read again
                fresh[ref.key] = _Kept(ref.etag, None, [])
                warnings.append(telemetry.degraded(f"reading {ref.key}", error))
            except Exception as error:  # noqa: BLE001 - whatever a store raises, the other archives still count
                warnings.append(telemetry.degraded(f"reading {ref.key}", error))
        return fresh, warnings, vanished

    def _mine(self, key: str, data: bytes) -> Archived | None:
        archived = decode(key, data)
        return archived if archived.user_id in (None, self.user_id) else None

    def remember_unanswered(self, turns: tuple[tuple[str | None, str], ...], attempt: str) -> None:
        """Note that a write may or may not have been done, so that its repetition bears the same name."""
        self.unanswered[turns] = attempt
        while len(self.unanswered) > _MOST_UNANSWERED:
            del self.unanswered[next(iter(self.unanswered))]

    def put(self, key: str, archived: Archived) -> None:
        """Index a blob that was just written."""
        self._take({key: _Kept(None, archived, [])}, rebuild=False)
        self.asked_for_vectors(key)

    def _take(self, fresh: dict[str, _Kept], *, rebuild: bool) -> None:
        if not fresh and not rebuild:
            return
        latest = max((stamp_of(key) for key in self._kept), default=(0, 0))
        in_order = all(stamp_of(key) >= latest and key not in self._kept for key in fresh)
        self._kept |= fresh
        if rebuild or not in_order:
            # Vectors are read again from the store; this happens after a compaction or beside another writer.
            self.index = TurnIndex()
            fresh = self._kept
        for key in sorted(fresh, key=stamp_of):
            kept = self._kept[key]
            kept.has_vectors = kept.asked_for_vectors = False
            if kept.archived is not None:
                kept.places = self.index.add(kept.archived)

    def without_vectors(self, *, unasked: bool = False) -> list[str]:
        """Return the keys of archives whose vectors are not here; `unasked` only those that the store was not asked for."""
        return [
            key
            for key, kept in self._kept.items()
            if kept.archived is not None and not kept.has_vectors and not (unasked and kept.asked_for_vectors)
        ]

    def asked_for_vectors(self, key: str) -> None:
        """Note that the store was asked for the vectors of an archive."""
        if key in self._kept:
            self._kept[key].asked_for_vectors = True

    def turns_of(self, key: str) -> Sequence[Turn]:
        """Return the turns of one archive; none if it is gone."""
        kept = self._kept.get(key)
        return kept.archived.turns if kept is not None and kept.archived is not None else ()

    def small(self, below: int) -> int:
        """Return how many archives hold fewer turns than `below`."""
        return sum(len(self.turns_of(key)) < below for key in self.keys)

    def contents(self, keys: Sequence[str]) -> tuple[list[int], list[Turn], list[bytes] | None]:
        """Return the places, turns and vectors of several archives, each turn once; no vectors if some are missing."""
        places = [at for key in keys for at in self._kept[key].places if at >= 0]
        complete = self.index.vectors is not None and all(self._kept[key].has_vectors for key in keys)
        rows = [self.index.vectors.row(at) for at in places] if complete and self.index.vectors else None
        return places, [self.index.entries[at].turn for at in places], rows

    def replace(
        self, keys: Sequence[str], key: str, archived: Archived, places: list[int], *, has_vectors: bool
    ) -> None:
        """Note that one archive took the place of several; the index stays as it is."""
        for old in keys:
            self._kept.pop(old, None)
        self._kept[key] = _Kept(None, archived, places, has_vectors, asked_for_vectors=True)

    def set_vectors(self, key: str, vectors: Sequence[Row]) -> None:
        """Take in the vectors of one archive, one for each of its turns."""
        kept = self._kept.get(key)
        if kept is None or kept.archived is None:
            return
        self.index.set_vectors(kept.places, vectors)
        kept.has_vectors = True


def _raised(data: bytes | Exception) -> bytes:
    if isinstance(data, Exception):
        raise data
    return data
