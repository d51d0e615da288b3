"""Budgets: how parts share one, and the last resort that always fits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.base import Compressed, Omission
from ctx_core.tokens import whole_graphemes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctx_core.tokens import TokenCounter

_ERROR: Final = re.compile(
    r"\b(?:error|fail(?:ed|ure|ures|ing)?|fatal|exception|panic(?:ked)?|traceback|critical|severe|abort(?:ed)?|denied|segfault|sigsegv|oom|killed|exit (?:code|status) [1-9]|E\d{3,5})\b"
    r"|[a-z]Error\b|[a-z]Exception\b|错误|失败|异常|エラー|오류|ошибк",
    re.IGNORECASE,
)
_NO_ERROR: Final = re.compile(
    r"\b(?:0|no|without|zero) (?:errors?|failures?|failed|exceptions?|fatal)\b|\bfail(?:ed|ures?)[:=] ?0\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"\w{3,}")
_LINE_CHARS: Final = 400


def is_error(line: str) -> bool:
    """Say whether a line reports that something went wrong."""
    return bool(_ERROR.search(line)) and not (_NO_ERROR.search(line) and not _ERROR.search(_NO_ERROR.sub("", line)))


def query_words(query: str | None) -> frozenset[str]:
    """Return the words of a query that are worth looking for, in lower case."""
    return frozenset(word.lower() for word in _WORD.findall(query or ""))


def shares(costs: Sequence[int], weights: Sequence[float], room: int) -> list[int]:
    """Divide `room` by weight, and what a part does not need among those that need more."""
    given = [0] * len(costs)
    hungry = [i for i, cost in enumerate(costs) if cost > 0]
    left = room
    while hungry:
        unit = left / sum(weights[i] for i in hungry)
        content = [i for i in hungry if costs[i] <= unit * weights[i]]
        if not content:
            for i in hungry:
                given[i] = int(unit * weights[i])
            break
        for i in content:
            given[i] = costs[i]
            left -= costs[i]
        hungry = [i for i in hungry if i not in content]
    return given


def clip(text: str, max_tokens: int, *, counter: TokenCounter, query: str | None = None) -> Compressed:
    """Keep the lines that matter most in at most `max_tokens`, and count the others in place.

    Errors come first, then what the query asks for, then both ends. Lines are kept whole, except that very long ones lose
    their middle, at grapheme borders and counted.
    """
    lines = [_shortened(line, min(_LINE_CHARS, 2 * max_tokens)) for line in text.split("\n")]
    order = _by_importance(lines, query_words(query))[: max_tokens + 1]
    low, high = 0, len(order)
    while low < high:
        middle = (low + high + 1) // 2
        if counter.count(_with_gaps(lines, order[:middle])) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    kept = _with_gaps(lines, order[:low])
    omissions = [Omission(what="lines", count=len(lines) - low)] if low < len(lines) else []
    cut = text.count("\n") + 1 == low and kept != text
    if cut:
        omissions.append(Omission(what="characters", count=max(1, len(text) - len(kept))))
    if counter.count(kept) > max_tokens:
        return Compressed(text="", omissions=tuple(omissions))
    return Compressed(text=kept, omissions=tuple(omissions))


def _shortened(line: str, max_chars: int) -> str:
    if len(line) <= max_chars:
        return line
    head = whole_graphemes(line, max_chars * 2 // 3)
    tail = whole_graphemes(line, len(line) - max_chars // 3)
    return f"{line[:head]}[… {tail - head} characters]{line[tail:]}"


def _by_importance(lines: Sequence[str], words: frozenset[str]) -> list[int]:
    size = len(lines)
    filled = [i for i, line in enumerate(lines) if line and not line.isspace()]
    seen: set[str] = set()
    errors: list[int] = []
    for i in filled:
        if lines[i] not in seen and is_error(lines[i]):
            seen.add(lines[i])
            errors.append(i)
    asked = [i for i in filled if words and not words.isdisjoint(_WORD.findall(lines[i].lower()))]
    ends = sorted(filled, key=lambda i: min(i, size - 1 - i))
    return list(dict.fromkeys([*errors, *asked, *ends]))


def _with_gaps(lines: Sequence[str], kept: Sequence[int]) -> str:
    out: list[str] = []
    previous = -1
    for i in sorted(kept):
        if i - previous > 1:
            out.append(_gap(i - previous - 1))
        out.append(lines[i])
        previous = i
    if previous < len(lines) - 1:
        out.append(_gap(len(lines) - 1 - previous))
    return "\n".join(out)


def _gap(count: int) -> str:
    return f"[… {count} lines]" if count > 1 else "[… 1 line]"
