"""A diff with less of what did not change, and without what says nothing: contents named by hash, encoded, or generated."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from ctx_core.optimize.compressors.diff.format import (
    Head,
    Hunk,
    context_pattern,
    excerpts,
    header,
    name_in,
    read_diff,
)

# A new header costs about twelve tokens, as much as this many characters of code.
_GAP_CHARS: Final = 40
# A generated file with fewer changed lines than this says more than their count does.
_FOLDED_FROM: Final = 8

_GENERATED: Final = re.compile(
    r"(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|deno\.lock|poetry\.lock"
    r"|uv\.lock|pdm\.lock|Pipfile\.lock|conda-lock\.yml|Cargo\.lock|Gemfile\.lock|composer\.lock|mix\.lock|pubspec\.lock"
    r"|Podfile\.lock|Package\.resolved|packages\.lock\.json|gradle\.lockfile|flake\.lock|go\.(?:work\.)?sum)$"
    r"|\.min\.(?:js|css)$|\.(?:js|css)\.map$|_pb2(?:_grpc)?\.pyi?$|\.pb\.go$|\.g\.dart$|(?:^|/)node_modules/"
)
_NOISE: Final = re.compile(
    r"^(?:(?P<index>index .*\n)|(?:literal|delta) .*\n(?P<patch>(?:[A-Za-z][0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]{5,65}\n)++))",
    re.MULTILINE,
)


def shrunk(text: str, context: int) -> tuple[str, Counter[str]]:
    """Return the diff with so many rows of context around each change, and what that leaves out.

    Hunk headers are written anew for what they head, so their numbers stay true.
    """
    draft = _Draft(text)
    for part in read_diff(text):
        if isinstance(part, Head):
            _shrink_head(draft, part)
        elif part.start >= draft.done and part.rows.unchanged > context and part.rows.changed:
            _shrink_hunk(draft, part, context)
    return draft.finished(), draft.tally


class _Draft:
    """Puts a text together out of what stays of another, from its start to its end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tally = Counter[str]()
        self.done = 0
        self._parts: list[str] = []

    def replace(self, start: int, stop: int, by: str = "") -> None:
        self._parts += (self.text[self.done : start], by)
        self.done = stop

    def finished(self) -> str:
        return "".join((*self._parts, self.text[self.done :])) if self.done else self.text


def _shrink_head(draft: _Draft, head: Head) -> None:
    """Leave out index lines and binary patches, which name contents that the diff does not show, and generated files."""
    for noise in _NOISE.finditer(draft.text, head.start, head.stop):
        if noise["patch"]:
            draft.replace(*noise.span("patch"))
            draft.tally["lines of binary patch"] += noise["patch"].count("\n")
        elif head.has_hunks:
            draft.replace(*noise.span())
            draft.tally["index lines"] += 1
    if head.has_hunks and _GENERATED.search(name_in(draft.text, head)):
        _fold(draft, head.stop)


def _fold(draft: _Draft, start: int) -> None:
    """Leave a count in place of the hunks that start here."""
    changed, unchanged, stop = 0, 0, start
    for part in read_diff(draft.text, start):
        if isinstance(part, Head):
            break
        changed += part.rows.changed
        unchanged += part.rows.unchanged
        stop = part.stop
    if changed >= _FOLDED_FROM:
        draft.replace(start, stop, f"[… {changed} changed lines left out]\n")
        draft.tally.update({"changed lines": changed, "context lines": unchanged})


def _shrink_hunk(draft: _Draft, hunk: Hunk, context: int) -> None:
    """Leave out context; where it goes from the midst, the hunk becomes two."""
    stays = _near_changes(draft.text, hunk, context)
    if stays == [(hunk.body, hunk.stop)]:
        return
    done, section, unchanged = hunk.start, hunk.section, hunk.rows.unchanged
    for start, stop, first, rows in excerpts(draft.text, hunk, stays):
        draft.replace(done, start, header(first, rows.lines, section))
        done, section = stop, ""
        unchanged -= rows.unchanged
    draft.replace(done, hunk.stop)
    draft.tally["context lines"] += unchanged


def _near_changes(text: str, hunk: Hunk, context: int) -> list[tuple[int, int]]:
    """Return where rows stand within so many rows of a change; a gap cheaper than a header is no gap."""
    near: list[tuple[int, int]] = []
    at = hunk.body
    for run in context_pattern(hunk.parents, context + 1).finditer(text, hunk.body, hunk.stop):
        start, stop = run.span()
        is_first, is_last = start == hunk.body, stop == hunk.stop
        if not is_first:
            start = _rows_down(text, start, context)
        if not is_last:
            stop = _rows_up(text, stop, context)
        if start < stop and (is_first or is_last or not _is_short(text, start, stop)):
            near.append((at, start))
            at = stop
    return [(start, stop) for start, stop in (*near, (at, hunk.stop)) if start < stop]


def _rows_down(text: str, at: int, rows: int) -> int:
    for _ in range(rows):
        at = text.find("\n", at) + 1
        if text.startswith("\\", at):
            at = text.find("\n", at) + 1
    return at


def _rows_up(text: str, at: int, rows: int) -> int:
    for _ in range(rows):
        at = text.rfind("\n", 0, at - 1) + 1
        if text.startswith("\\", at):
            at = text.rfind("\n", 0, at - 1) + 1
    return at


def _is_short(text: str, start: int, stop: int) -> bool:
    size = stop - start
    return size < 2 * _GAP_CHARS and size - text.count("\n", start, stop) < _GAP_CHARS
