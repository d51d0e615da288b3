"""Which lines are alike: equal but for words with digits, or for a third of their words; and which alike lines follow each other."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from ctx_core.signals.severity import Severity, severity_of
from ctx_core.signals.vocabulary import may_report_trouble

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_GAPS: Final = re.compile(r"(\s+)")
_DRAWING: Final = re.compile(r"[^0-9A-Za-z]+")
_DRAWN: Final = 3
"""Signs in a row from which a word is drawn, such as the bars of `git log --stat`, and its length a value."""

_DIGIT: Final = re.compile(r"\d")
_MAX_LINE: Final = 2_000
_LEAST: Final = 3
"""So many lines are alike; of two, a template costs about what it saves."""

_QUOTED_BELOW: Final = 8
"""So many alike errors at least are folded; fewer are quoted as they are, with their times and ids."""

_ROUNDS: Final = 12
"""A record has at most this many more parts than one; kubectl's longest, a pod's events, has eight."""

_TOGETHER: Final = 0.75
"""Two kinds of lines make one record if they stand together this often."""


class Lines:
    """The lines of a text, cut at white space, with the number of the kind that each is of; -1 for a line of its own.

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
        self.parts: list[list[str]] = [_GAPS.split(line) if len(line) <= _MAX_LINE else [line] for line in self.texts]
        self.kinds = [-1] * len(self.texts)
        self._watched = may_report_trouble(text)
        self._number()

    def written(self, start: int, stop: int) -> Iterator[str]:
        """Yield lines as they stand in the text."""
        for number in range(start, stop):
            yield self.texts[number]
            yield from ("",) * self.blanks[number]

    def _number(self) -> None:
        groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for number, parts in enumerate(self.parts):
            groups[_mask(parts, self.blanks[number])].append(number)
        small: list[tuple[tuple[str, ...], list[int]]] = []
        kind = 0
        for mask, members in groups.items():
            if len(members) >= _LEAST + 1:
                kind = self._assign(kind, members)
            else:
                small.append((mask, members))
        for members in _join_similar(small):
            if len(members) >= _LEAST:
                kind = self._assign(kind, members)

    def _assign(self, kind: int, members: Sequence[int]) -> int:
        if len(self.texts[members[0]]) > _MAX_LINE or (len(members) < _QUOTED_BELOW and self._is_error(members[0])):
            return kind
        for member in members:
            self.kinds[member] = kind
        return kind + 1

    def _is_error(self, number: int) -> bool:
        return self._watched and severity_of(self.texts[number]) >= Severity.ERROR


def _mask(parts: Sequence[str], blanks: int) -> tuple[str, ...]:
    """Return the words of a line, those with a digit masked; of white space only where it stands counts."""
    words = [
        "#" if _DIGIT.search(word) else word if len(word) < _DRAWN or not _DRAWING.fullmatch(word) else "~"
        for word in parts[::2]
    ]
    return tuple([*words, "\n" * blanks] if blanks else words)


def _join_similar(groups: Sequence[tuple[tuple[str, ...], list[int]]]) -> list[list[int]]:
    """Join groups whose masks share two of their three thirds, by one look-up each."""
    home: dict[tuple[object, ...], int] = {}
    joined: list[list[int]] = []
    for mask, members in groups:
        size = len(mask)
        third = (size + 2) // 3
        if size < _LEAST:
            joined.append(members)
            continue
        head, middle, tail = mask[:third], mask[third : 2 * third], mask[2 * third :]
        # Lines with blank ones below them have a part more, and only join their like.
        shape = size, mask[-1] if mask[-1][:1] == "\n" else ""
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
    records = [(kind,) for kind in kinds]
    for _ in range(_ROUNDS):
        best = _best_pair(records)
        if best is None:
            break
        records = _merge(records, *best)
    return records


def _best_pair(records: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return two records to be joined, the most frequent ones; None where no two belong together."""
    counts = Counter(records)
    pairs = Counter(pairwise(records))
    first: dict[tuple[int, ...], int] | None = None
    for (head, tail), count in pairs.most_common(2 * _ROUNDS):
        if count < _LEAST:
            return None
        if head == tail or head[0] < 0 or tail[0] < 0:
            continue
        # A kind that forms runs is better told in rows of its own, even if another always stands beside it.
        is_run = pairs[head, head] or pairs[tail, tail]
        most = max(counts[head], counts[tail]) if is_run else min(counts[head], counts[tail])
        if count < _TOGETHER * most:
            continue
        if first is None:
            first = {record: place for place, record in reversed([*enumerate(records)])}
        if first[head] < first[tail]:
            return head, tail
    return None


def _merge(records: Sequence[tuple[int, ...]], head: tuple[int, ...], tail: tuple[int, ...]) -> list[tuple[int, ...]]:
    merged: list[tuple[int, ...]] = []
    for record in records:
        if record == tail and merged and merged[-1] == head:
            merged[-1] = head + tail
        else:
            merged.append(record)
    return merged
