"""Cuts a text into what can be left out whole: sentences, list items, lines of code, under their headings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from ctx_core.signals.severity import Severity, severity_of
from ctx_core.signals.vocabulary import may_report_trouble, stems_of
from ctx_core.tokens import whole_graphemes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MAX_CHARS: Final = 400
"""A sentence that is longer is cut at a space, or, in a script or line without any, between two graphemes."""

_MIN_CHARS: Final = 8
"""What is shorter, such as `1.` or `e.g.`, is no sentence of its own."""

MIN_PASSAGE: Final = 160
"""Characters from which a passage that was said before costs more than the note that says so."""

_FENCE: Final = re.compile(r"[ \t]*(`{3,}|~{3,})")
_HEADING: Final = re.compile(r"(#{1,6})[ \t]+\S")
_UNDERLINE: Final = re.compile(r"(?:={3,}|-{3,}|~{3,}|\^{3,})[ \t]*")
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S")
_INDENTED: Final = re.compile(r"(?: {4}|\t)\s*\S")
_LABEL: Final = re.compile(r"\s*(?:\[[^\]]+\]:|\.\. )")
# Latin sentences end before a space and no lower-case letter; those of scripts without spaces end at their own mark. All marks
# come first, so that a search skips what is none.
_END: Final = re.compile(
    r"[.!?…。！？．｡។।](?:(?<=[.!?…])[\"'”’)\]*_`]{0,8}\s+(?=[^a-z\s])|(?<=[。！？．｡។।])[」』”’）]{0,8}\s*)"
)


class Kind(StrEnum):
    """What a unit is, in the plural, as notes count it."""

    HEADING = "headings"
    SENTENCE = "sentences"
    ITEM = "items"
    LINE = "lines"


@dataclass(slots=True)
class Unit:
    """A piece of the text with the white space behind it; all units joined are the text.

    Args:
        text: The piece.
        kind: What it is.
        heads: The numbers of the headings it stands under.
        is_first: Whether a paragraph, a section or a list starts here.
        level: Of a heading, from 1.
        fence: The numbers of the lines that open and close the code it belongs to.
    """

    text: str
    kind: Kind
    heads: tuple[int, ...] = ()
    is_first: bool = False
    level: int = 0
    fence: Sequence[int] = ()

    @property
    def stays(self) -> bool:
        """Whether it is said again where it was said before: headings and code hold together what stands around them."""
        return self.kind is Kind.HEADING or bool(self.fence)


def units_of(text: str) -> list[Unit]:
    """Cut `text` into units."""
    stems = stems_of(text)
    reader = _Reader(stems if may_report_trouble(text, stems) else None)
    lines = text.splitlines(keepends=True) if "\r" not in text else re.findall(r"[^\n]*\n|[^\n]+", text)
    for line in lines:
        reader.read(line)
    reader.end()
    return reader.units


class _Reader:
    def __init__(self, stems: Sequence[str] | None) -> None:
        self._stems = stems
        self.units: list[Unit] = []
        self._headings: tuple[int, ...] = ()
        self._paragraph: list[str] = []
        self._marks = ""
        self._fence: list[int] = []
        self._is_item = False
        self._blanks: list[str] = []

    def end(self) -> None:
        """Take what is still open."""
        self.end_paragraph()
        self._join_blanks()

    def read(self, line: str) -> None:
        """Take the next line."""
        sign = line.lstrip()[:1]
        if sign:
            self._join_blanks()
        fence = _FENCE.match(line) if sign in ("`", "~") else None
        if self._marks:
            self._read_code(line, closes=fence is not None and fence[1].startswith(self._marks))
        elif not sign:
            self._read_blank(line)
        elif fence:
            self.end_paragraph()
            self._marks = fence[1]
            self._fence = [len(self.units)]
            self._read_code(line, closes=False)
        elif sign == "#" and (heading := _HEADING.match(line)):
            self.end_paragraph()
            self._add_heading(line, len(heading[1]))
        elif len(self._paragraph) == 1 and _UNDERLINE.fullmatch(line.rstrip("\r\n")):
            title, self._paragraph = self._paragraph[0], []
            self._add_heading(title + line, 1 if line[0] == "=" else 2)
        else:
            self._read_prose(line, is_item=not sign.isalpha() and _ITEM.match(line) is not None)

    def _read_prose(self, line: str, *, is_item: bool) -> None:
        if self._stems is not None and not is_item and severity_of(line, self._stems) >= Severity.ERROR:
            # What a program printed between the lines is no part of a sentence.
            self.end_paragraph()
            self._add(line, Kind.LINE)
            return
        if not self._paragraph and not is_item and (_INDENTED.match(line) or _LABEL.match(line)):
            self._add(line, Kind.LINE)
            return
        if is_item:
            self.end_paragraph()
            self._is_item = True
        self._paragraph.append(line)

    def _read_blank(self, line: str) -> None:
        self.end_paragraph()
        if not self.units:
            self._add(line, Kind.LINE)
            return
        # Joined once: adding to a text a line at a time copies it as often.
        self._blanks.append(line)

    def _join_blanks(self) -> None:
        if self._blanks:
            self.units[-1].text += "".join(self._blanks)
            self._blanks = []

    def _read_code(self, line: str, *, closes: bool) -> None:
        if closes:
            self._marks = ""
            self._fence.append(len(self.units))
        self.units.append(Unit(line, Kind.LINE, self._headings, fence=self._fence))

    def _add(self, text: str, kind: Kind, *, is_first: bool = False) -> None:
        self.units.append(Unit(text, kind, self._headings, is_first))

    def _add_heading(self, text: str, level: int) -> None:
        heads = tuple([place for place in self._headings if self.units[place].level < level])
        self._headings = (*heads, len(self.units))
        self.units.append(Unit(text, Kind.HEADING, heads, is_first=True, level=level))

    def end_paragraph(self) -> None:
        """Cut the lines of the paragraph that ends here into sentences."""
        if not self._paragraph:
            return
        text = "".join(self._paragraph)
        kind = Kind.ITEM if self._is_item else Kind.SENTENCE
        self._paragraph, self._is_item = [], False
        if kind is Kind.ITEM and len(text) <= _MAX_CHARS:
            self._add(text, kind, is_first=True)
            return
        for number, sentence in enumerate(sentences(text)):
            self._add(sentence, Kind.SENTENCE, is_first=number == 0)


def sentences(text: str) -> Iterator[str]:
    """Cut a paragraph into sentences, each with the white space behind it."""
    start = 0
    for end in _END.finditer(text):
        if end.end() - start < _MIN_CHARS:
            continue
        yield from _short(text[start : end.end()])
        start = end.end()
    if start < len(text):
        yield from _short(text[start:])


def _short(sentence: str) -> Iterator[str]:
    start = 0
    while len(sentence) - start > 2 * _MAX_CHARS:
        window = start + _MAX_CHARS
        cut = max(sentence.rfind(space, window - _MAX_CHARS // 2, window) for space in " \n\t、，,;") + 1
        cut = cut or whole_graphemes(sentence, window)
        yield sentence[start:cut]
        start = cut
    yield sentence[start:]
