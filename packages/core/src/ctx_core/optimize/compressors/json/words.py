"""How one key or scalar is written: bare where nothing can mistake it, else as the JSON string it was."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

from ctx_core.optimize.compressors.json.reader import Object, children
from ctx_core.signals.severity import find_alarm
from ctx_core.tokens import whole_graphemes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from ctx_core.optimize.compressors.json.reader import Scalar, Value

ABSENT: Final = object()
"""Stands where a row has no such member."""

_SPACED: Final = re.compile(r"[^\s\"\\\[\](){}<>\ue000-\uf8ff]+")
_COMMAED: Final = re.compile(
    r"[^\s\"\\\[\](){}<>,\ue000-\uf8ff](?:[^\n\r\t\"\\\[\](){}<>,\ue000-\uf8ff]*[^\s\"\\\[\](){}<>,\ue000-\uf8ff])?"
)
_KEY: Final = re.compile(r"[^\s\"\\\[\](){}<>=~,&*$#\ue000-\uf8ff][^\s\"\\\[\](){}<>=~,\ue000-\uf8ff]*")
# What a reader would take for a number, a literal, or a mark of the notation.
_AMBIGUOUS: Final = re.compile(
    r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|null|true|false|-|[-+]?(?:NaN|Infinity)|KEY|(?:json)?[&*$#@].*",
    re.DOTALL,
)


TEXT_MARK: Final = ":str"
"""Behind the name of a column whose bare cells are strings, even where they look like numbers."""

_LITERALS: Final = frozenset({"true", "false", "null", "none", "no", "nan", "infinity", "undefined"})
_NUMBER_LIKE: Final = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_MIN_QUOTED: Final = 2
"""Number-like strings from which a mark in the heading costs less than their quotes."""

_MAX_TEXT: Final = 64

_SAMPLE: Final = 12
"""Rows that decide whether a table's cells stand between commas or spaces."""

_TEXT_KINDS: Final = frozenset({str, type(None), type(ABSENT)})
_ESCAPE_MARK: Final = re.compile("[\ue000-\uf8ff]")


class Words(dict["Scalar | object", str]):
    """Writes scalars between spaces; remembers what it wrote, except numbers, because values repeat.

    Args:
        repeated: Strings that the document holds more than once: the first is written with a tag, the others are the tag.
        name: Gives a new tag its name.
        max_chars: Longer strings are cut in their middle; None leaves every string whole.
    """

    bare: re.Pattern[str] = _SPACED
    null: str = "null"

    def __init__(
        self, repeated: AbstractSet[str] = frozenset(), *, name: Callable[[], str] = str, max_chars: int | None = None
    ) -> None:
        super().__init__()
        self._repeated = repeated
        self._name = name
        self._max_chars = max_chars
        self.cut = 0

    def write_all(self, values: Iterable[Scalar | object]) -> list[str]:
        """Write a column of scalars."""
        if set(map(type, values)) == {bytes}:
            return [value.decode() for value in cast("Iterable[bytes]", values)]
        return [*map(self.__getitem__, values)]

    def are_number_like(self, values: Sequence[Scalar | object]) -> bool:
        """Say whether a column holds strings only, all of which can stand bare, and some of which look like numbers."""
        if not _TEXT_KINDS.issuperset(map(type, values)):
            return False
        texts = {value for value in values if isinstance(value, str)}
        if sum(1 for text in texts if _NUMBER_LIKE.fullmatch(text)) < _MIN_QUOTED:
            return False
        return all(
            len(text) <= _MAX_TEXT
            and self.bare.fullmatch(text)
            and (_NUMBER_LIKE.fullmatch(text) or not _AMBIGUOUS.fullmatch(text))
            for text in texts
        )

    def write_texts(self, values: Iterable[Scalar | object]) -> list[str]:
        """Write a column of strings that stand bare even where they look like numbers."""
        return [value if isinstance(value, str) else self[value] for value in values]

    def __missing__(self, value: Scalar | object) -> str:
        if isinstance(value, bytes):
            return value.decode()
        written = self[value] = self._write(value)
        if value in self._repeated:
            name = self._name()
            self[value] = f"*{name}"
            return f'&{name}"{value}"'
        return written

    def _write(self, value: Scalar | object) -> str:
        if isinstance(value, str):
            if self._max_chars and len(value) > self._max_chars:
                value, cut = shortened(value, self._max_chars)
                self.cut += cut
            is_bare = self.bare.fullmatch(value) and not _AMBIGUOUS.fullmatch(value)
            return value if is_bare else f'"{value}"'
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
        is_bare = _KEY.fullmatch(key) and key != "KEY" and not key.endswith(TEXT_MARK)
        written = self[key] = key if is_bare else f'"{key}"'
        return written


class FieldWords(dict["Scalar | object", str]):
    """Writes scalars with what stands between them and their key: a space before a word, `=` before anything else.

    A word after a space costs a token less than one after `=`. A word that a reader could take for a key, or for a
    literal, is written behind `=` too.
    """

    def __init__(self, words: Words, keys: Keys) -> None:
        super().__init__()
        self._words = words
        self._keys = keys

    def __missing__(self, value: Scalar | object) -> str:
        if isinstance(value, bytes):
            return f"={value.decode()}"
        written = self._words[value]
        is_word = written[0].isalpha() and "=" not in written and written not in self._keys
        field = f" {written}" if is_word and written.lower() not in _LITERALS else f"={written}"
        # A tagged string is written in full once only.
        if self._words[value] is written:
            self[value] = field
        return field


def prefers_commas(rows: Sequence[Value]) -> bool:
    """Say whether commas between cells cost less: they spare spaced strings their quotes, but a space joins a word."""
    gain = 0
    todo: list[Value] = [*rows[:_SAMPLE]]
    while todo:
        for value in children(todo.pop()):
            if isinstance(value, str):
                gain += (2 if " " in value else -1) - 2 * ("," in value)
            elif isinstance(value, Object):
                todo.append(value)
            else:
                gain += value is None
    return gain > 0


def shortened(text: str, max_chars: int) -> tuple[str, int]:
    """Cut the middle out of a string, and say there how much; the first word of trouble stays in sight."""
    tail = len(text) - max_chars // 8
    alarm = find_alarm(text, max_chars // 2)
    windows = [(0, max_chars // 2), (tail, len(text))]
    if alarm >= 0:
        windows.insert(1, (alarm - max_chars // 8, min(alarm + max_chars // 4, tail)))
    out, end, cut = "", 0, 0
    for first, last in windows:
        start, stop = _whole(text, max(first, end)), _whole(text, last)
        if start < stop:
            out += f"[…{start - end} characters]{text[start:stop]}" if start > end else text[start:stop]
            cut, end = cut + start - end, stop
    return out, cut


def _whole(text: str, cut: int) -> int:
    """Move a cut back so that it splits no grapheme and no escape, of which two may make one character."""
    while 0 < cut < len(text) and _ESCAPE_MARK.search(text, max(0, cut - 12), cut):
        cut -= 1
    return whole_graphemes(text, cut)
