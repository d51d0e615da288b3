"""Rules for rows and columns: CSV and TSV, Markdown and box tables, fixed-width listings."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.content import ContentType, Detection
from ctx_core.optimize.rules.logs import STAMPED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctx_core.optimize.rules.sample import Sample

_ROW: Final = re.compile(r"\s*\|.*\|\s*$|\s*[^|\s][^|]*(?:\|[^|]*)+$")
_RULE: Final = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)+\|?\s*$", re.MULTILINE)
_BOX: Final = re.compile(r"\s*(?:\+[-=+]{3,}\+|\|.*\||[┌├└│╭╰┏┡╞].*)\s*$")
_LS: Final = re.compile(r"total \d|[-dlcbps][-rwxsStT]{9}[.+@]?\s+\d")
_GAP: Final = re.compile(r"\S\s{2,}\S")
_WORD: Final = re.compile(r"\S+")

_DELIMITERS: Final = (("\t", "tsv"), (",", "csv"), (";", "csv"), ("|", "csv"))
_QUOTED: Final = re.compile(r'"(?:[^"]|"")*"')
_LOOKED_AT: Final = 40
_FRACTION: Final = re.compile(r":\d\d,\d{3}(?!\d)")


def table(sample: Sample) -> Detection | None:
    """Markdown and box tables, and what `ls -l` prints."""
    lines = sample.lines
    if len(lines) < 2:
        return None
    if _RULE.search("\n".join(lines[:4])) and sample.share(_ROW) >= 0.8:
        return _of("markdown")
    if sample.share(_BOX) >= 0.9 and lines[0].lstrip()[:1] in "+┌╭┏|":
        return _of("box")
    return _of("listing") if sample.share(_LS) >= 0.7 else None


def listing(sample: Sample) -> Detection | None:
    """Fixed-width columns below a header, as `ps`, `df` or `kubectl get` print."""
    return _of("listing") if len(sample.lines) >= 2 and _is_aligned(sample.lines[:_LOOKED_AT]) else None


def _is_aligned(lines: Sequence[str]) -> bool:
    """Say whether most words of the header stand where a column of words begins below it."""
    header, rows = lines[0], lines[1:]
    starts = [match.start() for match in _WORD.finditer(header)]
    if len(starts) < 3 or header[:1].isspace() or sum(1 for row in lines if _GAP.search(row)) < 0.7 * len(lines):
        return False
    ends = [match.end() for match in _WORD.finditer(header)]
    columns = sum(
        1
        for start, end in zip(starts, ends, strict=True)
        if all(_begins(row, start) for row in rows) or all(_ends(row, end) for row in rows)
    )
    return columns >= max(2, 0.4 * len(starts))


def _begins(row: str, at: int) -> bool:
    return at >= len(row) or (not row[at].isspace() and (at == 0 or row[at - 1].isspace()))


def _ends(row: str, at: int) -> bool:
    return at <= len(row) and not row[at - 1].isspace() and (at == len(row) or row[at].isspace())


def timed(sample: Sample) -> Detection | None:
    """CSV whose rows begin with a time: under a header, or with cells that are no part of a log line."""
    if sample.share(STAMPED) < 0.5 or (found := delimited(sample)) is None or found.language != "csv":
        return None
    header, *rows = sample.lines[:_LOOKED_AT]
    # What loggers put behind a comma is a fraction of a second, and then words.
    if STAMPED.match(header) and all(map(_FRACTION.search, rows)):
        return None
    cells = [cell for row in rows for cell in row.split(",")]
    return found if sum(cell.count(" ") <= 1 for cell in cells) >= 0.9 * len(cells) else None


def delimited(sample: Sample) -> Detection | None:
    """CSV, TSV and their relatives: every row has as many delimiters as the others."""
    lines = [line for line in sample.lines if not line.startswith("#")][:_LOOKED_AT]
    language = _delimited_as(lines, [_without_quoted(line).lstrip("\t") for line in lines])
    if language is None and '"' in sample.head:
        # A quoted cell may go on over lines.
        whole = _without_quoted(sample.head).split("\n")[:-1][:_LOOKED_AT]
        language = _delimited_as(whole, whole)
    return _of(language, 0.95) if language and not _is_code(lines) else None


def _without_quoted(text: str) -> str:
    return _QUOTED.sub("", text) if '"' in text else text


def _delimited_as(lines: Sequence[str], plain: Sequence[str]) -> str | None:
    for delimiter, language in _DELIMITERS if len(lines) >= 3 else ():
        usual, times = Counter(line.count(delimiter) for line in plain).most_common(1)[0]
        is_sure = usual >= 2 or delimiter == "\t" or _has_short_cells(lines, delimiter)
        if usual and times >= 0.9 * len(lines) and is_sure:
            return language
    return None


def _has_short_cells(lines: Sequence[str], delimiter: str) -> bool:
    cells = [cell for line in lines for cell in line.split(delimiter)]
    return f"{delimiter} " not in lines[0] and sum(1 for cell in cells if len(cell.split()) <= 2) >= 0.9 * len(cells)


def _is_code(lines: Sequence[str]) -> bool:
    opens = sum(1 for line in lines if line.rstrip()[-1:] in ("{", "(", "[", ":", ")"))
    indented = sum(1 for line in lines if line.startswith("    "))
    closes = sum(1 for line in lines if line.rstrip()[-1:] in (",", ";"))
    return opens > 0.3 * len(lines) or max(indented, closes) > 0.5 * len(lines)


def _of(language: str, confidence: float = 1.0) -> Detection:
    return Detection(content_type=ContentType.TABLE, language=language, confidence=confidence)
