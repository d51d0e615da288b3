"""Cuts mixed content into parts, each of one kind, so that every part can go its own way."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.content import COMPACT_JSON, ContentType, Detection
from ctx_core.optimize.envelopes import BLOCK, opened
from ctx_core.optimize.json_parts import json_pieces
from ctx_core.optimize.python_repr import as_json
from ctx_core.optimize.rules.logs import STAMPED

if TYPE_CHECKING:
    from collections.abc import Iterator

# A part shorter than this is not worth its own way.
_MIN_PART: Final = 400
# Words someone added to something pasted: a few lines, before or after it.
_MAX_SPOKEN_LINES: Final = 12
_MAX_SPOKEN_CHARS: Final = 2_000
_LOOKED_AT: Final = 4_000

_FENCE: Final = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})([^\n`]*)\n", re.MULTILINE)
_MAY_HOLD_JSON: Final = frozenset((ContentType.TEXT, ContentType.LOG, ContentType.CONFIG))
# An alarm among lines of another kind, such as the last words of a command that printed a diff. Nothing that code would say.
_ALARM_WORDS: Final = ("ERROR", "FATAL", "CRITICAL", "SEVERE", "PANIC", "FAILURE")
_ALARM: Final = re.compile(
    rf"^(?:\[?\d[\d:.,TZ+/ -]{{4,}}\]?[ \t]+)?\[?(?:{'|'.join(_ALARM_WORDS)})(?:\]|:|[ \t]+(?![=:(,|])\S).*\n?",
    re.MULTILINE,
)
_MAY_HIDE_ALARMS: Final = frozenset((ContentType.TEXT, ContentType.CODE, ContentType.DIFF, ContentType.SEARCH))
_MAX_ALARMS: Final = 12

_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_ADDRESSED: Final = re.compile(
    r"</?[a-z][\w-]*>|(?:question|task|context|user|query|instructions?)\s*:"
    r"|(?:why|what|which|how|where|when|who|can|could|please|explain|find|fix|tell|is|are|does|did|do|should|would) \w.*\w",
    re.IGNORECASE,
)
_PRINTED: Final = re.compile(
    r"\s|[-=+#*|>$@/\\{}()\[\]0-9]|\w+[=:]\S|\S+\.\S+:|(?:[\w$]+\.)*\w*(?:Error|Exception|Failure|Warning)\b"
    r"|E {3}|(?:error|warning|note|FAIL\w*|PASS\w*|ERROR\w*|ok)\b|Caused by|Traceback|Exception in|goroutine |panic|make|npm "
)
_COLUMNS: Final = re.compile(r"\S {3,}\S|\S {2,}\S.* {2,}\S")
_DETECTED: Final = {
    "json": Detection(content_type=ContentType.JSON, language="json"),
    "jsonl": Detection(content_type=ContentType.JSON, language="jsonl"),
    "diff": Detection(content_type=ContentType.DIFF, language="diff"),
    "patch": Detection(content_type=ContentType.DIFF, language="diff"),
    "yaml": Detection(content_type=ContentType.CONFIG, language="yaml"),
    "toml": Detection(content_type=ContentType.CONFIG, language="toml"),
    "html": Detection(content_type=ContentType.MARKUP, language="html"),
    "csv": Detection(content_type=ContentType.TABLE, language="csv"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One part of a text.

    Args:
        text: The part, as it stands in the text.
        detection: What the part is, where its place says so; None leaves that to the router.
        spoken: Whether someone says this about the other parts: a question, a task. It stays whole.
    """

    text: str
    detection: Detection | None = None
    spoken: bool = False


def segments(text: str, kind: ContentType = ContentType.TEXT) -> list[Segment]:
    """Cut `text` into its parts, in order; a text of one kind is one part.

    Joined, the parts are `text` again, with three exceptions: texts that JSON wraps stand below it, JSON that was cut
    short is closed, and what Python writes of lists and dicts is spelled as JSON.

    Args:
        text: Any string.
        kind: What it looks like as a whole; JSON is only looked for between words and log lines.
    """
    if kind is ContentType.JSON and text:
        return _of_json(text)
    parts = [part for block in _blocks(text) for part in _of_block(block, kind)]
    return [part for part in parts if part.text]


def _of_json(text: str) -> list[Segment]:
    if text.startswith(COMPACT_JSON):
        return [Segment(text=text)]
    spelled = as_json(text) or text
    below = opened(spelled)
    if below is not spelled:
        return segments(below)
    if spelled is not text:
        return [Segment(text=spelled, detection=_DETECTED["json"])]
    return [part for part in _around_json(text) if part.text]


def _blocks(text: str) -> Iterator[Segment]:
    """Yield text blocks and the lines that open them."""
    done = 0
    if "[text block" in text:
        for opening in BLOCK.finditer(text):
            yield Segment(text=text[done : opening.start()])
            yield Segment(text=opening.group(), detection=_LABEL, spoken=True)
            done = opening.end()
    yield Segment(text=text[done:])


