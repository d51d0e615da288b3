"""Any model of sentence-transformers as an embedder."""

from __future__ import annotations

from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any

from ctx_core.extras import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctx_core.embeddings.base import Vector


class SentenceTransformersEmbedder:
    """Embeds with a sentence-transformers model; needs the extra `sentence-transformers`, which brings torch.

    Args:
        model: Folder or name of the model. A name that is not on this machine is fetched by sentence-transformers itself.
        name: Name that stored vectors are filed under; the model's by default.
        similarity_floor: Cosine below which two texts have nothing to do with each other, for this model; by default
            measured on each archive.
        batch_size: Texts per run of the model.
        options: Further arguments for `SentenceTransformer`, such as `device`.
    """

    def __init__(
        self,
        model: str,
        *,
        name: str | None = None,
        similarity_floor: float | None = None,
        batch_size: int = 32,
        **options: Any,
    ) -> None:
        require("sentence_transformers", extra="sentence-transformers")
        self.model = name or model.rstrip("/").rsplit("/", 1)[-1]
        self.similarity_floor = similarity_floor
        self.batch_size = batch_size
        self._source = model
        self._options = options
        self._loaded: Any = None
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_loaded", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self._loaded = None
        self._lock = Lock()

    @property
    def dimension(self) -> int:
        """Length of every vector; the first call loads the model."""
        model = self._model()
        # Version 6 warns of the name that version 3 has alone.
        ask = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
        return int(ask())

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one unit vector for each text, with the model's own prompt for documents if it has one."""
        return self._encode(texts, method="encode_document")

    def embed_query(self, text: str) -> Vector:
        """Return the unit vector of a query, with the model's own prompt for queries if it has one."""
        return self._encode([text], method="encode_query")[0]

    def _encode(self, texts: Sequence[str], *, method: str) -> list[Vector]:
        # Lone surrogates have no UTF-8 form, which tokenizers need; one such text would fail its whole batch.
        readable = [text.encode("utf-8", "replace").decode() for text in texts]
        model = self._model()
        encode = getattr(model, method, None) or model.encode  # versions before 5 have one method
        return list(encode(readable, batch_size=self.batch_size, normalize_embeddings=True, show_progress_bar=False))

    def _model(self) -> Any:
        with self._lock:
            if self._loaded is None:
                library = import_module("sentence_transformers")  # takes seconds, as it loads torch
                self._loaded = library.SentenceTransformer(self._source, **self._options)
            return self._loaded
