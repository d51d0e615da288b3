"""JSON that is not one document alone: with words around it, several in a row, with broken lines, or cut short."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# A part shorter than this is not worth its own way.
_MIN_PART: Final = 400
_OPENING: Final = re.compile(r"\{\s*\"|\[\s*(?:[\"{\d\-]|\[\s*[\"\[{\d\-\]])")
# What stands before a document on its line: nothing, or words that introduce it.
_LEAD: Final = re.compile(r"[ \t]*\Z|.*[:=] \Z")
_LEAD_CHARS: Final = 200
_TOKEN: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|[\[\]{},]|"')
_CLOSING: Final = {"[": "]", "{": "}"}
# Attempts that fail may read so many times the text, so that no text takes more than linear time.
_PATIENCE: Final = 8
_FAILURE: Final = 256
# The outermost comma behind this share of a cut document leaves a whole row out, not a part of one.
_MOST: Final = 0.75
_MAX_RUNS: Final = 8
_MOST_LINES: Final = 0.5
_MAX_DEPTH: Final = 64
_WINDOW: Final = 1 << 14
_CUT_NOTE: Final = "\n[the JSON is cut short here; it went on:]\n"
# Only the ends of documents are asked for, so nothing is kept of what is in them.
_DECODER: Final = json.JSONDecoder(parse_int=bool, parse_float=bool, parse_constant=bool, object_pairs_hook=bool)


class Piece(NamedTuple):
    """A part of a text, and whether it is a JSON document, or lines that each are one."""

    text: str
    is_json: bool


def json_pieces(text: str) -> Iterator[Piece]:
    """Yield long JSON documents and what stands between them.

    Joined, the pieces are `text`, except that a document that was cut short is closed behind its last whole element, and what
    is left of the next one follows under a note.
    """
    if is_one_document(text):
        yield Piece(text, is_json=True)
    elif cut := _closed(text):
        yield from cut
    else:
        done = 0
        for start, end in _in_runs(text, list(_documents(text))):
            if end - start >= _MIN_PART:
                yield Piece(text[done:start], is_json=False)
                yield Piece(text[start:end], is_json=True)
                done = end
        yield Piece(text[done:], is_json=False)


def is_one_document(text: str) -> bool:
    """Say whether a parser takes all of `text`, as a document or as lines that each are an object."""
    body = text.strip()
    if body[:1] not in _CLOSING or body[-1] not in _CLOSING.values():
        return False
    if _end(body, 0) == len(body):
        return True
    lines = [line for line in map(str.strip, body.split("\n")) if line]
    joined = f"[{','.join(lines)}]"
    return all(line[0] == "{" for line in lines) and _end(joined, 0) == len(joined)


def _end(text: str, start: int) -> int:
    """Return where the document that starts at `start` ends; where there is none, minus the place at which that shows.

    An error counts the lines ahead of it, so the parser is given windows, larger ones while a document goes on.
    """
    size = _WINDOW
    while True:
        window = text[start : start + size]
        try:
            return start + _DECODER.raw_decode(window)[1]
        except json.JSONDecodeError as error:
            goes_on = error.pos > size // 2 or error.msg.startswith("Unterminated string")
            if start + size >= len(text) or not goes_on:
                return -start - error.pos
        except RecursionError:
            return -len(text)
        size *= 8


def _documents(text: str) -> Iterator[tuple[int, int]]:
    """Yield where documents start and end."""
    position, patience = 0, _PATIENCE * len(text)
    while patience > 0 and (match := _OPENING.search(text, position)) is not None:
        start = match.start()
        position = start + 1
        if not _is_led_to(text, start):
            continue
        end = _end(text, start)
        if end > 0:
            yield start, end
            position = end
        else:
            patience -= max(_FAILURE, -end - start)


def _in_runs(text: str, documents: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """Take neighbouring lines that each are an object for one, where a few runs of them are most of the text.

    Among the lines of a log they are lines of that log.
    """
    lines = [place for place in documents if text[place[0]] == "{" and text.find("\n", *place) < 0]
    runs: list[tuple[int, int]] = []
    for start, end in lines:
        if runs and text[runs[-1][1] : start].strip(" \t\r") == "\n":
            runs[-1] = runs[-1][0], end
        else:
            runs.append((start, end))
    if len(runs) > _MAX_RUNS or sum([end - start for start, end in runs]) < _MOST_LINES * len(text):
        return documents
    return sorted({*runs, *documents}.difference(set(lines).difference(runs)))


def _is_led_to(text: str, start: int) -> bool:
    if start and text[start - 1] not in " \t\n":
        return False
    head = max(0, start - _LEAD_CHARS)
    return _LEAD.match(text[max(head, text.rfind("\n", head, start) + 1) : start]) is not None


def _closed(text: str) -> tuple[Piece, Piece] | None:
    """Close a document that begins `text` and does not end behind its last whole element; None where there is none."""
    start = len(text) - len(text.lstrip("\ufeff \t\r\n"))
    if not _OPENING.match(text, start) or -_end(text, start) < len(text) // 2:
        return None
    cut = _last_comma(text, start)
    if cut is None:
        return None
    place, brackets = cut
    document = text[:place] + brackets
    if place - start < max(_MIN_PART, len(text) // 2) or _end(document, start) != len(document):
        return None
    return Piece(document, is_json=True), Piece(_CUT_NOTE + text[place + 1 :], is_json=False)


def _last_comma(text: str, start: int) -> tuple[int, str] | None:
    """Return where the last whole row of a cut document ends, and the brackets that are open there."""
    open_brackets: list[str] = []
    last: dict[int, tuple[int, str]] = {}
    end = start
    for token in _TOKEN.finditer(text, start):
        sign, end = token[0], token.start()
        if sign in _CLOSING:
            open_brackets.append(_CLOSING[sign])
        elif sign == "," and len(open_brackets) <= _MAX_DEPTH:
            last[len(open_brackets)] = end, "".join(reversed(open_brackets))
        elif sign == '"' or (sign in _CLOSING.values() and (not open_brackets or open_brackets.pop() != sign)):
            break
    late = [depth for depth, (place, _) in sorted(last.items()) if place - start >= _MOST * (end - start)]
    return last[late[0]] if late else max(last.values(), default=None)
