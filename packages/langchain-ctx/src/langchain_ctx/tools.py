"""The tool by which a model gets back what was left out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Final

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, Field

from ctx_core.errors import InvalidInput, NotFound
from ctx_core.optimize.ccr import PAGE_CHARS
from langchain_ctx.scope import optimizer_of_run

if TYPE_CHECKING:
    from ctx_core.optimize.optimizer import ContextOptimizer

RETRIEVAL_TOOL: Final = "retrieve_original"
_MARK: Final = "ctx_retrieval"
_REF: Final = re.compile(r"[0-9a-f]{12,64}", re.IGNORECASE)
_LAST: Final = 2**31
_DESCRIPTION: Final = (
    "Returns the full original of content that was shortened, page by page. "
    "Shortened content ends in a line `<!-- CCR:… -->`; pass the digits after `CCR:` as `ref`."
)


class RetrievalArguments(BaseModel):
    """What a model asks the tool for."""

    ref: Annotated[str, Field(description="The digits after `CCR:` in the shortened content.")]
    query: Annotated[str | None, Field(description="Only lines that hold a word of this, with their numbers.")] = None
    first_line: Annotated[int | None, Field(description="First line wanted, counted from 1.")] = None
    last_line: Annotated[int | None, Field(description="Last line wanted, included.")] = None
    page: Annotated[int, Field(description="Which page of the answer, counted from 1.")] = 1

    def excerpt(self) -> dict[str, Any]:
        """Return the part that is asked for, as the core names it."""
        is_whole = self.first_line is None and self.last_line is None
        lines = None if is_whole else (self.first_line or 1, self.last_line or _LAST)
        return {"query": self.query, "lines": lines, "page": self.page}

    def digits(self) -> str:
        """Return the reference without whatever the model copied along with it."""
        found = _REF.search(self.ref)
        return found.group() if found else self.ref


def retrieve_original_tool(
    optimizer: ContextOptimizer,
    *,
    name: str = RETRIEVAL_TOOL,
    description: str = _DESCRIPTION,
    page_chars: int = PAGE_CHARS,
    user_id: str | None = None,
) -> BaseTool:
    """Return a tool that gives a model the originals of what `optimizer` shortened.

    Give the optimizer `retrieval_tool=name`, so that its hints say so. What the tool returns comes in pages of at most
    `page_chars` characters, and `ContextMiddleware` never shortens it again. An unknown or expired reference is an error
    the model can read, and so is one that belongs to another owner: the tool opens what was kept for the user of the run
    (`user_id`, else that of its context or `configurable`), or else for its thread, unless the optimizer has a scope.
    """
    reader = _Reader(optimizer, page_chars=page_chars, user_id=user_id)
    return StructuredTool.from_function(
        func=reader.retrieve,
        coroutine=reader.aretrieve,
        name=name,
        description=description,
        args_schema=RetrievalArguments,
        handle_tool_error=True,
        metadata={_MARK: True},
    )


class _Reader:
    """What the tool does; an object and no closure, so that a tool pickles."""

    def __init__(self, optimizer: ContextOptimizer, *, page_chars: int, user_id: str | None) -> None:
        self._optimizer = optimizer
        self._page_chars = page_chars
        self._user_id = user_id

    def retrieve(self, **arguments: Any) -> str:
        asked = RetrievalArguments(**arguments)
        try:
            own = optimizer_of_run(self._optimizer, user_id=self._user_id)
            return own.retrieve(asked.digits(), **asked.excerpt(), page_chars=self._page_chars)
        except (NotFound, InvalidInput) as error:
            raise ToolException(str(error)) from error

    async def aretrieve(self, **arguments: Any) -> str:
        asked = RetrievalArguments(**arguments)
        try:
            own = optimizer_of_run(self._optimizer, user_id=self._user_id)
            return await own.aretrieve(asked.digits(), **asked.excerpt(), page_chars=self._page_chars)
        except (NotFound, InvalidInput) as error:
            raise ToolException(str(error)) from error


class BoundTool(dict[str, Any]):
    """A tool as a provider's own tools are bound: by its schema, which selectors of tools leave where it is."""

    def __init__(self, tool: BaseTool) -> None:
        super().__init__(convert_to_openai_tool(tool))
        self.name = tool.name


def is_retrieval_tool(tool: object) -> bool:
    """Say whether `tool` gives originals back, under whatever name it is bound."""
    return isinstance(tool, BoundTool) or (isinstance(tool, BaseTool) and bool((tool.metadata or {}).get(_MARK)))
