"""Tools whose results are compressed at the source, and the tool that gets an original back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from llama_index.core.base.llms.types import TextBlock
from llama_index.core.tools import AsyncBaseTool, BaseTool, FunctionTool, ToolMetadata, ToolOutput, adapt_to_async_tool

from ctx_core import telemetry
from ctx_core.errors import NotFound
from ctx_core.optimize.optimizer import ContextOptimizer
from llamaindex_ctx.events import ContextOptimizedEvent, dispatcher

if TYPE_CHECKING:
    from collections.abc import Callable

RETRIEVE_ORIGINAL: Final = "retrieve_original"
"""The name of the tool that gets an original back."""


def compress_tool(
    tool: BaseTool, *, optimizer: ContextOptimizer | None = None, max_tokens: int | None = None
) -> AsyncBaseTool:
    """Return `tool` with its text results compressed before the model sees them.

    Results inside an agent's run never pass through its memory, so this is where they are kept small. Images and other
    blocks, raw output and errors' flags stay as they are; what a return-direct tool answers the user with and what
    `retrieve_original` returns are left alone.

    Args:
        tool: Any tool; a `FunctionTool` still gets its workflow context.
        optimizer: Compresses, and keeps the originals; share it with `retrieve_original_tool`.
        max_tokens: The most tokens of one text block, at least 32; None asks for its natural level.
    """
    adapted = adapt_to_async_tool(tool)
    if tool.metadata.get_name() == RETRIEVE_ORIGINAL:
        return adapted
    shorten = _Shorten(optimizer or ContextOptimizer(), max_tokens, tool.metadata)
    return (
        _CompressedFunctionTool(tool, shorten) if isinstance(tool, FunctionTool) else _CompressedTool(adapted, shorten)
    )


def retrieve_original_tool(optimizer: ContextOptimizer) -> FunctionTool:
    """Return the tool by which an agent gets an original back, whole or in part; bind it beside compressed tools."""

    def retrieve_original(
        ref: str, query: str | None = None, start_line: int | None = None, end_line: int | None = None
    ) -> str:
        """Return the full content behind a CCR hash that a shortened text names.

        Args:
            ref: The hash, 12 hex digits or more.
            query: Return only the parts that match these words.
            start_line: First line to return, counted from 1.
            end_line: Last line to return.
        """
        lines = (start_line or 1, end_line or start_line or 1) if start_line or end_line else None
        try:
            return optimizer.retrieve(ref, query=query, lines=lines)
        except NotFound as error:
            return str(error)

    return FunctionTool.from_defaults(retrieve_original, name=RETRIEVE_ORIGINAL)


class _Shorten:
    """Makes the texts of a tool's output shorter; whatever goes wrong, the output comes back."""

    def __init__(self, optimizer: ContextOptimizer, max_tokens: int | None, metadata: ToolMetadata) -> None:
        self._optimizer = optimizer
        self._max_tokens = max_tokens
        self._metadata = metadata

    def __call__(self, output: ToolOutput) -> ToolOutput:
        if self._metadata.return_direct and not output.is_error:
            # It goes to a person, not to the model; an error does not end the run and is read by the model.
            return output
        try:
            results = {
                at: self._optimizer.optimize(block.text, max_tokens=self._max_tokens)
                for at, block in enumerate(output.blocks)
                if isinstance(block, TextBlock)
            }
        except Exception as error:  # noqa: BLE001 - a tool's result must reach the model even when it cannot be shortened
            telemetry.degraded("llamaindex_ctx.compress_tool", error)
            return output
        if not results:
            return output
        blocks = [
            TextBlock(text=results[at].compressed) if at in results else block for at, block in enumerate(output.blocks)
        ]
        before = sum(result.original_tokens for result in results.values())
        after = sum(result.compressed_tokens for result in results.values())
        dispatcher.event(ContextOptimizedEvent(texts=len(results), tokens_before=before, tokens_after=after))
        return output.model_copy(update={"blocks": blocks})


class _CompressedFunctionTool(FunctionTool):
    """A function tool that shortens its output. Still a `FunctionTool`, since agents give those their context."""

    def __init__(self, tool: FunctionTool, shorten: Callable[[ToolOutput], ToolOutput]) -> None:
        # A copy of the tool as it stands, callbacks included; FunctionTool has no public way to read those.
        vars(self).update(vars(tool))
        self._tool = tool
        self._shorten = shorten

    def call(self, *args: Any, **kwargs: Any) -> ToolOutput:
        """Call the tool and shorten what it returns."""
        return self._shorten(self._tool.call(*args, **kwargs))

    async def acall(self, *args: Any, **kwargs: Any) -> ToolOutput:
        """Call the tool and shorten what it returns."""
        return self._shorten(await self._tool.acall(*args, **kwargs))


class _CompressedTool(AsyncBaseTool):
    """Any other tool, with its output shortened."""

    def __init__(self, tool: AsyncBaseTool, shorten: Callable[[ToolOutput], ToolOutput]) -> None:
        self._tool = tool
        self._shorten = shorten

    @property
    def metadata(self) -> ToolMetadata:
        """The tool's own metadata."""
        return self._tool.metadata

    def call(self, input: Any = None, *args: Any, **kwargs: Any) -> ToolOutput:  # noqa: A002 - the host's name
        """Call the tool and shorten what it returns."""
        return self._shorten(self._tool.call(*_given(input), *args, **kwargs))

    async def acall(self, input: Any = None, *args: Any, **kwargs: Any) -> ToolOutput:  # noqa: A002 - the host's name
        """Call the tool and shorten what it returns."""
        return self._shorten(await self._tool.acall(*_given(input), *args, **kwargs))


def _given(value: Any) -> tuple[Any, ...]:
    return () if value is None else (value,)
