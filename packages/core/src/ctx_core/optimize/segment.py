"""Cuts mixed content into parts, each of one kind, so that every part can go its own way."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.content import ContentType, Detection
from ctx_core.optimize.rules.logs import STAMPED

if TYPE_CHECKING:
    from collections.abc import Iterator

# A part shorter than this is not worth its own way.
_MIN_PART: Final = 400
# Words someone added to something pasted: a few lines, before or after it.
_MAX_SPOKEN_LINES: Final = 12
_MAX_SPOKEN_CHARS: Final = 2_000

_FENCE: Final = re.compile(r"^([ \t]{0,3})(`{3,}|~{3,})([^\n`]*)\n", re.MULTILINE)
_JSON_START: Final = re.compile(r"^[ \t]*(?=[\[{]\s*[\"\[{\d\-tfn])|(?<=[:=] )(?=[\[{]\s*[\"\[{])", re.MULTILINE)
_MAX_JSON_TRIES: Final = 16
_WORDS: Final = re.compile(r"[^\W\d_]{2,}")
_UNSPOKEN: Final = re.compile(
    r"\s|[-=+#*|>$@/\\{}()\[\]0-9]|\w+[=:]\S|\S+\.\S+:|(?:[\w$]+\.)*\w*(?:Error|Exception|Failure|Warning)\b|(?:error|warning|note|FAIL\w*|PASS\w*|ERROR\w*|ok)\b|Caused by|Traceback|Exception in|goroutine |panic|make|npm "
)
_OPENING: Final = re.compile(r"</?[a-z][\w-]*>|(?:question|task|context|user|query|instructions?)\s*:", re.IGNORECASE)
_FENCE_KINDS: Final = {
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


def segments(text: str) -> list[Segment]:
    """Cut `text` into its parts; joined, they are `text` again, and a text of one kind is one part."""
    parts = [piece for part in _fenced(text) for piece in (_unfenced(part) if part.detection is None else (part,))]
    return [part for part in parts if part.text]


def text_blocks(text: str) -> list[str] | None:
    """Return the texts inside a JSON list of text blocks, as tool protocols wrap their results; None for anything else."""
    head = text[:200].lstrip()
    if not (head.startswith("[") or head.startswith('{"content"')) or '"text"' not in head:
        return None
    try:
        blocks: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(blocks, list) or not blocks:
        return None
    texts = [_block_text(block) for block in blocks]
    return [t for t in texts if t is not None] if all(t is not None for t in texts) else None


def _block_text(block: object) -> str | None:
    if isinstance(block, dict) and block.keys() == {"type", "text"} and block["type"] == "text":
        return block["text"] if isinstance(block["text"], str) else None
    return None


def _fenced(text: str) -> Iterator[Segment]:
    """Yield what stands in long fences on its own; fence lines stay with the text around them."""
    done = position = 0
    while (opening := _FENCE.search(text, position)) is not None:
        indent, marks, language = opening.groups()
        closing = re.compile(rf"^[ \t]{{0,3}}{re.escape(marks[0])}{{{len(marks)},}}[ \t]*$", re.MULTILINE).search(
            text, opening.end()
        )
        if closing is None:
            break
        position = closing.end()
        if closing.start() - opening.end() >= _MIN_PART:
            yield Segment(text=text[done : opening.end()])
            yield Segment(
                text=text[opening.end() : closing.start()],
                detection=_FENCE_KINDS.get(language.strip().lower()),
                spoken=False,
            )
            done = closing.start()
    yield Segment(text=text[done:])


def _unfenced(part: Segment) -> Iterator[Segment]:
    text = part.text
    start, end = _spoken_head(text), _spoken_tail(text)
    if start >= end:
        start, end = 0, len(text)
    yield Segment(text=text[:start], spoken=True)
    yield from _around_json(text[start:end])
    yield Segment(text=text[end:], spoken=True)


def _around_json(text: str) -> Iterator[Segment]:
    """Yield long JSON values that stand between other lines on their own."""
    if text[:1] in "[{" or len(text) < _MIN_PART or STAMPED.match(text):
        yield Segment(text=text)
        return
    done = position = tries = 0
    decoder = json.JSONDecoder()
    while tries < _MAX_JSON_TRIES and (match := _JSON_START.search(text, position)) is not None:
        tries += 1
        try:
            _, position = decoder.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            position = match.end() + 1
            continue
        if position - match.end() >= _MIN_PART:
            yield Segment(text=text[done : match.end()])
            yield Segment(text=text[match.end() : position], detection=_FENCE_KINDS["json"])
            done, tries = position, 0
    yield Segment(text=text[done:])


def _spoken_tail(text: str) -> int:
    """Return where the words after something pasted begin: the end of `text` if there are none."""
    body = text.rstrip()
    start = len(text)
    position = len(body)
    for _ in range(_MAX_SPOKEN_LINES):
        line_start = body.rfind("\n", 0, position) + 1
        if line_start == 0 or len(body) - line_start > _MAX_SPOKEN_CHARS:
            break
        line = body[line_start:position]
        if line.strip() and not is_spoken(line):
            break
        if line.strip():
            start = line_start
        position = line_start - 1
    # Words all the way up: the text is not something pasted with words after it.
    return len(text) if _is_prose(text[:start]) else start


def _spoken_head(text: str) -> int:
    """Return where the words before something pasted end: 0 if there are none."""
    end = position = 0
    for _ in range(_MAX_SPOKEN_LINES):
        line_end = text.find("\n", position)
        if line_end < 0 or line_end > _MAX_SPOKEN_CHARS:
            break
        line = text[position:line_end]
        if line.strip() and not is_spoken(line):
            break
        position = line_end + 1
        if line.strip():
            end = position
    return 0 if _is_prose(text[end:]) else end


def is_spoken(line: str) -> bool:
    """Say whether a line is addressed to a reader: words in a sentence, and nothing a program would print."""
    if _OPENING.match(line):
        return True
    if STAMPED.match(line) or _UNSPOKEN.match(line):
        return False
    letters = sum(1 for char in line if char.isalpha() or char == " ")
    return letters >= 0.8 * len(line) and (len(_WORDS.findall(line)) >= 4 or any(ord(char) > 0x2E80 for char in line))


def _is_prose(text: str) -> bool:
    lines = [line for line in text[:4_000].split("\n") if line.strip()][:30]
    return not lines or sum(map(is_spoken, lines)) > 0.3 * len(lines)
