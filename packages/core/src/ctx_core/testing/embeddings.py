"""An embedder for tests: deterministic, offline, and near for texts that share words."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class FakeEmbedder:
    """Hashes the words of a text into a vector, so that texts sharing words are near; remembers what it was asked.

    Args:
        dimension: Length of the vectors.
        model: Name of the model it claims to be.
        similarity_floor: Floor it claims to have.
    """

    def __init__(self, dimension: int = 64, *, model: str = "fake", similarity_floor: float | None = 0.3) -> None:
        self.dimension = dimension
        self.model = model
        self.similarity_floor = similarity_floor
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector for each text; blank texts are refused, as providers refuse them."""
        self.calls.append(list(texts))
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * self.dimension
        found = re.findall(r"\w+", text.lower())
        if not text.strip():
            raise ValueError("a blank text has no vector")
        for word in found or [text]:
            digest = hashlib.sha256(word.encode("utf-8", "replace")).digest()
            vector[int.from_bytes(digest[:4], "big") % self.dimension] += 1.0 if digest[4] % 2 else -1.0
        if not any(vector):
            vector[0] = 1.0
        return vector
