"""The one severity: how bad a line says things are, and what it denies.

Every part that asks whether a line, a row or a sentence reports trouble asks here. `severity_of` reads one line; `is_alarm`
and `is_suspect` are its two thresholds; `severity` is the same for callers that already know the signs of the line's words.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from ctx_core.signals.vocabulary import Sign, may_report_trouble, signs_of, stems_of, words_of_alarm

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Severity(IntEnum):
    """What a line reports; higher outlives lower."""

    CALM = 0
    WARNING = 1
    SUSPECT = 2
    ALARM = 3
    ERROR = 4
    VERDICT = 5


# The patterns read a line in lower case, and only where a word of it asks for them.
_PASSING: Final = re.compile(
    r"\.\.\. ?(?:ok|ignored|skipped|passed)\b|(?:::\S+|\s>\s.+) (?:passed|skipped|xfail(?:ed)?)\b|[✓✔√]|(?<!\.)\.{3,}+\s*(?:passed|skipped|ok)\s*$"
    r"|^\s*(?:--- (?:pass|skip)|=== (?:run|pause|cont|name)|ok\s|pass\b|test result: ok)"
)
_FAILING: Final = re.compile(r"[1-9]\d* (?:\w+ )?fail|[✗✘✖❌]")
_SCRIPT: Final = re.compile(
    r"\s*(?:\++ )?(?:echo|printf|trap|print\(|logger\.|console\.|raise |throw |except\b|catch\b|assert |if |elif |return (?!code|value|status)|def |#[ !]|// |set [-+])"
)
_NOUN: Final = r"(?:errors?|fail(?:ed|ures?|ing|s)?|exceptions?|problems?|vulnerabilit\w+|conflicts?|warnings?|crash\w*|alerts?|issues?|passed)\b"
_DENIED: Final = re.compile(
    rf"(?:0(?<![\d.,]0)|\b(?:no|zero|without(?: any)?|ignor(?:e|es|ed|ing)|suppress\w*|any|if)) (?:\w+ )?{_NOUN}"
    r"|(?:errors?|fail(?:ed|ures?|ing)?|exceptions?|warnings?|problems?|code|status)(?: ?[:=] ?| )(?:0(?=$|[,;)\]}|\s])|(?:no|none|null|<?nil>?|false|\[\]|\{\}|\"\"|'')\s*(?=$|[,;)\]}|]))"
)
_SHOUTED: Final = re.compile(
    r"(?:\S+ +){0,3}?[\[<(]?(?<!\d )(?:ERROR|FATAL|SEVERE|CRITICAL|EMERG|ALERT|PANIC)[\]>):]*\s"
)
_ANY_CASE_DENIED: Final = re.compile(_DENIED.pattern, re.IGNORECASE)
_NOTHING: Final = re.compile(r"0(?<![\d.,]0)(?![\d.])|\[\]|\{\}|\"\"|''")
_NUMBER: Final = re.compile(r"[0-9]+")
_CHUNK: Final = 64
"""Texts that are looked through for stems at once."""
# Longer lines are rated by their words alone: some patterns read a line several times.
_CLOSELY: Final = 4_000
_VERDICT: Final = (
    re.compile(
        r"^\s*(?:##\[error\]|::error|not ok\b|fail(?:ed|ure)?[!:\s]|--- fail:|test result: failed|npm err! (?:code|errno)|make(?:\[\d+\])?: \*\*\*|tests?:?\s.*\bfailed)"
    ),
    re.compile(
        r"\d (?:tests? |specs? |examples? |assertions? )?(?:failed|failing|failures?|errors?|problems?|vulnerabilit\w+|issues?)\b"
    ),
    re.compile(r"exit(?:ed|ing)? (?:with )?(?:code|status):? -?[1-9]"),
    re.compile(r"build fail|tests? failed|unsuccessfully|failures?: [1-9]|(?<!\.)\.{3,}+\s*failed\s*$"),
)
_PHRASE: Final = re.compile(
    r"not found|no such |timed out|core dumped|out of memory|non-?zero|undefined: |undefined (?:reference|symbol)|got\b.*\bwant\b|want\b.*\bgot\b|bad gateway|data race|shutdown signal|signal \d|terminate called"
    r"|no space left|caused by: |\[errno \d|rate limit|permission denied|access denied|access to the resource is denied|connection refused|merge conflict|\[rejected\]|could not resolve|unknown authority|would (?:be )?reformat"
    r"|^\s*(?:expected|received|actual|left|right|got|want)\b.*:|^e {2,}\S|^e: |^[ef](?:/|\d{4} )|^\s*\d+ +\d+ +[ef] |not (?:permitted|accessible|a valid)"
    r"|expected\b.*\b(?:got|but|received|actual)\b"
)
_PASSED: Final = re.compile(r"\d (?:tests? |specs? |examples? )?passed\b|\bpassed:? +\d")
_DEBUG: Final = re.compile(
    r"(?:\S+ ){0,3}?[\[<(]?(?:debug|trace|verbose)[\]>):]?\s|.*(?:\blevel=|\"level\": ?\")(?:debug|trace|info)\b"
)
_LEVEL: Final = re.compile(
    r"(?:\S+ +){0,6}?[\[<(]?(?:error|err|fatal|severe|critical|crit|emerg|alert|panic)[\]>)!]*[: ]|(?:\S+: )?(?:\w*error|\w*exception|panic|fatal)\b|[ef](?:/|\d{4} )|\s*(?:\d+ +){0,2}[ef] |.*(?:level=|\"level\": ?\")(?:err|fatal|crit)"
)
_GRAVE: Final = re.compile(
    r"segmentation fault|segfault|core dumped|out of memory|oom-?kill|panicked|traceback|unhandled|uncaught"
)
_WARNED: Final = re.compile(r"\s*(?:\S+ +){0,3}?[\[<(]?(?:warning|warn|WARN(?:ING)?)[\]>):]*\s(?!DATA RACE)")
# A warning that quotes an error in full.
_QUOTED: Final = re.compile(r"(?:error|fatal|exception): ")
# Said to have been meant: worth a look, but no failure.
_MEANT: Final = re.compile(
    r"\bsuccessfully\b|\bas expected\b|\bcorrectly\b|\bexpected (?:panic|error|failure|exception)s?\b"
)
_NEGATION: Final = re.compile(r"\bnot\b|n't\b")
_STATUS: Final = re.compile(r"(?:\" |\bstatus(?: code)?[=:]? ?\"?|\bHTTP/?[\d.]*:? )([45])\d\d\b")


def severity(line: str, signs: int) -> Severity:
    """Read one line closely, given the signs of its words; `0 errors` is calm."""
    if len(line) > _CLOSELY:
        return Severity.ALARM if signs & Sign.STRONG else _mild(signs)
    low = line.lower()
    if _is_meant_to_be_there(line, low, signs):
        return Severity.CALM
    if signs & (Sign.STRONG | Sign.WARNING) and (signs & Sign.DENIAL or _NOTHING.search(low)) and _DENIED.search(low):
        if _SHOUTED.match(line):
            return Severity.ERROR
        rest = _ANY_CASE_DENIED.sub("", line)
        signs, low = signs_of(rest), rest.lower()
    if not signs & (Sign.STRONG | Sign.PHRASE):
        return _mild(signs)
    if any(pattern.search(low) for pattern in _VERDICT):
        return Severity.SUSPECT if _DEBUG.match(low) else Severity.VERDICT
    if not signs & Sign.STRONG and not _PHRASE.search(low):
        return max(_mild(signs), Severity.SUSPECT if _PASSED.search(low) else Severity.CALM)
    if _WARNED.match(line) and not _QUOTED.search(low):
        return Severity.WARNING
    if _is_softened(low):
        return Severity.SUSPECT
    return Severity.ERROR if _LEVEL.match(low) or _GRAVE.search(low) else Severity.ALARM


def _is_meant_to_be_there(line: str, low: str, signs: int) -> bool:
    """Say whether a line is a script's source, or reports a test that passed."""
    # A sentence may begin with `If`, a line of a script does not.
    if _SCRIPT.match(line) or "|| {" in low or ">&2" in low:
        return True
    return bool(signs & Sign.PASSING and _PASSING.search(low) and not _FAILING.search(low))


