"""Whatever a tool call comes back as, with each tool message in it replaced."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from langchain_core.messages import ToolMessage
from langgraph.types import Command, Overwrite

if TYPE_CHECKING:
    from collections.abc import Callable

ToolResult: TypeAlias = ToolMessage | Command[Any]


def map_tool_messages(result: Any, change: Callable[[ToolMessage], ToolMessage]) -> Any:
    """Return `result` with `change` applied to every tool message in it; the very same object where none changed.

    A tool returns a message, a command whose update holds messages, or a list of both. Values of any other shape, also such
    as hold themselves, pass as they are.
    """
    return _Mapper(change).map(result)


class _Mapper:
    """One pass through a result."""

    def __init__(self, change: Callable[[ToolMessage], ToolMessage]) -> None:
        self._change = change
        self._within: set[int] = set()

    def map(self, value: Any) -> Any:
        """Return `value` with its tool messages replaced."""
        if isinstance(value, ToolMessage):
            return self._change(value)
        if not isinstance(value, (Command, Overwrite, dict, list, tuple)) or id(value) in self._within:
            return value
        self._within.add(id(value))
        try:
            return self._container(value)
        finally:
            self._within.discard(id(value))

    def _container(self, value: Any) -> Any:
        if isinstance(value, Command):
            update = self.map(value.update)
            return value if update is value.update else replace(value, update=update)
        if isinstance(value, Overwrite):
            inner = self.map(value.value)
            return value if inner is value.value else Overwrite(inner)
        if isinstance(value, dict):
            changed = {key: new for key, item in value.items() if (new := self.map(item)) is not item}
            return _updated(value, changed)
        items = [self.map(item) for item in value]
        return value if all(map(_is, items, value)) else _with_items(value, items)


def _is(new: object, old: object) -> bool:
    return new is old


def _updated(value: dict[Any, Any], changed: dict[Any, Any]) -> dict[Any, Any]:
    if not changed:
        return value
    # A copy keeps the kind of dictionary, its default factory or its order.
    new = copy(value)
    for key, item in changed.items():
        new[key] = item
    return new


def _with_items(value: Any, items: list[Any]) -> Any:
    if isinstance(value, list):
        new = cast("list[Any]", copy(value))
        new[:] = items
        return new
    return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
