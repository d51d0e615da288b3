"""Vectors for what is on a shelf: read from the store where they are kept, else embedded in the background."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from ctx_core import telemetry
from ctx_core.embeddings.base import embed_all
from ctx_core.embeddings.caching import CachingEmbedder
from ctx_core.errors import StoreCorrupt
from ctx_core.rehydrate.backlog import Backlog
from ctx_core.rehydrate.blobs import vector_key
from ctx_core.rehydrate.concurrent import each
from ctx_core.rehydrate.lexical import is_blank
from ctx_core.rehydrate.vectors import FLOAT_BYTES, rows_of

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Sequence

    from ctx_core.embeddings.base import Embedder
    from ctx_core.rehydrate.blobs import BlobStore
    from ctx_core.rehydrate.shelf import Shelf
    from ctx_core.rehydrate.turns import Turn

_QUERIES_KEPT: Final = 256


class Vectorizer:
    """Sees to it that the turns on a shelf get their vectors, each computed once and kept beside its archive.

    Args:
        blobs: Where vectors are kept.
        embedder: Computes them.
    """

    def __init__(self, blobs: BlobStore, embedder: Embedder) -> None:
        self._blobs = blobs
        self._embedder = embedder
        self._queries = CachingEmbedder(embedder, max_entries=_QUERIES_KEPT)
        self._backlog = Backlog()

    def query(self, text: str) -> array[float]:
        """Return the vector of a query."""
        return self._queries.embed([text])[0]

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

    def flush(self, *, seconds: float | None) -> bool:
        """Wait until nothing is left to embed; say whether that came true."""
        return self._backlog.wait(seconds=seconds)

    def _read(self, shelf: Shelf, keys: Sequence[str]) -> None:
        for key, data in zip(keys, each(self._blobs.get, [self._key(key) for key in keys]), strict=True):
            with shelf.lock:
                shelf.asked_for_vectors(key)
                if isinstance(data, Exception):
                    continue
                try:
                    rows = rows_of(data, count=len(shelf.turns_of(key)), dimension=self._embedder.dimension)
                except StoreCorrupt as error:
                    telemetry.degraded(f"reading the vectors of {key}", error)
                    self._blobs.delete([self._key(key)])  # or they could never be written again
                else:
                    shelf.set_vectors(key, rows)

    def _embed(self, shelf: Shelf, key: str) -> None:
        with shelf.lock:
            turns = shelf.turns_of(key)
        spoken = {at: spoken_text(turn) for at, turn in enumerate(turns) if not is_blank(turn.text)}
        vectors = dict(zip(spoken, embed_all(self._embedder, list(spoken.values())), strict=True))
        blank = bytes(self._embedder.dimension * FLOAT_BYTES)
        data = b"".join(vectors[at].tobytes() if at in vectors else blank for at in range(len(turns)))
        with shelf.lock:
            shelf.set_vectors(key, rows_of(data, count=len(turns), dimension=self._embedder.dimension))
            there = bool(shelf.turns_of(key))
        if there:  # else the user was deleted meanwhile
            self._blobs.put(self._key(key), data)

    def _key(self, key: str) -> str:
        return vector_key(key, model=self._embedder.model, dimension=self._embedder.dimension)


def spoken_text(turn: Turn) -> str:
    """Return what is embedded for a turn: its text, after the name of who says it."""
    return f"{turn.name}: {turn.text}" if turn.name else turn.text
