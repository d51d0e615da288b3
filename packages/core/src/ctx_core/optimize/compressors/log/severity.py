"""How bad a line says things are, and what it denies.

Reading every line with a pattern costs more than everything else together, so a line is first looked up word by word in
a table; only lines that hold a word of alarm are read closely.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable


class Severity(IntEnum):
    """What a line reports; higher outlives lower."""

    CALM = 0
    WARNING = 1
    SUSPECT = 2
    ERROR = 3
    VERDICT = 4


_STRONG: Final = """
error errors err fail fails failed failing failure failures fatal panic panicked exception exceptions traceback critical severe emerg emergency
alert crit abort aborted aborting segfault segmentation sigsegv sigabrt sigkill sigterm sigbus sigill killed oom oom-kill oom-killer oomkilled
crash crashed crashes crashing assert assertion assertionerror corrupt corrupted corruption deadlock unhandled uncaught errno
vulnerabilities vulnerability fehler fehlgeschlagen erreur échec échoué fallo fallido errore ошибка сбой ✗ ✘ ✖ ❌ × ● fail! err! npm-err! e f
"""
_WEAK: Final = """
cannot can't couldn't unable denied refused unreachable forbidden unauthorized invalid undefined unresolved unavailable mismatch mismatched missing
timeout timed timed-out expired conflict conflicts rejected exit exited exiting exitcode status code found such dubious broken bad
not-found enoent eacces econnrefused etimedout interrupted unexpected expected permitted accessible unsuccessfully unsuccessful violation
overflow underflow core memory terminated stopped lost illegal unrecognized unknown unsupported non-zero nonzero deprecated
"""
_WARN: Final = "warn warning warnings warn!"
_CALM, _WARNS, _CLOSELY = range(3)

_WORDS: Final = {
    **{word.encode(): _CLOSELY for word in (_STRONG + _WEAK).split()},
    **{word.encode(): _WARNS for word in _WARN.split()},
}
_SCRIPTS_WITHOUT_SPACES: Final = tuple(
    word.encode() for word in ("错误", "失败", "异常", "エラー", "失敗", "例外", "오류", "실패")
)
# Letters in lower case, digits gone; paths, options and identifiers stay one word, so `src/error.rs` is not an error.
_TO_WORDS: Final = bytes(
    ord(chr(b).lower()) if chr(b).isalnum() or b >= 0x80 or chr(b) in "_-./'!" else 0x20 for b in range(256)
).replace(b"\n", b" ")
_LINE_BREAK: Final = _TO_WORDS[:10] + b"\n" + _TO_WORDS[11:]


class _Vocabulary(dict[bytes, int]):
    """Rates each distinct word once."""

    def __missing__(self, word: bytes) -> int:
        stem = word.strip(b"._-/'!")
        rating = _WORDS.get(stem, _CALM)
        if not rating and b"/" not in stem:
            last = stem.rpartition(b".")[2]
            if (last.isalpha() and last.endswith((b"error", b"exception", b"failure"))) or any(
                mark in stem for mark in _SCRIPTS_WITHOUT_SPACES
            ):
                rating = _CLOSELY
        self[word] = rating
        return rating


_STRONGLY: Final = re.compile(
    r"""(?x)
    (?<![\w./-])(?i:errors?|err|fail(?:s|ed|ing|ures?)?|fatal|panic(?:ked)?|exceptions?|traceback|critical|severe|emerg(?:ency)?|alert|crit|abort(?:ed|ing)?|segfault|segmentation\ fault
      | sig(?:segv|abrt|kill|term|bus|ill)|killed|oom(?:-kill\w*|killed)?|crash(?:ed|es|ing)?|assert(?:ion)?|corrupt(?:ed|ion)?|deadlock|unhandled|uncaught|errno|vulnerabilit\w+)(?![\w/-]|\.\w)
    | \w*(?:Error|Exception|Failure)\b(?!\.\w) | [✗✘✖❌] | out\ of\ memory | core\ dumped | timed\ out | \bexit(?:ed|ing)?\ (?:with\ )?(?:code|status):?\ -?[1-9] | returned?\ (?:a\ )?non-?zero | not\ found\b
    | No\ such\ file | [Pp]ermission\ denied | undefined\ (?:reference|symbol) | unsuccessful
    """
)
_SUSPICIOUSLY: Final = re.compile(
    r"""(?ix)
    \b(?:cannot|can't|couldn't|unable\ to|denied|refused|unreachable|forbidden|unauthorized|invalid|unresolved|unavailable|mismatch(?:ed)?|time-?out|rejected|no\ such|not\ (?:permitted|accessible|allowed|a\ valid)
      | dubious|broken|bad\ gateway|e(?:noent|acces|connrefused|timedout)|illegal|violation|overflow|underflow|interrupted|could\ not|unexpected|terminated)\b
    """
)
_VERDICT: Final = re.compile(
    r"""(?ix)
    ^\s*\#\#\[error\] | ^::error | ^[=\s]*\d+\ (?:failed|errors?|passed)\b.*\bin\ [\d.:]+ | \b[1-9]\d*\ (?:failed|failing|failures?|errors?|problems?|vulnerabilit\w+)\b
    | ^test\ result:\ FAILED | ^\s*FAIL(?:ED|URE)?[!:\s] | ^---\ FAIL: | BUILD\ FAIL | exit(?:ed|ing)?\ (?:with\ )?(?:code|status):?\ [1-9] | ^Found\ [1-9]\d*\ error | tests?\ failed
    """
)
_DENIED: Final = re.compile(
    r"""(?ix)
    (?<![\d.])(?:0|no|zero|without|ignor(?:e|es|ed|ing)|suppress\w*|any)\ (?:\w+\ )?(?:errors?|fail(?:ed|ures?|ing)?|exceptions?|problems?|vulnerabilit\w+|conflicts?|warnings?|crash\w*|alerts?)\b
    | \b(?:errors?|fail(?:ed|ures?)|exceptions?|warnings?|problems?)\s*[:=]\s*(?:0|no|none|null|false|\[\])(?![.\d\w]) | exit(?:ed)?\ (?:with\ )?(?:code|status):?\ 0\b | error_?(?:code|status)?[:=]\ ?0\b
    """
)


def rate(lines: Iterable[str]) -> list[Severity]:
    """Rate each line by its words, its markers and its denials; `0 errors` is calm."""
    lines = list(lines)
    vocabulary = _Vocabulary()
    words = "\n".join(lines).encode("utf-8", "surrogatepass").translate(_LINE_BREAK, b"0123456789").split(b"\n")
    return [
        _closely(line)
        if (worst := max(map(vocabulary.__getitem__, row.split()), default=_CALM)) == _CLOSELY
        else Severity(worst)
        for line, row in zip(lines, words, strict=True)
    ]


def _closely(line: str) -> Severity:
    rest = _DENIED.sub("", line)
    if _STRONGLY.search(rest):
        return Severity.VERDICT if _VERDICT.search(rest) else Severity.ERROR
    if "warn" in line.lower():
        return Severity.WARNING
    return Severity.SUSPECT if _SUSPICIOUSLY.search(rest) else Severity.CALM
