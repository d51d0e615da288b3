"""How one key or scalar is written: bare where nothing can mistake it, else as the JSON string it was."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ctx_core.optimize.compressors.json.reader import Scalar

ABSENT: Final = object()
"""Stands where a row has no such member."""

_SPACED: Final = re.compile(r"[^\s\"\\\[\](){}<>\ue000-\uf8ff]+")
_COMMAED: Final = re.compile(
    r"[^\s\"\\\[\](){}<>,\ue000-\uf8ff](?:[^\n\r\t\"\\\[\](){}<>,\ue000-\uf8ff]*[^\s\"\\\[\](){}<>,\ue000-\uf8ff])?"
)
_KEY: Final = re.compile(r"[^\s\"\\\[\](){}<>=,&*$#\ue000-\uf8ff][^\s\"\\\[\](){}<>=,\ue000-\uf8ff]*")
# What a reader would take for a number, a literal, or a mark of the notation.
_AMBIGUOUS: Final = re.compile(
    r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|null|true|false|-|[-+]?(?:NaN|Infinity)|KEY|[&*$#].*", re.DOTALL
)


class Words(dict["Scalar | object", str]):
    """Writes scalars between spaces; remembers what it wrote, because values repeat."""

    bare: re.Pattern[str] = _SPACED
    null: str = "null"

    def __missing__(self, value: Scalar | object) -> str:
        written = self[value] = self._write(value)
        return written

    def _write(self, value: Scalar | object) -> str:
        if isinstance(value, str):
            is_bare = self.bare.fullmatch(value) and not _AMBIGUOUS.fullmatch(value)
            return value if is_bare else f'"{value}"'
        if isinstance(value, bytes):
            return value.decode()
        if value is ABSENT:
            return "-"
        return self.null if value is None else "true" if value else "false"


class CommaWords(Words):
    """Writes scalars between commas: spaces need no quotes, and null is nothing at all."""

    bare = _COMMAED
    null = ""


class Keys(dict[str, str]):
    """Writes keys."""

    def __missing__(self, key: str) -> str:
        written = self[key] = key if _KEY.fullmatch(key) and key != "KEY" else f'"{key}"'
        return written
