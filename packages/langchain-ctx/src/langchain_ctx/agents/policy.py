"""Which tools' results are shortened, and how far."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping  # noqa: TC003 - a dataclass holds them
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ctx_core.errors import InvalidInput

if TYPE_CHECKING:
    from ctx_core.messages import ToolCall

# A tool that reads one file says so in its name, and names the file in an argument; what it gives is about to be edited or followed,
# so that half of it is worse than none.
_READS: Final = frozenset(("read", "view", "open", "cat", "show", "get", "load", "fetch"))
_PATHS: Final = frozenset(
    ("file_path", "filepath", "path", "file", "filename", "file_name", "target_file", "notebook_path")
)
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
FILE_SHARE: Final = 0.5
"""The most of a budget that one file takes; with system prompt, tools and task beside it, two would not fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPolicy:
    """How long a tool's result may be.

    Args:
        exclude: Tools whose results are never touched.
        limits: Tokens of one result, for tools that need another limit than the rest.
    """

    exclude: frozenset[str] = frozenset()
    limits: Mapping[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def of(cls, exclude_tools: Collection[Any], tool_limits: Mapping[str, int] | None) -> ToolPolicy:
        """Return the policy, for tools given by name or as they are."""
        if isinstance(exclude_tools, str):
            raise InvalidInput(f"exclude_tools is a list of names; write ({exclude_tools!r},)")
        limits: dict[str, Any] = dict(tool_limits or {})
        if wrong := {name: limit for name, limit in limits.items() if not isinstance(limit, int) or limit < 1}:
            raise InvalidInput(f"tool_limits gives each tool a number of tokens, not {wrong}")
        return cls(exclude=frozenset(getattr(tool, "name", tool) for tool in exclude_tools), limits=limits)

    def limit(self, call: ToolCall, *, budget: int, usual: int) -> int | None:
        """Return the most tokens of a call's result; None where it is never shortened."""
        if call.name in self.exclude:
            return None
        if call.name in self.limits:
            return self.limits[call.name]
        return max(usual, int(budget * FILE_SHARE)) if is_file_read(call) else usual

    def is_special(self, call: ToolCall) -> bool:
        """Say whether a call's result goes by another limit than the usual one."""
        return call.name in self.exclude or call.name in self.limits or is_file_read(call)


def is_file_read(call: ToolCall) -> bool:
    """Say whether a call reads one file."""
    words = {word.lower() for word in _WORD.findall(call.name)}
    names = (key for key in _PATHS if f'"{key}"' in call.arguments)
    if next(names, None) is None:
        return False
    return bool(words & _READS) or '"command": "view"' in call.arguments
