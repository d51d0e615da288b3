"""Nodes with other text: copied, never changed, with all they carry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from llama_index.core.schema import BaseNode, MetadataMode

if TYPE_CHECKING:
    from ctx_core.optimize.optimizer import CompressResult

HASH_KEY: Final = "ctx_ccr_hash"
"""Metadata key of the original's reference; neither the model nor an index sees it."""


def text_of(node: BaseNode) -> str:
    """Return a node's own text, without metadata; empty for nodes that hold none."""
    return node.get_content(metadata_mode=MetadataMode.NONE) or ""


def with_result(node: BaseNode, result: CompressResult) -> BaseNode:
    """Return a copy of `node` with the shorter text and the original's reference, or `node` itself where nothing changed."""
    if result.ccr_hash is None and result.compressed == text_of(node):
        return node
    return replace_text(node, result.compressed, ref=result.ccr_hash)


def replace_text(node: BaseNode, text: str, *, ref: str | None = None) -> BaseNode:
    """Return a copy of `node` that says `text`, with the reference of the original if there is one."""
    metadata: dict[str, Any] = {**node.metadata}
    hidden = []
    if ref is not None:
        metadata[HASH_KEY] = ref
        hidden = [HASH_KEY]
    copy = node.model_copy(
        update={
            "metadata": metadata,
            "excluded_llm_metadata_keys": [*node.excluded_llm_metadata_keys, *hidden],
            "excluded_embed_metadata_keys": [*node.excluded_embed_metadata_keys, *hidden],
            "relationships": {**node.relationships},
        }
    )
    copy.set_content(text)
    return copy
