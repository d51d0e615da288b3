"""Which lines are alike: equal but for words with digits, or for a third of their words; and which alike lines follow each other."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from ctx_core.select.notes import MARK
from ctx_core.signals.severity import Severity, severity_of
from ctx_core.signals.vocabulary import may_report_trouble

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_GAPS: Final = re.compile(r"(\n|[ \t\r\v\f]+)")
_DRAWN: Final = 3
"""Signs in a row from which a word is drawn, such as the bars of `git log --stat`, and its length a value."""

_LETTERS: Final = re.compile(rb"[0-9A-Za-z]")
_DIGITS_TO_ZERO: Final = bytes(0x30 if 0x30 <= byte <= 0x39 else byte for byte in range(256))
_MAX_LINE: Final = 2_000
_LEAST: Final = 3
"""So many lines are alike; of two, a template costs about what it saves."""

_QUOTED_BELOW: Final = 8
"""So many alike errors at least are folded; fewer are quoted as they are, with their times and ids."""

_ROUNDS: Final = 12
"""A record has at most this many more parts than one; kubectl's longest, a pod's events, has eight."""

_TOGETHER: Final = 0.75
"""Two kinds of lines make one record if they stand together this often."""

_FEW: Final = 120
_ALIKE: Final = 0.15
"""Of many lines that are like no other, so many neighbours are compared first, and all if this share of them is similar."""

_Mask = tuple[bytes, ...]
_Frame = tuple[int, bool, bool]
"""How many blank lines stand below a line, and whether it begins and ends with white space."""


class Lines:
    """The lines of a text, with the number of the kind that each is of; -1 for a line of its own.

    Blank lines belong to the line above them.
    """

    def __init__(self, text: str) -> None:
        self.texts: list[str] = []
        self.blanks: list[int] = []
        for line in text.split("\n"):
            if line or not self.texts:
                self.texts.append(line)
                self.blanks.append(0)
            else:
                self.blanks[-1] += 1
        self.kinds = [-1] * len(self.texts)
        self._watched = may_report_trouble(text)
        self._number()

    def written(self, start: int, stop: int) -> Iterator[str]:
        """Yield lines as they stand in the text."""
        for number in range(start, stop):
            yield self.texts[number]
            yield from ("",) * self.blanks[number]

    def cut(self, numbers: Sequence[int]) -> list[list[str]]:
        """Return the words and, between them, the gaps of lines of one kind, place by place."""
        flat = _GAPS.split("\n".join([self.texts[number] for number in numbers]))
        width = (len(flat) + 1) // len(numbers)
        return [flat[place::width] for place in range(width - 1)]

    def _number(self) -> None:
        groups: dict[tuple[_Frame, _Mask], list[int]] = {}
        masks: dict[bytes, bytes] = {}
        for (blanks, shape), members in self._shapes().items():
            words = [masks[word] if word in masks else masks.setdefault(word, _mask(word)) for word in shape.split()]
            frame = (blanks, shape[:1].isspace(), shape[-1:].isspace())
            groups.setdefault((frame, tuple(words)), []).extend(members)
        small: list[tuple[_Frame, _Mask, list[int]]] = []
        kind = 0
        for (frame, mask), members in groups.items():
            if len(members) > _LEAST:
                kind = self._assign(kind, sorted(members))
            else:
                small.append((frame, mask, members))
        if len(small) > _FEW and not _are_similar(small):
            return
        for members in _join_similar(small):
            if len(members) >= _LEAST:
                kind = self._assign(kind, members)

    def _shapes(self) -> dict[tuple[int, bytes], list[int]]:
        """Return the lines by what they look like with a zero in place of each number."""
        joined = "\n".join(self.texts).encode("utf-8", "surrogatepass").translate(_DIGITS_TO_ZERO)
        for run in (b"0000", b"00", b"00", b"00"):
            joined = joined.replace(run, b"0")
        shapes: dict[tuple[int, bytes], list[int]] = {}
        for number, key in enumerate(zip(self.blanks, joined.split(b"\n"), strict=True)):
            found = shapes.get(key)
            if found is None:
                shapes[key] = [number]
            else:
                found.append(number)
        return shapes

    def _assign(self, kind: int, members: Sequence[int]) -> int:
        first = self.texts[members[0]]
        if len(first) > _MAX_LINE or first.startswith(MARK):
            return kind
        if len(members) < _QUOTED_BELOW and self._watched and severity_of(first) >= Severity.ERROR:
            return kind
        for member in members:
            self.kinds[member] = kind
        return kind + 1


def _mask(word: bytes) -> bytes:
    if b"0" in word:
        return b"#"
    return b"~" if len(word) >= _DRAWN and not _LETTERS.search(word) else word


def _are_similar(groups: Sequence[tuple[_Frame, _Mask, list[int]]]) -> bool:
    """Return True if of some neighbours a part worth folding can be joined: code and prose consist of lines of their own."""
    start = (len(groups) - _FEW) // 2
    joined = _join_similar(groups[start : start + _FEW])
    return sum([len(members) for members in joined if len(members) >= _LEAST]) > _ALIKE * _FEW


def _join_similar(groups: Sequence[tuple[_Frame, _Mask, list[int]]]) -> list[list[int]]:
    """Join groups whose masks share two of their three thirds, by one look-up each."""
    home: dict[tuple[object, ...], int] = {}
    joined: list[list[int]] = []
    for frame, mask, members in groups:
        size = len(mask)
        third = (size + 2) // 3
        if size < _LEAST:
            joined.append(members)
            continue
        head, middle, tail = mask[:third], mask[third : 2 * third], mask[2 * third :]
        shape = size, frame
        keys = ((shape, head, middle), (shape, 0, middle, tail), (shape, head, 0, tail))
        place = next((home[key] for key in keys if key in home), len(joined))
        if place == len(joined):
            joined.append([])
        joined[place] += members
        for key in keys:
            home.setdefault(key, place)
    return [sorted(members) for members in joined]


def find_records(kinds: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the lines as records, each the kinds of its lines: kinds that nearly always follow each other are one record.

    A record begins with the kind that is seen first, so that no record begins in the midst of another.
    """
    content: list[tuple[int, ...]] = [(kind,) for kind in range(max(kinds, default=-1) + 1)]
    records = [*kinds]
    for _ in range(_ROUNDS):
        best = _best_pair(records)
        if best is None:
            break
        records = _merge(records, *best, len(content))
        content.append(content[best[0]] + content[best[1]])
    return [content[record] if record >= 0 else (-1,) for record in records]


def _best_pair(records: Sequence[int]) -> tuple[int, int] | None:
    """Return two records to be joined, the most frequent ones; None where no two belong together."""
    counts = Counter(records)
    pairs = Counter(pairwise(records))
    for (head, tail), count in pairs.most_common(2 * _ROUNDS):
        if count < _LEAST:
            return None
        if head == tail or head < 0 or tail < 0:
            continue
        # A kind that forms runs is better told in rows of its own, even if another always stands beside it.
        is_run = pairs[head, head] or pairs[tail, tail]
        most = max(counts[head], counts[tail]) if is_run else min(counts[head], counts[tail])
        if count >= _TOGETHER * most and records.index(head) < records.index(tail):
            return head, tail
    return None


def _merge(records: Sequence[int], head: int, tail: int, joint: int) -> list[int]:
    merged: list[int] = []
    above = -1
    for record in records:
        if record == tail and above == head:
            merged[-1] = above = joint
        else:
            merged.append(record)
            above = record
    return merged