def _mild(signs: int) -> Severity:
    if signs & Sign.WARNING:
        return Severity.WARNING
    return Severity.SUSPECT if signs & Sign.WEAK else Severity.CALM


def _is_softened(low: str) -> bool:
    return bool(_DEBUG.match(low) or (_MEANT.search(low) and not _NEGATION.search(low)))


def is_passing(line: str) -> bool:
    """Say whether a line reports a test or check that passed."""
    low = line.lower()
    return bool(_PASSING.search(low)) and not _FAILING.search(low)


def of_status(line: str) -> Severity:
    """Rate the HTTP status that a line of an access log reports."""
    status = _STATUS.search(line)
    if not status:
        return Severity.CALM
    return Severity.ERROR if status[1] == "5" else Severity.WARNING


def counts_nothing(line: str) -> bool:
    """Say whether a line is calm only because its count is 0, so that the same line with another count is not."""
    return len(line) <= _CLOSELY and bool(_DENIED.search(line.lower()))


def severity_of(text: str, stems: Sequence[str] | None = None) -> Severity:
    """Return how bad `text`, a line or a sentence, says things are; `0 errors` is calm.

    Args:
        text: The line or sentence.
        stems: What `stems_of` returned for the text it stands in, if many lines of one text are asked for.
    """
    if not may_report_trouble(text, stems):
        return Severity.CALM
    signs = signs_of(_NUMBER.sub("0", text))
    return severity(text, signs) if signs else Severity.CALM


def is_alarm(text: str) -> bool:
    """Return True if `text` reports an error, a failure or a crash, and does not deny it."""
    return severity_of(text) >= Severity.ALARM


def is_suspect(text: str) -> bool:
    """Return True if `text` reports an alarm, or says that something was denied, refused, invalid or too late."""
    return severity_of(text) >= Severity.SUSPECT


def find_alarms(texts: Sequence[str], *, least: Severity = Severity.ALARM) -> Iterator[int]:
    """Yield the numbers of the texts that are at least as severe as `least`."""
    for start in range(0, len(texts), _CHUNK):
        chunk = texts[start : start + _CHUNK]
        joined = "\n".join(chunk)
        stems = stems_of(joined)
        if may_report_trouble(joined, stems):
            yield from (number for number, text in enumerate(chunk, start) if severity_of(text, stems) >= least)


def find_alarm(text: str, start: int = 0, end: int | None = None) -> int:
    """Return where the first word of alarm stands between two places of `text`; -1 where there is none."""
    found = words_of_alarm().search(text, start, len(text) if end is None else end)
    return found.start() if found else -1
