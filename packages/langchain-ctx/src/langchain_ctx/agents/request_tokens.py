"""What a request takes beside its messages: the schemas of its tools and of its answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from langchain_core.utils.function_calling import convert_to_openai_tool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from langchain.agents.middleware import ModelRequest
    from langchain_core.tools import BaseTool

    from ctx_core.tokens import TokenCounter


class SchemaTokens:
    """Counts schemas, each once: describing a tool costs more than counting it."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, str]] = {}

    def of(self, request: ModelRequest[Any], counter: TokenCounter) -> int:
        """Return the tokens of a request's tools and answer format."""
        schemas = [*map(self._text, request.tools), *map(self._text, _formats(request.response_format))]
        return sum(map(counter.count, schemas))

    def tools_of(self, request: ModelRequest[Any]) -> list[dict[str, Any]]:
        """Return the schemas of a request's tools."""
        tools = [tool if isinstance(tool, dict) else json.loads(self._text(tool)) for tool in request.tools]
        return [tool for tool in tools if isinstance(tool, dict)]

    def _text(self, schema: Any) -> str:
        if isinstance(schema, dict):
            return json.dumps(schema, default=str)
        known = self._known.get(id(schema))
        if known is None or known[0] is not schema:
            if len(self._known) > 1024:
                self._known.clear()
            # What was described is kept with its text, so that its id stays taken.
            known = self._known[id(schema)] = schema, _described(schema)
        return known[1]

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()


def _formats(response_format: Any) -> Iterable[Any]:
    """Return the schemas of an answer's format, whichever strategy it goes by."""
    if response_format is None:
        return ()
    specs = getattr(response_format, "schema_specs", None)
    if specs:
        return [spec.json_schema if getattr(spec, "json_schema", None) else spec.schema for spec in specs]
    return (getattr(response_format, "schema", response_format),)


def _described(schema: Any) -> str:
    try:
        return json.dumps(convert_to_openai_tool(schema), default=str)
    except (TypeError, ValueError):
        return json.dumps(str(schema))


def name_of(tool: BaseTool | dict[str, Any]) -> str:
    """Return the name of a tool in whatever form it is bound."""
    if not isinstance(tool, dict):
        return tool.name
    function = tool.get("function")
    return str(tool.get("name") or (function.get("name") if isinstance(function, dict) else None) or tool.get("type"))


def has_mark(tool: BaseTool | dict[str, Any]) -> bool:
    """Say whether a tool carries a mark for the provider's cache, and so must stay where it stands."""
    extras = tool if isinstance(tool, dict) else (getattr(tool, "extras", None) or {})
    return "cache_control" in extras
