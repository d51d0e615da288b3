"""The embedder port: texts in, vectors out, and what one must know to compare them."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from ctx_core.errors import DimensionMismatch, StoreCorrupt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Vector: TypeAlias = "Sequence[float]"

DEFAULT_FLOOR = 0.7
"""The similarity floor of an embedder that states none, until an archive holds enough turns to measure one."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors of one length whose cosine says how near two texts are.

    `model` and `dimension` together name the vector space: stored vectors are only ever compared within one.
    """

    @property
    def model(self) -> str:
        """Name of the model; another name means other vectors."""
        ...

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        ...

    @property
    def similarity_floor(self) -> float | None:
        """Cosine below which two texts have nothing to do with each other, for this model; None if that is not known."""
        ...

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return one vector for each text, in their order; texts are never blank."""
        ...


@runtime_checkable
class QueryEmbedder(Protocol):
    """An embedder whose model reads a query in another way than a passage, such as E5 with its prefixes."""

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a query; the text is never blank."""
        ...


def embed_query(embedder: Embedder, text: str) -> array[float]:
    """Return the unit vector of a query, by the model's own method for queries if it has one."""
    if not isinstance(embedder, QueryEmbedder):
        return embed_all(embedder, [text])[0]
    vector = unit(embedder.embed_query(text))
    if len(vector) != embedder.dimension:
        raise DimensionMismatch(embedder.dimension, len(vector))
    return vector


def embed_all(embedder: Embedder, texts: Sequence[str]) -> list[array[float]]:
    """Return unit vectors as arrays of 32-bit floats, after checking how many came and how long they are."""
    if not texts:
        return []
    vectors = [unit(vector) for vector in embedder.embed(texts)]
    if len(vectors) != len(texts):
        raise StoreCorrupt(f"embedder {embedder.model!r} returned {len(vectors)} vectors for {len(texts)} texts")
    for vector in vectors:
        if len(vector) != embedder.dimension:
            raise DimensionMismatch(embedder.dimension, len(vector))
    return vectors


def unit(vector: Iterable[float]) -> array[float]:
    """Return `vector` scaled to length one; a zero or non-finite vector becomes zeros, which match nothing."""
    values = array("f", vector)
    norm = sum(value * value for value in values) ** 0.5
    if not 0.0 < norm < float("inf"):
        return array("f", bytes(4 * len(values)))
    return array("f", (value / norm for value in values))
