"""Whatever a tool call comes back as, with each tool message in it replaced."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from langchain_core.messages import ToolMessage
from langgraph.types import Command

if TYPE_CHECKING:
    from collections.abc import Callable

ToolResult: TypeAlias = ToolMessage | Command[Any]


def map_tool_messages(result: Any, change: Callable[[ToolMessage], ToolMessage]) -> Any:
    """Return `result` with `change` applied to every tool message in it; the very same object where none changed.

    A tool returns a message, a command whose update holds messages, or a list of both.
    """
    if isinstance(result, ToolMessage):
        return change(result)
    if isinstance(result, Command):
        update = _mapped(result.update, change)
        return result if update is result.update else replace(result, update=update)
    return _mapped(result, change)


def _mapped(value: Any, change: Callable[[ToolMessage], ToolMessage]) -> Any:
    if isinstance(value, (ToolMessage, Command)):
        return map_tool_messages(value, change)
    if isinstance(value, dict):
        mapped = {key: _mapped(item, change) for key, item in value.items()}
        return value if all(mapped[key] is item for key, item in value.items()) else mapped
    if isinstance(value, (list, tuple)):
        items = [_mapped(item, change) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else type(value)(items)
    return value
