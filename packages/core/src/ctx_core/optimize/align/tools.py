"""One order for tool schemas, whatever order a client lists them in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Any, Final, cast


class _Part(Enum):
    """Which part of a schema a value is."""

    SCHEMA = auto()
    NAMES = auto()  # keys are names of the caller's, values are schemas
    INSTANCE = auto()  # the caller's own values


_PARTS: Final = {
    **dict.fromkeys(("properties", "patternProperties", "dependentSchemas", "$defs", "definitions"), _Part.NAMES),
    **dict.fromkeys(("default", "const", "enum", "example", "examples"), _Part.INSTANCE),
}
_NAME_HOLDERS: Final = ("function", "toolSpec")
_BREAKPOINTS: Final = ("cache_control", "cachePoint")


def align_tools(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the tools sorted by name and their keys by spelling, so that equal sets of tools are equal bytes.

    `enum` and every other list keep their order, but for `required`, which is a set. A tool that carries a cache
    breakpoint keeps its place, and so does its distance to what stands ahead of it: tools never move across it.
    """
    aligned: list[dict[str, Any]] = []
    run: list[dict[str, Any]] = []
    for tool in tools:
        canonical = cast("dict[str, Any]", _canonical(tool))
        if _has_breakpoint(tool):
            aligned += [*sorted(run, key=_order), canonical]
            run = []
        else:
            run.append(canonical)
    return [*aligned, *sorted(run, key=_order)]


def _has_breakpoint(tool: Mapping[str, Any]) -> bool:
    nested = [tool, *(tool[key] for key in _NAME_HOLDERS if isinstance(tool.get(key), Mapping))]
    return any(holder.get(key) is not None for holder in nested for key in _BREAKPOINTS)


def _order(tool: Mapping[str, Any]) -> tuple[str, str]:
    inner = next((tool[key] for key in _NAME_HOLDERS if isinstance(tool.get(key), Mapping)), tool)
    name = inner.get("name") or tool.get("name") or tool.get("type") or ""
    return str(name), json.dumps(tool, default=str)


def _canonical(value: Any, part: _Part = _Part.SCHEMA) -> Any:
    if isinstance(value, Mapping):
        items = sorted(cast("Mapping[str, Any]", value).items(), key=lambda item: str(item[0]))
        return {key: _canonical_item(key, item, part) for key, item in items}
    if isinstance(value, list | tuple):
        return [_canonical(item, part) for item in cast("Sequence[Any]", value)]
    return value


def _canonical_item(key: str, value: Any, part: _Part) -> Any:
    if part is _Part.SCHEMA and key == "required" and _is_names(value):
        return sorted(value)
    if part is _Part.SCHEMA:
        return _canonical(value, _PARTS.get(key, _Part.SCHEMA))
    return _canonical(value, _Part.SCHEMA if part is _Part.NAMES else part)


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in cast("list[Any]", value))
