"""Reads JSON without changing a lexeme: numbers, escapes, key order and repeated keys stay as they were written."""

from __future__ import annotations

import json
import re
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Collection

MAX_DEPTH: Final = 64
"""Deeper documents are not read as a tree, so that walks may recurse on any caller's stack."""


class Members(tuple[Any, ...]):
    """An object: its keys, which all objects of one shape share, then its values; a `dict` takes three times the memory."""

    __slots__ = ()

    # As in a named tuple; Python functions would take three times as long.
    keys: property = property(itemgetter(0), doc="The keys, as they were written.")
    values: property = property(itemgetter(slice(1, None)), doc="The values, in the order of the keys.")


class Object(Members):
    """An object whose keys differ."""

    __slots__ = ()


class Pairs(Members):
    """An object that has a key more than once."""

    __slots__ = ()


class Embedded:
    """A string that holds a document itself."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


# A number is kept as the bytes of its lexeme: never equal to a string, hashable, and made by one C call.
Scalar = str | bytes | bool | None
Value = Scalar | list["Value"] | Object | Pairs | Embedded

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
        value = _unfolded(value, marks)
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
        return cast("Value", _decoder().decode(text))
    except (ValueError, RecursionError):
        return None


def _decoder() -> json.JSONDecoder:
    """Make a parser for one document."""
    shapes: dict[tuple[str, ...], tuple[type[Object | Pairs], tuple[tuple[str, ...]]]] = {}

    def members(pairs: list[tuple[str, Value]]) -> Object | Pairs:
        keys, values = zip(*pairs) if pairs else ((), ())  # noqa: B905 - the argument would take as long as the call
        known = shapes.get(keys)
        if known is None:
            known = shapes[keys] = (Object if len({*keys}) == len(keys) else Pairs, (keys,))
        kind, shape = known
        return kind(shape + values)

    return json.JSONDecoder(
        parse_int=str.encode, parse_float=str.encode, parse_constant=str.encode, object_pairs_hook=members
    )


def _lines(text: str, marks: str) -> Value:
    """Read JSON lines, all of them objects, by one call of the parser."""
    lines = [line for line in map(str.strip, text.split("\n")) if line]
    if len(lines) < 2 or not all(line[0] == "{" and line[-1] == "}" for line in lines):
        return None
    values = _marked(f"[{','.join(lines)}]", marks)
    return values if isinstance(values, list) and len(values) == len(lines) else None


def _unfolded(value: Value, marks: str) -> Value:
    """Return a tree with documents in place of the strings that hold them."""
    if isinstance(value, str):
        inner = _embedded(value, marks) if len(value) >= _MIN_EMBEDDED and value[0] in "{[" else None
        return value if inner is None else Embedded(inner)
    if isinstance(value, list):
        return [_unfolded(item, marks) for item in value]
    if isinstance(value, Members):
        return value.__class__((value.keys, *[_unfolded(member, marks) for member in value.values]))
    return value


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
    return value if isinstance(value, (Object, list)) and not _is_too_deep(value, _MAX_EMBEDDED_DEPTH) else None


def _unused_marks(text: str) -> str:
    used = set(text)
    free = (chr(code) for code in _PRIVATE_USE if chr(code) not in used)
    return "".join(mark for mark, _ in zip(free, _ESCAPES, strict=False))


def children(value: Value) -> Collection[Value]:
    """Return the members of a container."""
    if isinstance(value, Members):
        return value.values
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
