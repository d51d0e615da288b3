"""Which search results to show when not all of them fit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from ctx_core.optimize.compressors.long_lines import shortened
from ctx_core.optimize.compressors.relevance import has_trouble, hits, query_terms
from ctx_core.optimize.compressors.search.format import Kind
from ctx_core.signals.severity import is_alarm
from ctx_core.tokens import estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctx_core.optimize.compressors.search.format import FileResults

_NOTE_TOKENS: Final = 9
_COUNTED: Final = 8
"""Lines of each file that say how many tokens a character takes."""

# The names of all files come first as long as they take no more of the room than this.
_NAMES_SHARE: Final = 0.5
_DEFINITION: Final = re.compile(
    r"\s*(?:(?:export|public|private|protected|static|async|abstract|final|pub(?:\([a-z]+\))?|unsafe|const|default)\s+)*"
    r"(?:def|class|func|fn|function|interface|struct|enum|trait|impl|type|module|namespace|macro_rules!|#define)\b"
)


class Candidate(NamedTuple):
    """One line that could be shown, or (`entry` None) the name of a file alone; best `key` first."""

    key: tuple[int, ...]
    file: int
    entry: int | None
    cost: int


def by_worth(groups: Sequence[FileResults], *, query: str | None) -> list[Candidate]:
    """Order all lines: what the query names, then the best match of each file, its second best, …, and context last.

    Matches that differ in their numbers alone are one match and its repetitions.
    """
    terms = query_terms(query)
    candidates: list[Candidate] = []
    sample = "\n".join([entry.line for group in groups for entry in group.entries[:_COUNTED]])
    rate = estimate(sample) / max(1, len(sample))
    seen: set[str] = set()
    for file, group in enumerate(groups):
        cost = (1 + estimate(group.path) if group.path is not None else 0) + _NOTE_TOKENS
        candidates.append(Candidate((), file, None, cost))
        ranked: list[tuple[int, ...]] = []
        for at, entry in enumerate(group.entries):
            if entry.kind is not Kind.NOTE:
                shape = entry.shape
                is_again = shape in seen
                seen.add(shape)
                # What is no result is what the tool itself, or one beside it, had to say.
                is_urgent = entry.kind is Kind.OTHER and is_alarm(entry.line)
                ranked.append(
                    (
                        -is_urgent,
                        entry.kind is Kind.CONTEXT,
                        -hits(entry.line, terms),
                        is_again,
                        -_signal(entry.body),
                        at,
                    )
                )
        for rank, (urgent, is_context, found, is_again, _, at) in enumerate(sorted(ranked)):
            cost = 1 + int(rate * len(shortened(group.entries[at].line)))
            candidates.append(Candidate((urgent, is_context, found, is_again, rank, file), file, at, cost))
    return sorted(candidates)


def _signal(line: str) -> int:
    return 2 * (_DEFINITION.match(line) is not None) + has_trouble(line)


def fill(candidates: Sequence[Candidate], room: int) -> dict[int, set[int]]:
    """Take candidates while they fit into `room` tokens; return which entries to show of which files."""
    names = {candidate.file: candidate.cost for candidate in candidates if candidate.entry is None}
    shown: dict[int, set[int]] = {}
    left = room
    if sum(names.values()) <= _NAMES_SHARE * room:
        shown = {file: set() for file in names}
        left -= sum(names.values())
    for candidate in candidates:
        if candidate.entry is None:
            continue
        cost = candidate.cost + (0 if candidate.file in shown else names[candidate.file])
        if cost <= left:
            shown.setdefault(candidate.file, set()).add(candidate.entry)
            left -= cost
    for file, cost in names.items():
        if file not in shown and cost <= left:
            shown[file] = set()
            left -= cost
    return shown
