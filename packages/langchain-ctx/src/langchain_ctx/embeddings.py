"""Any LangChain embedding model as the embedder of an archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.embeddings import Embeddings


class LangChainEmbedder:
    """An `Embeddings` model of LangChain, named so that stored vectors can be told from another model's.

    Args:
        embeddings: The model.
        model: Its name; by default the model's own `model` or `model_name`, else its class.
        dimension: Length of its vectors; by default measured with one call, at the first need.
        similarity_floor: Cosine below which two texts have nothing to do with each other; by default measured on each archive.
    """

    def __init__(
        self,
        embeddings: Embeddings,
        *,
        model: str | None = None,
        dimension: int | None = None,
        similarity_floor: float | None = None,
    ) -> None:
        self.embeddings = embeddings
        self.model = model or _name_of(embeddings)
        self.similarity_floor = similarity_floor
        self._dimension = dimension

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        if self._dimension is None:
            self._dimension = len(self.embeddings.embed_query("dimension"))
        return self._dimension

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector for each text, in their order."""
        return self.embeddings.embed_documents(list(texts)) if texts else []

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query, by the model's own method for queries."""
        return self.embeddings.embed_query(text)


def _name_of(embeddings: Embeddings) -> str:
    names = (getattr(embeddings, name, None) for name in ("model", "model_name", "model_id"))
    return next((name for name in names if isinstance(name, str) and name), type(embeddings).__qualname__)
