"""The tool by which a model gets back what was left out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Final

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, Field

from ctx_core.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from ctx_core.optimize.optimizer import ContextOptimizer

RETRIEVAL_TOOL: Final = "retrieve_original"
_MARK: Final = "ctx_retrieval"
_REF: Final = re.compile(r"[0-9a-f]{12,64}", re.IGNORECASE)
_DESCRIPTION: Final = (
    "Returns the full original of content that was shortened, page by page. "
    "Shortened content ends in a line `<!-- CCR:… -->`; pass the digits after `CCR:` as `ref`."
)


class _Arguments(BaseModel):
    ref: Annotated[str, Field(description="The digits after `CCR:` in the shortened content.")]
    query: Annotated[str | None, Field(description="Only lines that hold a word of this, with their numbers.")] = None
    first_line: Annotated[int | None, Field(description="First line wanted, counted from 1.")] = None
    last_line: Annotated[int | None, Field(description="Last line wanted, included.")] = None
    page: Annotated[int, Field(description="Which page of the answer, counted from 1.")] = 1


def retrieve_original_tool(optimizer: ContextOptimizer, *, name: str = RETRIEVAL_TOOL) -> BaseTool:
    """Return a tool that gives a model the originals of what `optimizer` shortened.

    Give the optimizer `retrieval_tool=name`, so that its hints say so. What the tool returns comes in pages, and
    `ContextMiddleware` never shortens it again. An unknown or expired reference is an error the model can read.
    """

    def request(
        ref: str, query: str | None, first_line: int | None, last_line: int | None, page: int
    ) -> dict[str, Any]:
        found = _REF.search(ref)
        lines = None if first_line is None and last_line is None else (first_line or 1, last_line or _LAST)
        return {"ref": found.group() if found else ref, "query": query, "lines": lines, "page": page}

    def retrieve(
        ref: str,
        query: str | None = None,
        first_line: int | None = None,
        last_line: int | None = None,
        page: int = 1,
    ) -> str:
        try:
            return optimizer.retrieve(**request(ref, query, first_line, last_line, page))
        except (NotFound, InvalidInput) as error:
            raise ToolException(str(error)) from error

    async def aretrieve(
        ref: str,
        query: str | None = None,
        first_line: int | None = None,
        last_line: int | None = None,
        page: int = 1,
    ) -> str:
        try:
            return await optimizer.aretrieve(**request(ref, query, first_line, last_line, page))
        except (NotFound, InvalidInput) as error:
            raise ToolException(str(error)) from error

    return StructuredTool.from_function(
        func=retrieve,
        coroutine=aretrieve,
        name=name,
        description=_DESCRIPTION,
        args_schema=_Arguments,
        handle_tool_error=True,
        metadata={_MARK: True},
    )


def is_retrieval_tool(tool: object) -> bool:
    """Say whether `tool` gives originals back, under whatever name it is bound."""
    return isinstance(tool, BaseTool) and bool((tool.metadata or {}).get(_MARK))


_LAST: Final = 2**31
