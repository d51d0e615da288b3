"""Retrieved documents in fewer tokens: a compressor, and a retriever around any other retriever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from langchain_core.retrievers import BaseRetriever, RetrieverLike
from langchain_core.runnables import run_in_executor
from pydantic import ConfigDict, Field

from ctx_core.optimize.optimizer import ContextOptimizer
from langchain_ctx.scope import optimizer_of_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
        Callbacks,
    )
    from langchain_core.runnables import RunnableConfig

    from ctx_core.optimize.optimizer import CompressResult


class ContextDocumentCompressor(BaseDocumentCompressor, BaseDocumentTransformer):
    """Shortens each document for a query, and keeps every document, its id and its metadata.

    Works as a compressor (`ContextualCompressionRetriever`) and as a transformer (`DocumentCompressorPipeline`); in a chain,
    `ContextRunnable` takes documents too. What was done stands in the metadata under `ctx_` keys, `ctx_ref` being the
    reference by which `optimizer.retrieve` gives the original back.

    Args:
        optimizer: Compresses and keeps the originals.
        max_tokens: Budget of all documents together; None takes each to its natural level.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    optimizer: ContextOptimizer = Field(default_factory=ContextOptimizer)
    max_tokens: int | None = None

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Return every document, shortened for `query`; the inputs stay as they were."""
        del callbacks
        results = self._results([document.page_content for document in documents], query or None)
        return [_shortened(document, result) for document, result in zip(documents, results, strict=True)]

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Do what `compress_documents` does, in a worker thread."""
        return await run_in_executor(None, self.compress_documents, documents, query, callbacks)

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Return every document, shortened without a query, or for `query=…`."""
        return self.compress_documents(documents, cast("str", kwargs.get("query") or ""))

    async def atransform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Do what `transform_documents` does, in a worker thread."""
        return await run_in_executor(None, self.transform_documents, documents, **kwargs)

    def _results(self, texts: list[str], query: str | None) -> list[CompressResult]:
        optimizer = optimizer_of_run(self.optimizer)
        if self.max_tokens is None:
            return [optimizer.optimize(text, query=query) for text in texts]
        return optimizer.optimize_many(texts, max_tokens=self.max_tokens, query=query)


def _shortened(document: Document, result: CompressResult) -> Document:
    metadata = {**document.metadata, **_compression(result)}
    return document.model_copy(update={"page_content": result.compressed, "metadata": metadata})


def _compression(result: CompressResult) -> dict[str, Any]:
    if result.ccr_hash is None:
        return {}
    return {
        "ctx_ref": result.ccr_hash,
        "ctx_content_type": result.content_type.value,
        "ctx_original_tokens": result.original_tokens,
        "ctx_tokens": result.compressed_tokens,
    }


class CompressedRetriever(BaseRetriever):
    """Any retriever, with each of its documents shortened for the query.

    Args:
        base_retriever: The retriever; extra arguments of `invoke`, such as `k`, go to it.
        compressor: Shortens the documents.
    """

    base_retriever: RetrieverLike
    compressor: BaseDocumentCompressor = Field(default_factory=ContextDocumentCompressor)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        callbacks = run_manager.get_child()
        documents = self.base_retriever.invoke(query, _config(callbacks), **kwargs)
        return list(self.compressor.compress_documents(documents, query, callbacks=callbacks))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        callbacks = run_manager.get_child()
        documents = await self.base_retriever.ainvoke(query, _config(callbacks), **kwargs)
        return list(await self.compressor.acompress_documents(documents, query, callbacks=callbacks))


def _config(callbacks: Callbacks) -> RunnableConfig:
    return {"callbacks": callbacks}
