"""Diffs: every changed line, less and less of what did not change, then whole hunks by importance."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.aim import aim
from ctx_core.optimize.compressors.base import Compressed, Omission
from ctx_core.optimize.compressors.diff.format import DiffFile, cut, read_diff, visible
from ctx_core.optimize.compressors.diff.pick import fill, pieces_by_worth
from ctx_core.optimize.compressors.notes import characters_cut, plural, shortened, spelled
from ctx_core.tokens import estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ctx_core.optimize.compressors.base import Budget
    from ctx_core.optimize.compressors.diff.format import Shown

# Lines of context around a change, most first.
_CONTEXTS: Final = (3, 1)
_NATURAL_CONTEXT: Final = 1
# A generated file with fewer changed lines than this says more than their count does.
_FOLDED_FROM: Final = 8
# A diff that gets hardly shorter is worth more as one that applies.
_MIN_SAVED_SHARE: Final = 0.05
_MIN_SAVED_TOKENS: Final = 16
_TAIL_TOKENS: Final = 32
# Lines that were cut are no shorter.
_CUT_LINE: Final = 256

_GENERATED: Final = re.compile(
    r"(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|deno\.lock|poetry\.lock"
    r"|uv\.lock|pdm\.lock|Pipfile\.lock|conda-lock\.yml|Cargo\.lock|Gemfile\.lock|composer\.lock|mix\.lock|pubspec\.lock"
    r"|Podfile\.lock|Package\.resolved|packages\.lock\.json|gradle\.lockfile|flake\.lock|go\.(?:work\.)?sum)$"
    r"|\.min\.(?:js|css)$|\.(?:js|css)\.map$|_pb2(?:_grpc)?\.pyi?$|\.pb\.go$|\.g\.dart$|(?:^|/)node_modules/"
)
_TAIL: Final = re.compile(r"\n\[shortened diff, no longer applies: ([^\n]+) left out\]\n*\Z")
_TALLIED: Final = re.compile(r"(\d{1,15}) ([a-z0-9 ]+)")
_BASE85: Final = re.compile(r"[A-Za-z][0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]{5,65}$")


class DiffCompressor:
    """Keeps changed lines, hunk headers and file headers; leaves out context, index lines and generated files."""

    def compress(self, text: str, budget: Budget, *, query: str | None = None) -> Compressed:
        """Return the diff with less context, or with whole hunks left out where that is not enough.

        Hunk headers are written anew for what they head, so their numbers stay true. A last line says what was left
        out in all, and that the diff no longer applies.
        """
        if budget.max_tokens is not None and budget.fits(text):
            return Compressed(text=text)
        body, tally = _without_tail(text)
        files = [_without_noise(file, tally) for file in read_diff(body)]
        if not any(file.hunks or file.name for file in files):
            return Compressed(text=text)
        if budget.max_tokens is None:
            return _natural(text, files, tally)
        return _fitted(files, tally, budget) or _picked(files, tally, budget, query)


def _natural(text: str, files: Sequence[DiffFile], tally: Counter[str]) -> Compressed:
    shorter = _render(files, _with_context(files, _NATURAL_CONTEXT), tally)
    before, after = estimate(text), estimate(shorter.text)
    is_worth_it = before - after > max(_MIN_SAVED_TOKENS, _MIN_SAVED_SHARE * before)
    return shorter if is_worth_it else Compressed(text=text)


def _fitted(files: Sequence[DiffFile], tally: Counter[str], budget: Budget) -> Compressed | None:
    """Keep every change, and as much context as there is room for; without any is asked first, as that settles most cases."""
    bare = _render(files, _with_context(files, 0), tally)
    if not budget.fits(bare.text):
        return None
    levels = (_render(files, _with_context(files, context), tally) for context in _CONTEXTS)
    return next((shown for shown in levels if budget.fits(shown.text)), bare)


def _with_context(files: Sequence[DiffFile], context: int) -> Shown:
    """Show every file with its changes; of a generated file with many, the head alone."""
    return {
        number: {} if _is_folded(file) else {nth: visible(hunk, context) for nth, hunk in enumerate(file.hunks)}
        for number, file in enumerate(files)
    }


def _is_folded(file: DiffFile) -> bool:
    return _GENERATED.search(file.name) is not None and file.changed >= _FOLDED_FROM


def _picked(files: list[DiffFile], tally: Counter[str], budget: Budget, query: str | None) -> Compressed:
    """Leave out whole hunks; the costs of pieces are estimates, so aim again by the exact count."""
    files = [_without_long_lines(_without_implied(file)) for file in files]
    pieces = [
        piece
        for piece in pieces_by_worth(files, query=query)
        if piece.hunk is None or not _is_folded(files[piece.file])
    ]
    drawn = aim(lambda room: _render(files, fill(pieces, room), tally), budget, reserve=_TAIL_TOKENS)
    if drawn is not None:
        return drawn
    for file in files:
        tally.update(dict(_contents(file)))
    return _finished([], tally)


# ---------------------------------------------------------------- noise


def _without_tail(text: str) -> tuple[str, Counter[str]]:
    """Take off the last line that an earlier shortening added, and return what it counts."""
    match = _TAIL.search(text, max(0, len(text) - 400))
    if match is None:
        return text, Counter()
    return text[: match.start() + 1], Counter({plural(what): int(count) for count, what in _TALLIED.findall(match[1])})


def _without_noise(file: DiffFile, tally: Counter[str]) -> DiffFile:
    """Leave out index lines and the text of binary patches; both name contents that the diff does not show."""
    head: list[str] = []
    for line in file.head:
        if file.hunks and line.startswith("index "):
            tally["index lines"] += 1
        elif _BASE85.match(line) and _in_binary_patch(head):
            tally["lines of binary patch"] += 1
        else:
            head.append(line)
    return DiffFile(head=head, hunks=file.hunks)


def _in_binary_patch(head: Sequence[str]) -> bool:
    return bool(head) and head[-1].startswith(("literal ", "delta "))


def _without_implied(file: DiffFile) -> DiffFile:
    """Leave out `---` and `+++` where the `diff --git` line has said it."""
    said = next((line for line in file.head if line.startswith("diff --git ")), None)
    for at, (old, new) in enumerate(pairwise(file.head)):
        if old.startswith("--- ") and new.startswith("+++ ") and said == f"diff --git {old[4:]} {new[4:]}":
            return DiffFile(head=file.head[:at] + file.head[at + 2 :], hunks=file.hunks)
    return file


def _without_long_lines(file: DiffFile) -> DiffFile:
    hunks = [
        replace(hunk, rows=list(map(_shortened, hunk.rows))) if any(len(row) > _CUT_LINE for row in hunk.rows) else hunk
        for hunk in file.hunks
    ]
    return DiffFile(head=file.head, hunks=hunks)


def _shortened(row: str) -> str:
    """Shorten a row, and the marker in it."""
    return row if len(row) <= _CUT_LINE else "\n".join(map(shortened, row.split("\n")))


# ---------------------------------------------------------------- text


def _render(files: Sequence[DiffFile], shown: Shown, before: Counter[str]) -> Compressed:
    """Write the rows to show; a count stands wherever a changed line or a file was left out."""
    lines: list[str] = []
    tally, here = Counter(before), Counter[str]()

    def note() -> None:
        if here:
            lines.append(f"[… {spelled(here)} left out]")
            tally.update(here)
            here.clear()

    for number, file in enumerate(files):
        if number not in shown:
            for what, count in _contents(file):
                here[what] += count
            continue
        note()
        lines += file.head
        for nth, hunk in enumerate(file.hunks):
            for unchanged, changed, rows in cut(hunk, shown[number].get(nth, ())):
                tally["context lines"] += unchanged
                if changed:
                    here["changed lines"] += changed
                if rows:
                    note()
                    lines += rows
        note()
    note()
    # A row holds its marker for a missing newline, too.
    tally["characters"] = sum(characters_cut(line) for row in lines if len(row) > _CUT_LINE for line in row.split("\n"))
    return _finished(lines, +tally)


def _contents(file: DiffFile) -> Iterator[tuple[str, int]]:
    if not file.name:
        yield "other lines", len(file.head)
        return
    yield "files", 1
    if file.changed:
        yield "changed lines", file.changed


def _finished(lines: list[str], tally: Counter[str]) -> Compressed:
    if not tally:
        return Compressed(text="\n".join(lines))
    trailing = lines.pop() if lines and lines[-1] == "" else None
    lines.append(f"[shortened diff, no longer applies: {spelled(tally)} left out]")
    if trailing is not None:
        lines.append(trailing)
    return Compressed(
        text="\n".join(lines), omissions=tuple(Omission(what=what, count=count) for what, count in tally.items())
    )
