"""The rule for what people write to people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.content import ContentType, Detection

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctx_core.optimize.rules.sample import Sample

_LOOKED_AT: Final = 2_000
_MARKDOWN: Final = re.compile(
    r"(?:\A|\n\n)#{1,6} .+\n(?:\n|[^#\n])|^\[[^\]]+\]: \S|^```|\[[^\]\n]+\]\([^)\n]+\)", re.MULTILINE
)
_RST: Final = re.compile(r"^\.\. [\w-]+::|(?:^|\s):\w+:`", re.MULTILINE)
_RST_HEADING: Final = re.compile(r"^\S.*\n[=~^\"-]{4,}$", re.MULTILINE)
# Marks that belong to words, in scripts whose letters alone are not the whole of a word.
_MARKS: Final = re.compile(r"[\u0900-\u0dff\u0e31-\u0e4e\u3000-\u303f\uff00-\uffef،؛؟۔](?<!\w)")
# Signs without which the slower patterns need not look.
_MARKDOWN_SIGNS: Final = ("#", "](", "]:", "```")
_RST_SIGNS: Final = ("::", ":`")
_CODE_STARTS: Final = ("//", "/*", "*/", "#if", "#define", "#include")
_CODE_ENDS: Final = ("{", "}", ";", ")", "):")
_SENTENCE: Final = re.compile(r"\w[.!?…:;,][\s\"')»”]|[.!?…]$|[。！？、，।؟]")


def prose(sample: Sample) -> Detection | None:
    """Sentences and lists in any script, plain or with the marks of Markdown or reStructuredText."""
    head = sample.head[:_LOOKED_AT]
    if not sample.lines:
        return _of(None, 1.0)
    marks = 0 if head.isascii() else len(_MARKS.findall(head))
    share = (sum(map(str.isalpha, head)) + sum(map(str.isspace, head)) + marks) / len(head)
    if "```" not in head and sum(map(_is_code, sample.lines)) > 0.35 * len(sample.lines):
        return _of(None, 0.5)
    if share >= 0.6 and _holds(head, _RST_SIGNS) and _is_rst(head):
        return _of("rst", 0.8)
    if share >= 0.6 and _holds(sample.head, _MARKDOWN_SIGNS) and _MARKDOWN.search(sample.head):
        return _of("markdown", 0.9)
    is_list = len(sample.lines) >= 3 and not any(" " in line.strip() for line in sample.lines)
    if share >= 0.85 or (share >= 0.7 and _SENTENCE.search(head)) or is_list:
        return _of(None, 0.8)
    return _of(None, 0.5) if share >= 0.7 else None


def _is_rst(head: str) -> bool:
    """Return True for a directive, a role, or an underlined heading with a literal block after it."""
    if _RST.search(head):
        return True
    heading = _RST_HEADING.search(head)
    return heading is not None and any(line.endswith("::") for line in head[heading.end() :].split("\n"))


def _is_code(line: str) -> bool:
    return line.rstrip().endswith(_CODE_ENDS) or line.lstrip().startswith(_CODE_STARTS)


def _holds(text: str, signs: Iterable[str]) -> bool:
    return any(sign in text for sign in signs)


def _of(language: str | None, confidence: float) -> Detection:
    return Detection(content_type=ContentType.TEXT, language=language, confidence=confidence)
