"""LlamaIndex's embedding models behind ctx's port."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.base.embeddings.base import BaseEmbedding


class LlamaIndexEmbedder:
    """Lets an archive embed with any `BaseEmbedding`.

    Args:
        model: The embedding model.
        dimension: Length of its vectors; measured with one short text where it is not given.
        similarity_floor: Cosine below which a turn is no match, for this model; by default measured on each archive.
    """

    def __init__(
        self, model: BaseEmbedding, *, dimension: int | None = None, similarity_floor: float | None = None
    ) -> None:
        self._model = model
        self._dimension = dimension
        self._floor = similarity_floor

    @property
    def model(self) -> str:
        """The model's name, under which vectors are stored."""
        return f"{self._model.class_name()}/{self._model.model_name}"

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        if self._dimension is None:
            self._dimension = len(self._model.get_text_embedding("dimension"))
        return self._dimension

    @property
    def similarity_floor(self) -> float | None:
        """Cosine below which a turn is no match; None if it is measured on each archive."""
        return self._floor

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector a text."""
        return self._model.get_text_embedding_batch(list(texts))

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query, by the model's own method for queries."""
        return self._model.get_query_embedding(text)
