"""What ctx tells LlamaIndex's instrumentation."""

from __future__ import annotations

from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.base import BaseEvent

dispatcher = get_dispatcher("llamaindex_ctx")


class ContextOptimizedEvent(BaseEvent):
    """Texts were optimized.

    Args:
        texts: How many.
        tokens_before: Their tokens as given.
        tokens_after: Their tokens now.
    """

    texts: int
    tokens_before: int
    tokens_after: int

    @classmethod
    def class_name(cls) -> str:
        """Name the event."""
        return "ContextOptimizedEvent"
