"""The compressor of search results."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.aim import aim
from ctx_core.optimize.compressors.base import Compressed, Omission
from ctx_core.optimize.compressors.long_lines import characters_cut, shortened
from ctx_core.optimize.compressors.search.format import Entry, FileResults, Kind, read_results
from ctx_core.optimize.compressors.search.pick import by_worth, fill
from ctx_core.select.notes import spell_counts
from ctx_core.tokens import estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ctx_core.optimize.compressors.base import Budget

# So many matches that differ in their numbers alone are shown; the rest is counted.
_SHOWN_ALIKE: Final = 2
_FOLDED_FROM: Final = 4
# What a note costs beside its line numbers, in characters.
_NOTE_CHARS: Final = 14
_RESERVED_TOKENS: Final = 16
_COUNTED: Final = {
    Kind.MATCH: "matches",
    Kind.CONTEXT: "context lines",
    Kind.NOTE: "notes",
    Kind.OTHER: "other lines",
}


def group_results(text: str) -> str:
    """Return search results grouped by file, lines that are the same named once; nothing is lost."""
    groups = read_results(text)
    if not any(entry.kind is Kind.MATCH for group in groups for entry in group.entries):
        return text
    grouped = _rendered([_without_repeats(group) for group in groups], ()).text
    return grouped if estimate(grouped) < estimate(text) else text


class SearchCompressor:
    """Groups results by file, names lines that are the same once, and counts matches that differ in numbers alone."""

    def compress(self, text: str, budget: Budget, *, query: str | None = None) -> Compressed:
        """Return the results grouped by file, or as many of them as fit, some of each file before more of one."""
        if budget.max_tokens is not None and budget.fits(text):
            return Compressed(text=text)
        groups = read_results(text)
        if not any(entry.kind is Kind.MATCH for group in groups for entry in group.entries):
            return Compressed(text=text)
        distinct = [_without_repeats(group) for group in groups]
        grouped = _rendered(distinct, ())
        if estimate(grouped.text) >= estimate(text):
            grouped = Compressed(text=text)
        if budget.max_tokens is not None and budget.fits(grouped.text):
            return grouped
        folded = [_folded(group) for group in distinct]
        shown = _rendered((group for group, _ in folded), (omission for _, omission in folded if omission))
        if estimate(shown.text) >= estimate(grouped.text):
            shown = grouped
        if budget.fits(shown.text):
            return shown
        return _picked(groups, budget, query)


def _rendered(groups: Iterable[FileResults], omissions: Iterable[Omission]) -> Compressed:
    lines: list[str] = []
    for group in groups:
        lines += group.heading
        lines += [entry.line for entry in group.entries]
    return Compressed(text="\n".join(lines), omissions=tuple(omissions))


# ---------------------------------------------------------------- folding


def _without_repeats(group: FileResults) -> FileResults:
    """Show a line that occurs again once, with the numbers of the others; nothing is lost."""
    if len({entry.body for entry in group.entries}) == len(group.entries):
        return group
    numbers: dict[str, list[str]] = {}
    for entry in group.entries:
        if entry.kind is Kind.MATCH and entry.number:
            numbers.setdefault(entry.body, []).append(entry.number)
    named = {body: f"[same at {', '.join(others)}]" for body, (_, *others) in numbers.items() if _saves(body, others)}
    if not named:
        return group
    entries: list[Entry] = []
    noted: set[str] = set()
    for entry in group.entries:
        note = named.get(entry.body) if entry.kind is Kind.MATCH and entry.number else None
        if note is None:
            entries.append(entry)
        elif entry.body not in noted:
            noted.add(entry.body)
            entries += [entry, Entry(note, Kind.NOTE)]
    return replace(group, entries=entries)


def _saves(body: str, others: Sequence[str]) -> bool:
    return len(others) * (len(body) - 2) > _NOTE_CHARS


def _folded(group: FileResults) -> tuple[FileResults, Omission | None]:
    """Show the first of many matches that differ in their numbers alone, and count the rest behind them."""
    if len(group.entries) < _FOLDED_FROM:
        return group, None
    shapes = [entry.shape if entry.kind is Kind.MATCH else None for entry in group.entries]
    totals = Counter(shapes)
    last = {shape: entry.number for entry, shape in zip(group.entries, shapes, strict=True)}
    seen, entries, left_out = Counter[str](), list[Entry](), 0
    for entry, shape in zip(group.entries, shapes, strict=True):
        if shape is None or totals[shape] < _FOLDED_FROM or not shape.strip("0"):
            entries.append(entry)
            continue
        seen[shape] += 1
        if seen[shape] <= _SHOWN_ALIKE:
            entries.append(entry)
        if seen[shape] == _SHOWN_ALIKE:
            rest = totals[shape] - _SHOWN_ALIKE
            left_out += rest
            entries.append(Entry(f"[… {rest} more that differ in numbers alone, to line {last[shape]}]", Kind.NOTE))
    omission = Omission(what="matches", count=left_out, where=group.path) if left_out else None
    return replace(group, entries=entries), omission


# ---------------------------------------------------------------- budget


def _picked(groups: Sequence[FileResults], budget: Budget, query: str | None) -> Compressed:
    candidates = by_worth(groups, query=query)
    contents = [Counter(_COUNTED[entry.kind] for entry in group.entries) for group in groups]

    def draw(room: int) -> Compressed:
        return _drawn(groups, contents, fill(candidates, room))

    return aim(draw, budget, reserve=_RESERVED_TOKENS) or _drawn(groups, contents, {})


def _drawn(
    groups: Sequence[FileResults], contents: Sequence[Mapping[str, int]], shown: Mapping[int, set[int]]
) -> Compressed:
    """Write the entries to show; what a file has besides is counted below them, and files without any are counted together."""
    lines: list[str] = []
    total, here = Counter[str](), Counter[str]()

    def note() -> None:
        if left := +here:
            lines.append(f"[… {spell_counts(left)} left out]")
            total.update(left)
        here.clear()

    for number, group in enumerate(groups):
        if number in shown:
            note()
            lines += group.heading
        elif group.path is not None:
            here["files"] += 1
        for what, count in contents[number].items():
            here[what] += count
        if number in shown:
            for at in sorted(shown[number]):
                lines.append(shortened(group.entries[at].line))
                here[_COUNTED[group.entries[at].kind]] -= 1
            note()
    note()
    total["characters"] = sum(map(characters_cut, lines))
    return Compressed(
        text="\n".join(lines), omissions=tuple(Omission(what=what, count=count) for what, count in (+total).items())
    )
