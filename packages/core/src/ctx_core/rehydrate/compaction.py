"""Many small archives become few larger ones, so that a listing stays short; nobody has to stop for it."""

from __future__ import annotations

from itertools import count, groupby
from typing import TYPE_CHECKING, Final

from ctx_core.rehydrate.blobs import Archived, encode, stamp_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctx_core.rehydrate.blobs import BlobStore
    from ctx_core.rehydrate.shelf import Shelf
    from ctx_core.rehydrate.vectorizer import Vectorizer

SMALL_TURNS: Final = 256
"""An archive of fewer turns is small."""

_MOST_TURNS: Final = 1024
_DAY_MS: Final = 86_400_000


def compact(store: BlobStore, shelf: Shelf, *, vectorizer: Vectorizer | None, at_least: int) -> int:
    """Merge runs of `at_least` small archives of one day; return how many archives went.

    The new archive is written before the old ones are deleted, so that a reader always finds every turn, some of them twice in
    between, which reading evens out. Archives of two days stay apart, as their age is what a limit on age looks at.
    """
    with shelf.lock:
        runs = [run for run in _runs(shelf) if len(run) >= max(2, at_least)]
    return sum(_merge(store, shelf, run, vectorizer) for run in runs)


def _runs(shelf: Shelf) -> Iterator[list[str]]:
    for _, of_day in groupby(sorted(shelf.keys, key=stamp_of), key=lambda key: stamp_of(key)[0] // _DAY_MS):
        run: list[str] = []
        turns = 0
        for key in of_day:
            size = len(shelf.turns_of(key))
            if size >= SMALL_TURNS or turns + size > _MOST_TURNS:
                yield run
                run, turns = [], 0
            if size < SMALL_TURNS:
                run.append(key)
                turns += size
        yield run


def _merge(store: BlobStore, shelf: Shelf, run: list[str], vectorizer: Vectorizer | None) -> int:
    with shelf.lock:
        places, turns, rows = shelf.contents(run)
    folder, newest = run[-1].rpartition("/")[0], stamp_of(run[-1])[0]
    archived = Archived(turns=tuple(turns), evicted_at_ms=newest, user_id=shelf.user_id)
    data = encode(archived)
    key = next(key for number in count(1) if store.put(key := f"{folder}/{newest}-{number}.json", data))
    if vectorizer is not None and rows is not None:
        vectorizer.store(key, rows)
    with shelf.lock:
        shelf.replace(run, key, archived, places, has_vectors=rows is not None)
    store.delete([key] if shelf.deleted else run)
    if vectorizer is not None:
        vectorizer.forget([key] if shelf.deleted else run)
    return len(run)
