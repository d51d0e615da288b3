"""ctx for LangChain and LangGraph: prompts that fit, tool results that shrink, old turns that come back.

Names load on first use, so importing the package costs next to nothing; `ContextMiddleware` alone needs the extra `agents`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctx_core.lazy import exports

if TYPE_CHECKING:
    from langchain_ctx.agents.middleware import ContextMiddleware as ContextMiddleware
    from langchain_ctx.documents import CompressedRetriever as CompressedRetriever
    from langchain_ctx.documents import ContextDocumentCompressor as ContextDocumentCompressor
    from langchain_ctx.embeddings import LangChainEmbedder as LangChainEmbedder
    from langchain_ctx.history import ArchivedChatMessageHistory as ArchivedChatMessageHistory
    from langchain_ctx.node import ContextNode as ContextNode
    from langchain_ctx.retrievers import ArchiveRetriever as ArchiveRetriever
    from langchain_ctx.retrievers import GraphContextRetriever as GraphContextRetriever
    from langchain_ctx.runnable import ContextRunnable as ContextRunnable
    from langchain_ctx.stores import ByteStoreCcrStore as ByteStoreCcrStore
    from langchain_ctx.stores import LangGraphStoreBlobs as LangGraphStoreBlobs
    from langchain_ctx.stores import LangGraphStoreCcrStore as LangGraphStoreCcrStore
    from langchain_ctx.tools import retrieve_original_tool as retrieve_original_tool

__version__ = "0.1.0"

_HOMES = {
    "ArchiveRetriever": "retrievers",
    "ArchivedChatMessageHistory": "history",
    "ByteStoreCcrStore": "stores",
    "CompressedRetriever": "documents",
    "ContextDocumentCompressor": "documents",
    "ContextMiddleware": "agents.middleware",
    "ContextNode": "node",
    "ContextRunnable": "runnable",
    "GraphContextRetriever": "retrievers",
    "LangChainEmbedder": "embeddings",
    "LangGraphStoreBlobs": "stores",
    "LangGraphStoreCcrStore": "stores",
    "retrieve_original_tool": "tools",
}

__all__ = [
    "ArchiveRetriever",
    "ArchivedChatMessageHistory",
    "ByteStoreCcrStore",
    "CompressedRetriever",
    "ContextDocumentCompressor",
    "ContextMiddleware",
    "ContextNode",
    "ContextRunnable",
    "GraphContextRetriever",
    "LangChainEmbedder",
    "LangGraphStoreBlobs",
    "LangGraphStoreCcrStore",
    "retrieve_original_tool",
]

__getattr__, __dir__ = exports(__name__, _HOMES)
