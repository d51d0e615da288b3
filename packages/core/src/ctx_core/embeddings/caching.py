"""Vectors that were computed once, kept in memory."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from ctx_core.embeddings.base import embed_all, embed_query

if TYPE_CHECKING:
    from array import array
    from collections.abc import Sequence

    from ctx_core.embeddings.base import Embedder


_Key: TypeAlias = tuple[str, int, str, bytes]


class CachingEmbedder:
    """Asks another embedder only for texts that it has not seen lately; failures are not kept.

    The key holds the content's hash, the model, the dimension and whether the text is a query, so another model never meets the old one's vectors.

    Args:
        embedder: The embedder asked.
        max_entries: The most vectors kept; the least recently used leaves first.
    """

    def __init__(self, embedder: Embedder, *, max_entries: int = 10_000) -> None:
        self.embedder = embedder
        self.max_entries = max_entries
        self._kept: OrderedDict[_Key, array[float]] = OrderedDict()
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {"embedder": self.embedder, "max_entries": self.max_entries}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)

    @property
    def model(self) -> str:
        """Name of the embedder's model."""
        return self.embedder.model

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self.embedder.dimension

    @property
    def similarity_floor(self) -> float | None:
        """Cosine below which two texts have nothing to do with each other; None if that is not known."""
        return self.embedder.similarity_floor

    def embed(self, texts: Sequence[str]) -> list[array[float]]:
        """Return one unit vector for each text; equal texts are asked for once."""
        keys = [self._key(text, kind="passage") for text in texts]
        with self._lock:
            found = {key: self._kept[key] for key in keys if key in self._kept}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        found |= zip(missing, embed_all(self.embedder, list(missing.values())), strict=True)
        self._keep(found)
        return [found[key] for key in keys]

    def embed_query(self, text: str) -> array[float]:
        """Return the unit vector of a query, as the other embedder embeds queries."""
        key = self._key(text, kind="query")
        with self._lock:
            found = self._kept.get(key)
        if found is None:
            found = embed_query(self.embedder, text)
        self._keep({key: found})
        return found

    def _keep(self, vectors: dict[_Key, array[float]]) -> None:
        with self._lock:
            self._kept |= vectors
            for key in vectors:
                self._kept.move_to_end(key)
            while len(self._kept) > self.max_entries:
                self._kept.popitem(last=False)

    def _key(self, text: str, *, kind: str) -> _Key:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        return self.embedder.model, self.embedder.dimension, kind, digest
