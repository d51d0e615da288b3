"""How bad a line says things are, and what it denies.

Reading every line with a pattern would cost more than everything else together, so a line is first looked up word by
word in a table; only lines that hold a word of alarm are read closely.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final


class Severity(IntEnum):
    """What a line reports; higher outlives lower."""

    CALM = 0
    WARNING = 1
    SUSPECT = 2
    ERROR = 3
    VERDICT = 4


_WORDS_OF_ALARM: Final = """
error errors err fail fails failed failing failure failures fatal panic panicked exception exceptions traceback critical severe emerg emergency
alert crit abort aborted aborting segfault segmentation sigsegv sigabrt sigkill sigterm sigbus sigill killed oom oom-kill oom-killer oomkilled
crash crashed crashes crashing assert assertion corrupt corrupted corruption deadlock unhandled uncaught errno vulnerabilities vulnerability
cannot can't couldn't unable denied refused unreachable forbidden unauthorized invalid undefined unresolved unavailable mismatch mismatched
timeout timed timed-out expired conflict conflicts rejected exit exited exiting exitcode found such dubious broken bad enoent eacces econnrefused
etimedout interrupted unexpected expected received permitted accessible unsuccessfully unsuccessful violation overflow underflow core terminated
illegal unrecognized unsupported non-zero nonzero got want actual left right passed problems problem failed=0 warn warning warnings
fehler fehlgeschlagen erreur échec échoué fallo fallido errore ошибка сбой ✗ ✘ ✖ ❌ × ● e f status incorrect
""".split()
_WITHOUT_SPACES: Final = tuple(
    word.encode() for word in ("错误", "失败", "异常", "エラー", "失敗", "例外", "오류", "실패")
)
# Letters in lower case, digits gone; paths, options and identifiers stay one word, so `src/error.rs` is no error.
_TO_WORDS: Final = bytes(
    byte
    if byte >= 0x80 or byte == 0x0A
    else ord(char.lower())
    if (char := chr(byte)).isalpha() or char in "_-./'"
    else 0x20
    for byte in range(256)
)
_DIGITS: Final = b"0123456789"


class _Vocabulary(dict[bytes, bool]):
    """Says of each distinct word once whether its line wants a close reading."""

    def __missing__(self, word: bytes) -> bool:
        stem = word.strip(b"._-/'")
        alarming = stem in _ALARM or (
            b"/" not in stem
            and (_is_error_name(stem.rpartition(b".")[2]) or any(mark in stem for mark in _WITHOUT_SPACES))
        )
        self[word] = alarming
        return alarming


_ALARM: Final = frozenset(word.encode() for word in _WORDS_OF_ALARM)


def _is_error_name(word: bytes) -> bool:
    return word.isalpha() and word.endswith((b"error", b"exception", b"failure", b"warning"))


_STRONG: Final = re.compile(
    r"""(?x)
    (?<![\w./$-])(?i:errors?|err|fail(?:s|ed|ing|ures?)?|fatal|panic(?:ked)?|exceptions?|traceback|critical|severe|emerg(?:ency)?|alert|crit|abort(?:ed|ing)?
      |segfault|segmentation\ fault|sig(?:segv|abrt|kill|term|bus|ill)|killed|oom(?:-kill\w*|killed)?|crash(?:ed|es|ing)?|assertion|corrupt(?:ed|ion)?
      |deadlock|unhandled|uncaught|errno|vulnerabilit\w+)(?![\w/=(-]|\.\w)
    |\w*(?:Error|Exception|Failure)\b(?![./]\w) | [✗✘✖❌●] | (?i:out\ of\ memory|core\ dumped|timed\ out|not\ found\b|no\ such\ file|permission\ denied)
    |\b(?i:exit(?:ed|ing)?\ (?:with\ )?(?:code|status):?\ -?[1-9]) | non-?zero\ exit | undefined\ (?:reference|symbol) | unsuccessful
    |^E[ ]{2,}\S | \bgot\b.*\bwant\b | \bwant\b.*\bgot\b | ^\s*(?:Expected|Received|Actual|left|right)\b.*: | [Ff]ehler | [Ee]rreur | [ÉéEe]chec | Ошибка|ошибка
    |错误|失败|异常|エラー|失敗|例外|오류|실패 | ^[EF]/ | ^[EF]\d{4}\ | ^\s*\d+\s+\d+\s+[EF]\ 
    """
)
_WEAK: Final = re.compile(
    r"""(?ix)
    \b(?:cannot|can't|couldn't|could\ not|unable\ to|denied|refused|unreachable|forbidden|unauthorized|invalid|unresolved|unavailable|mismatch(?:ed)?|time-?out|rejected|no\ such
      |not\ (?:permitted|accessible|allowed|a\ valid|found)|dubious|broken|bad\ gateway|e(?:noent|acces|connrefused|timedout)|illegal|violation|overflow|underflow|interrupted
      |unexpected|terminated|expected\b.*\b(?:got|but|found|received|actual)|incorrect|unrecognized|unsupported|expired|conflicts?)\b
    """
)
_VERDICT: Final = re.compile(
    r"""(?ix)
    ^\s*\#\#\[error\] | ^::error | \b\d+\ (?:tests?\ |specs?\ |examples?\ )?(?:failed|failing|failures?|errors?|problems?|vulnerabilit\w+|passed)\b
    | ^test\ result:\ FAILED | ^\s*FAIL(?:ED|URE)?[!:\s] | ^\s*---\ FAIL: | build\ fail | \bexit(?:ed|ing)?\ (?:with\ )?(?:code|status):?\ -?[1-9] | tests?\ failed | unsuccessfully | ^make(?:\[\d+\])?:\ \*\*\*
    | ^npm\ ERR!\ (?:code|errno) | ^Tests?:?\s.*\bfailed | Failures:\ [1-9]
    """
)
_DENIED: Final = re.compile(
    r"""(?ix)
    (?<![\d.,])(?:0|no|zero|without(?:\ any)?|ignor(?:e|es|ed|ing)|suppress\w*|any|if)\ (?:\w+\ )?(?:errors?|fail(?:ed|ures?|ing|s)?|exceptions?|problems?|vulnerabilit\w+|conflicts?|warnings?|crash\w*|alerts?|passed)\b
    | \b(?:errors?|fail(?:ed|ures?|ing)?|exceptions?|warnings?|problems?)\s*[:=]\s*(?:0|no|none|null|nil|false|\[\]|\{\}|""|'')(?![.\d\w])
    | exit(?:ed)?\ (?:with\ )?(?:code|status):?\ 0\b | error_?(?:code|status)?[:=]\ ?0\b
    """
)
_PASSING: Final = re.compile(
    r"\.\.\. ?(?:ok|ignored|skipped|passed)\b|\b(?:PASSED|SKIPPED|XFAIL|xfailed)\b|^\s*(?:[✓✔√]|--- (?:PASS|SKIP)|ok\s|PASS\b)|\.{3,}\s*(?:Passed|Skipped|OK)\s*$"
)
_SCRIPT: Final = re.compile(
    r"^\s*(?:\++ )?(?:echo|printf|trap|print\(|logger\.|console\.|raise |throw |except\b|catch\b|assert |if |elif |return |def |#(?!#)|//|set [-+])|\|\| ?[{(]|>&2"
)
_WARNING: Final = re.compile(r"(?i)\bwarn(?:ing)?s?\b|##\[warning\]")
_COUNTS_NOTHING: Final = re.compile(
    r"(?i)(?<![\d.,])0 (?:\w+ )?(?:err|fail|prob|vuln|exc|warn)|[:=]\s*0\b|(?:code|status):? 0\b"
)


def suspicious(lines: list[str]) -> list[bool]:
    """Say of each line whether any of its words wants a close reading."""
    vocabulary = _Vocabulary()
    rows = "\n".join(lines).encode("utf-8", "surrogatepass").translate(_TO_WORDS, _DIGITS).split(b"\n")
    return [any(map(vocabulary.__getitem__, row.split())) for row in rows]


def severity(line: str) -> Severity:
    """Read one line closely: its markers, words and denials; `0 errors` is calm."""
    if _PASSING.search(line) or _SCRIPT.search(line):
        return Severity.CALM
    rest = _DENIED.sub("", line)
    if _VERDICT.search(rest):
        return Severity.VERDICT
    if _STRONG.search(rest):
        return Severity.ERROR
    if _WARNING.search(rest):
        return Severity.WARNING
    return Severity.SUSPECT if _WEAK.search(rest) else Severity.CALM


def counts_nothing(line: str) -> bool:
    """Say whether a line is calm only because its count is 0, so that the same line with another count is not."""
    return bool(_COUNTS_NOTHING.search(line))