def _of_block(block: Segment, kind: ContentType) -> Iterator[Segment]:
    if block.spoken or block.text.startswith(COMPACT_JSON):
        yield block
        return
    parts = list(_fenced(block.text))
    for i, part in enumerate(parts):
        if part.detection is None:
            yield from _pasted(part.text, kind, is_first=i == 0, is_last=i == len(parts) - 1)
        else:
            yield part


def _fenced(text: str) -> Iterator[Segment]:
    """Yield what stands in long fences on its own; the lines of a fence stay with the text around it."""
    done = position = 0
    while (opening := _FENCE.search(text, position)) is not None:
        marks, language = opening.groups()
        closing = re.compile(rf"^[ \t]{{0,3}}{marks[0]}{{{len(marks)},}}[ \t]*$", re.MULTILINE).search(
            text, opening.end()
        )
        if closing is None:
            break
        position = closing.end()
        if closing.start() - opening.end() >= _MIN_PART:
            yield Segment(text=text[done : opening.end()])
            yield Segment(text=text[opening.end() : closing.start()], detection=_DETECTED.get(language.strip().lower()))
            done = closing.start()
    yield Segment(text=text[done:])


def _pasted(text: str, kind: ContentType, *, is_first: bool, is_last: bool) -> Iterator[Segment]:
    """Yield the words before and after something pasted on their own, at the ends of the whole text."""
    start = _spoken_head(text) if is_first else 0
    end = _spoken_tail(text) if is_last else len(text)
    if start >= end:
        start, end = 0, len(text)
    yield Segment(text=text[:start], detection=_LABEL, spoken=True)
    inner = text[start:end]
    for part in _around_json(inner) if kind in _MAY_HOLD_JSON else (Segment(text=inner),):
        yield from _around_alarms(part.text) if part.detection is None and kind in _MAY_HIDE_ALARMS else (part,)
    yield Segment(text=text[end:], detection=_LABEL, spoken=True)


def _around_json(text: str) -> Iterator[Segment]:
    """Yield long JSON documents that stand between other lines on their own."""
    if len(text) < _MIN_PART or STAMPED.match(text):
        yield Segment(text=text)
        return
    for piece, is_json in json_pieces(text):
        is_short = len(piece) <= _MAX_SPOKEN_CHARS and piece is not text
        yield Segment(text=piece, detection=_DETECTED["json"] if is_json else _LABEL if is_short else None)


def _around_alarms(text: str) -> Iterator[Segment]:
    """Yield a few alarms among lines of another kind on their own, so that they stay whole; many are that kind."""
    may_hold = any(word in text for word in _ALARM_WORDS)
    found = list(islice(_ALARM.finditer(text), _MAX_ALARMS + 1)) if may_hold else []
    done = 0
    for alarm in found if len(found) <= _MAX_ALARMS else ():
        if alarm.end() - alarm.start() <= _MAX_SPOKEN_CHARS:
            yield Segment(text=text[done : alarm.start()])
            yield Segment(text=alarm.group(), detection=_LABEL, spoken=True)
            done = alarm.end()
    yield Segment(text=text[done:])


def _spoken_tail(text: str) -> int:
    """Return where the words after something pasted begin: the end of `text` if there are none."""
    body = text.rstrip()
    start, position = len(text), len(body)
    for _ in range(_MAX_SPOKEN_LINES):
        line_start = body.rfind("\n", 0, position) + 1
        line = body[line_start:position]
        if line_start == 0 or len(body) - line_start > _MAX_SPOKEN_CHARS or (line.strip() and not is_spoken(line)):
            break
        start = line_start if line.strip() else start
        position = line_start - 1
    # Words all the way up: this is a text, not something pasted with words after it.
    return len(text) if start < len(text) and _is_prose(text[:start]) else start


def _spoken_head(text: str) -> int:
    """Return where the words before something pasted end: 0 if there are none."""
    end = position = 0
    for _ in range(_MAX_SPOKEN_LINES):
        line_end = text.find("\n", position)
        line = text[position:line_end]
        if not 0 <= line_end <= _MAX_SPOKEN_CHARS or (line.strip() and not is_spoken(line)):
            break
        position = line_end + 1
        end = position if line.strip() else end
    return 0 if end and _is_prose(text[end : end + _LOOKED_AT]) else end


def is_spoken(line: str) -> bool:
    """Say whether a line is addressed to a reader: a sentence or a question, and nothing a program would print."""
    if _ADDRESSED.match(line):
        return True
    if STAMPED.match(line) or _PRINTED.match(line) or line.isupper() or _COLUMNS.search(line):
        return False
    letters = sum(map(str.isalpha, line)) + line.count(" ")
    is_sentence = len(_WORD.findall(line)) >= 4 and (line[0].isupper() or line.rstrip()[-1:] in ".?!:")
    return letters >= 0.8 * len(line) and (is_sentence or any(char > "\u2e80" for char in line))


def _is_prose(text: str) -> bool:
    lines = [line for line in text[:_LOOKED_AT].split("\n") if line.strip()][:24]
    return not lines or sum(map(is_spoken, lines)) > 0.3 * len(lines)


_LABEL: Final = Detection(content_type=ContentType.TEXT, confidence=1.0)
