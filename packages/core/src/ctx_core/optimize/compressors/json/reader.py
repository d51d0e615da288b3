"""Reads JSON without changing a lexeme: numbers, escapes, key order and repeated keys stay as they were written."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Collection

MAX_DEPTH: Final = 64
"""Deeper documents are not read as a tree, so that walks may recurse on any caller's stack."""


class Pairs(tuple[tuple[str, "Value"], ...]):
    """An object that has a key more than once."""

    __slots__ = ()


class Embedded:
    """A string that holds a document itself."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


# A number is kept as the bytes of its lexeme: never equal to a string, hashable, and made by one C call.
Scalar = str | bytes | bool | None
Value = Scalar | dict[str, "Value"] | list["Value"] | Pairs | Embedded

SCALARS: Final = frozenset({str, bytes, bool, type(None)})

_BAD_ESCAPE: Final = r"(?![bfnrt/]|u[0-9a-fA-F]{4})"
_MIN_EMBEDDED: Final = 100
_MAX_EMBEDDED_DEPTH: Final = 16
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
    marks = _unused_marks(text) if "\\" in text else ""
    value = _marked(text, marks)
    is_lines = value is None
    if value is None:
        value = _lines(text, marks)
    if value is None or (text.count("{") + text.count("[") > MAX_DEPTH and _is_too_deep(value)):
        return None
    # Before a bracket a quote can only be one that opens a string.
    if marks and ('"{' in text or '"[' in text):
        _unfold(value, marks)
    return Document(value, escapes=marks, is_lines=is_lines)


def _marked(text: str, marks: str) -> Value:
    """Parse `text` with marks in place of its backslashes; None where it is no document."""
    if "\\" in text:
        if len(marks) < len(_ESCAPES):
            return None
        for mark, escape in zip(marks, _ESCAPES, strict=True):
            text = text.replace(escape, mark)
        if re.search(marks[2] + _BAD_ESCAPE, text):
            return None
    try:
        return cast("Value", _DECODER.decode(text))
    except (ValueError, RecursionError):
        return None


def _object(pairs: list[tuple[str, Value]]) -> Value:
    members = dict(pairs)
    return members if len(members) == len(pairs) else Pairs(pairs)


_DECODER: Final = json.JSONDecoder(
    parse_int=str.encode, parse_float=str.encode, parse_constant=str.encode, object_pairs_hook=_object
)


def _lines(text: str, marks: str) -> Value:
    """Read JSON lines, all of them objects, by one call of the parser."""
    lines = [line for line in map(str.strip, text.split("\n")) if line]
    if len(lines) < 2 or not all(line[0] == "{" and line[-1] == "}" for line in lines):
        return None
    values = _marked(f"[{','.join(lines)}]", marks)
    return values if isinstance(values, list) and len(values) == len(lines) else None


def _unfold(root: Value, marks: str) -> None:
    """Replace strings that hold a document by the document."""
    todo = [root]
    while todo:
        node = todo.pop()
        places = [*node] if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        for place in places:
            child = cast("dict[object, Value]", node)[place]
            if isinstance(child, str):
                inner = _embedded(child, marks) if len(child) >= _MIN_EMBEDDED and child[0] in "{[" else None
                if inner is not None:
                    cast("dict[object, Value]", node)[place] = Embedded(inner)
            elif child.__class__ not in SCALARS:
                todo.append(child)


def _embedded(lexeme: str, marks: str) -> Value:
    """Return the document in a string, or None where its escapes could not be told from the document."""
    for mark, escape in zip(marks, _ESCAPES, strict=True):
        lexeme = lexeme.replace(mark, escape)
    try:
        text: str = json.loads(f'"{lexeme}"')
    except ValueError:
        return None
    if len(text) < _MIN_EMBEDDED or any(mark in text for mark in marks):
        return None
    if json.dumps(text, ensure_ascii=False) != f'"{lexeme}"':
        return None
    value = _marked(text, marks)
    return value if isinstance(value, (dict, list)) and not _is_too_deep(value, _MAX_EMBEDDED_DEPTH) else None


def _unused_marks(text: str) -> str:
    used = set(text)
    free = (chr(code) for code in _PRIVATE_USE if chr(code) not in used)
    return "".join(mark for mark, _ in zip(free, _ESCAPES, strict=False))


def children(value: Value) -> Collection[Value]:
    """Return the members of a container."""
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, Pairs):
        return [member for _, member in value]
    if isinstance(value, Embedded):
        return (value.value,)
    return value if isinstance(value, list) else ()


def _is_too_deep(value: Value, max_depth: int = MAX_DEPTH) -> bool:
    level = [value]
    for _ in range(max_depth):
        level = [child for node in level for child in children(node) if child.__class__ not in SCALARS]
        if not level:
            return False
    return True
