"""Reads JSON without changing a lexeme: numbers, escapes, key order and repeated keys stay as they were written."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_DEPTH: Final = 64
"""Deeper documents are not read as a tree, so that walks may recurse on any caller's stack."""


class Pairs(tuple[tuple[str, "Value"], ...]):
    """An object that has a key more than once."""

    __slots__ = ()


# A number is kept as the bytes of its lexeme: never equal to a string, hashable, and made by one C call.
Scalar = str | bytes | bool | None
Value = Scalar | dict[str, "Value"] | list["Value"] | Pairs

SCALARS: Final = frozenset({str, bytes, bool, type(None)})

_BAD_ESCAPE: Final = r"(?![bfnrt/]|u[0-9a-fA-F]{4})"
_PRIVATE_USE: Final = range(0xE000, 0xF900)


class Document:
    """A JSON text, or JSON lines, as a tree of lexemes."""

    __slots__ = ("_escapes", "is_lines", "value")

    def __init__(self, value: Value, *, escapes: str, is_lines: bool) -> None:
        self.value = value
        self.is_lines = is_lines
        self._escapes = escapes

    def restore(self, text: str) -> str:
        """Put the backslashes back into text that was written from this tree."""
        for mark, escape in zip(self._escapes, _ESCAPES, strict=False):
            text = text.replace(mark, escape)
        return text


# In this order, left to right, each replacement leaves only whole escapes for the next.
_ESCAPES: Final = ("\\\\", '\\"', "\\")


def read(text: str) -> Document | None:
    """Return `text` as a tree, or None where a strict parser (NaN and Infinity aside) would refuse it or it is too deep."""
    marks = ""
    if "\\" in text:
        marks = _unused_marks(text)
        if len(marks) < len(_ESCAPES):
            return None
        for mark, escape in zip(marks, _ESCAPES, strict=True):
            text = text.replace(escape, mark)
        if re.search(marks[2] + _BAD_ESCAPE, text):
            return None
    is_lines = False
    try:
        value = _parse(text)
    except (ValueError, RecursionError):
        lines = _lines(text)
        if lines is None:
            return None
        is_lines, value = True, lines
    if text.count("{") + text.count("[") > MAX_DEPTH and _is_too_deep(value):
        return None
    return Document(value, escapes=marks, is_lines=is_lines)


def _parse(text: str) -> Value:
    return cast("Value", _DECODER.decode(text))


def _object(pairs: list[tuple[str, Value]]) -> Value:
    members = dict(pairs)
    return members if len(members) == len(pairs) else Pairs(pairs)


_DECODER: Final = json.JSONDecoder(
    parse_int=str.encode, parse_float=str.encode, parse_constant=str.encode, object_pairs_hook=_object
)


def _lines(text: str) -> list[Value] | None:
    """Read JSON lines, all of them objects, by one call of the parser."""
    lines = [line for line in map(str.strip, text.split("\n")) if line]
    if len(lines) < 2 or not all(line[0] == "{" and line[-1] == "}" for line in lines):
        return None
    try:
        values = _parse(f"[{','.join(lines)}]")
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, list) and len(values) == len(lines) else None


def _unused_marks(text: str) -> str:
    used = set(text)
    free = (chr(code) for code in _PRIVATE_USE if chr(code) not in used)
    return "".join(mark for mark, _ in zip(free, _ESCAPES, strict=False))


def children(value: Value) -> Iterable[Value]:
    """Yield the members of a container."""
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, Pairs):
        return [member for _, member in value]
    return value if isinstance(value, list) else ()


def _is_too_deep(value: Value) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in children(node) if child.__class__ not in SCALARS]
        if not level:
            return False
    return True
