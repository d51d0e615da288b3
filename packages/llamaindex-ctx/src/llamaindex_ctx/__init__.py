"""ctx for LlamaIndex: postprocessor, retrievers, memory block and tools.

Names load on first use: importing the package does not import LlamaIndex, which takes a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctx_core.lazy import exports

if TYPE_CHECKING:
    from llamaindex_ctx.embeddings import LlamaIndexEmbedder as LlamaIndexEmbedder
    from llamaindex_ctx.graphs import ContextPGRetriever as ContextPGRetriever
    from llamaindex_ctx.graphs import bundle_from_property_graph as bundle_from_property_graph
    from llamaindex_ctx.ingestion import ContextTransform as ContextTransform
    from llamaindex_ctx.memory import RehydrationMemoryBlock as RehydrationMemoryBlock
    from llamaindex_ctx.postprocessor import ContextPostprocessor as ContextPostprocessor
    from llamaindex_ctx.retrievers import ArchiveRetriever as ArchiveRetriever
    from llamaindex_ctx.retrievers import GraphContextRetriever as GraphContextRetriever
    from llamaindex_ctx.tools import compress_tool as compress_tool
    from llamaindex_ctx.tools import retrieve_original_tool as retrieve_original_tool

__version__ = "0.1.0"

_HOMES = {
    "ArchiveRetriever": "retrievers",
    "ContextPGRetriever": "graphs",
    "ContextPostprocessor": "postprocessor",
    "ContextTransform": "ingestion",
    "GraphContextRetriever": "retrievers",
    "LlamaIndexEmbedder": "embeddings",
    "RehydrationMemoryBlock": "memory",
    "bundle_from_property_graph": "graphs",
    "compress_tool": "tools",
    "retrieve_original_tool": "tools",
}

__all__ = [
    "ArchiveRetriever",
    "ContextPGRetriever",
    "ContextPostprocessor",
    "ContextTransform",
    "GraphContextRetriever",
    "LlamaIndexEmbedder",
    "RehydrationMemoryBlock",
    "bundle_from_property_graph",
    "compress_tool",
    "retrieve_original_tool",
]

__getattr__, __dir__ = exports(__name__, _HOMES)
