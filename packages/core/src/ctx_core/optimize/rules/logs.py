"""Rules for what programs print while they run: logs, test runs, builds, crashes and shell sessions."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.content import ContentType, Detection

if TYPE_CHECKING:
    from ctx_core.optimize.rules.sample import Sample

_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_LEVEL: Final = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE|PANIC)"

# One family of clocks or levels a line, as they stand near the start of a log line.
STAMPED: Final = re.compile(
    rf"""(?x)
    (?:[\w.-]+\s*\|\s)?(?:\S{{1,80}}\ )?\[?\d{{4}}[-/.]\d\d[-/.]\d\d[T\ _,]\s?\d\d:\d\d
    | \[?\d\d[-/.]\d\d(?:[-/.]\d\d(?:\d\d)?)?[T\ ]\d\d:\d\d:\d\d
    | \d{{8}}-\d{{1,2}}:\d{{1,2}}:\d{{1,2}}
    | (?:<\d+>)?\[?(?:\w{{3}},?\ )?{_MONTH}\s+\d{{1,2}},?\ (?:\d{{4}}\ )?\d\d:\d\d:\d\d
    | (?:\d+:[A-Z]\ )?\[?\d{{1,2}}[\ /-]{_MONTH}[\ /-]\d{{4}}[\ :]\d\d:\d\d:\d\d
    | \S+\ \S+\ \S+\ \[\d\d/\w{{3}}/\d{{4}}:\d\d:
    | [IWEF]\d{{4}}\ \d\d:\d\d:\d\d
    | (?:[^\t\n]{{1,80}}\t){{2}}\ufeff?\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z[ ]
    | [\[(]?\d\d:\d\d:\d\d(?:[.,]\d+)?[\])]?\s
    | \d{{6}}\ \d{{6}}\ \d+\ {_LEVEL}
    | (?:\S{{1,40}}\ ){{0,5}}1\d{{9}}(?:\.\d+)?[\ ,]
    | \[\s*\d+\.\d{{6}}\]
    | [\[<(]?{_LEVEL}(?:[\]>):|]*(?:\s|$)|:\S)
    | (?:\w+=\S+\ )?(?:time|ts|level|lvl|severity)=\S
    """
)

# Lines that builds, tests, crashes and shells print, one family of programs a line.
_PRINTED: Final = re.compile(
    r"""(?x)
    (?:npm|yarn|pnpm)\ (?:ERR!|WARN|error|warn|notice|info|http)
    | \#\#\[\w+\] | ::(?:error|warning|group|endgroup)
    | (?i:error|warning|note|help|fatal)(?:\[\w+\]|\ [A-Z]+\d+)?:\s | PHP\ (?:Fatal|Warning|Notice|Parse)
    | \S+?:\d+:\d+:\ \S | \S+?:\d+:\ (?:fatal\ )?(?:error|warning|note|info)\b | \S+\(\d+,\d+\):\ (?:error|warning)\ | \s+\d+:\d+\s+(?:error|warning)\s
    | \s*-->\ \S+:\d+ | \s*\d*\s+\|\ | \s+=\ (?:note|help):
    | \[\s*\d+%\] | \#\d+\ (?:\d+\.\d+|CACHED|DONE|\[|sha256:|ERROR) | Step\ \d+/\d+\ : | \ --->\ | --\ (?:The|Detecting|Looking|Found|Check|Configuring|Generating|Build)\b
    | make(?:\[\d+\])?:\  | ninja:\  | >\ Task\ : | \s+(?:Compiling|Downloaded|Downloading|Checking|Finished|Running|Updating|Fresh|Doc-tests)\ \S
    | (?:Collecting|Downloading|Requirement\ already\ satisfied|Installing\ collected|Successfully\ (?:installed|built))\ ?\S
    | (?:Get|Hit|Ign|Err):\d+\  | [EW]:\ \S | Reading\ package\ lists | (?:Setting\ up|Unpacking|Selecting|Preparing\ to\ unpack)\ \S
    | (?:PLAY|TASK|RUNNING\ HANDLER)\ \[ | (?:ok|changed|fatal|skipping|failed):\ \[
    | ===\ (?:RUN|PAUSE|CONT|NAME) | \s*---\ (?:PASS|FAIL|SKIP) | (?:ok|FAIL|PASS|\?)\s+\S+(?:\s|$)
    | test\ \S+.*\ \.\.\.\  | (?:not\ )?ok\ \d+\b | \s*[✓✔✕✗✘×●√✖]\s
    | \S+\.py(?:::\S+)?\ (?:PASSED|FAILED|SKIPPED|ERROR|XFAIL|[.FEsxX]+(?:\s|$)) | (?:FAILED|ERROR|PASSED|SKIPPED)\ \S+
    | E\ {3,} | >\ \ ?\ ?\s{2,}\S | [=_-]{3,}\ .+\ [=_-]{3,}$ | [=_-]{20,}$
    | \s*(?:Traceback\ \(most\ recent\ call\ last\)|File\ "[^"]+",\ line\ \d+)
    | \s+at\ (?:async\ )?\S.*[(:] | \s*\.{3}\ \d+\ (?:more|common\ frames) | \s*Caused\ by:\  | \s*from\ \S+:\d+:in\  | \S+:\d+:in\ [`'’]
    | (?:[\w$]+\.)+[A-Z]\w*(?:Exception|Error)\b | [A-Z]\w*(?:Exception|Error)(?::\ |$) | Exception\ in\ thread[ ]
    | goroutine\ \d+\ \[ | panic:\  | thread\ '.*'\ panicked\ at\  | \s+\d+:\ +0x[0-9a-f]+ | \s*\#\d+\ +(?:0x[0-9a-f]+|\S+\(\d+\):)\ ? | \t/\S+\.go:\d+ | Stack\ trace:
    | (?:Unhandled|Uncaught|terminate\ called|Segmentation\ fault|Aborted|Killed\b|Program\ received\ signal)
    | .*\b\d+%.*\b[\d.]+\ ?[kKMG]?i?B/s
    | \+\ \S | \$\ \S | [\w.-]+@[\w.-]+[:\ ]\S*[$\#][ ]
    """
)

# One such line is enough: nothing but a test run, a build or a crash begins a line like this.
_BANNER: Final = re.compile(
    r"""(?mx)^(?:
    ={3,}\ (?:test\ session\ starts|FAILURES|ERRORS|short\ test\ summary\ info|warnings\ summary)\ ={3,}
    | ={3,}\ .*\b(?:passed|failed|errors?)\b.*\ in\ [\d.]+s | \d+\ (?:passed|failed)\b.*\ in\ [\d.]+s
    | ===\ RUN\ \  | ---\ FAIL:\  | test\ result:\ (?:ok|FAILED) | running\ \d+\ tests?$ | [ \t]{0,80}--->?\ \S+:\d+:\d+$
    | Test\ Suites?:\ +\d | Tests:\ +\d+\  | [ \t]{0,80}Test\ Files\ \  | \d+\ examples?,\ \d+\ failures? | TAP\ version\ \d | Ran\ \d+\ tests?\ in\  | [ \t]{1,80}\d+\ (?:passing|failing)[ ]
    | Tests\ run:\ \d+,\ Failures | \[INFO\]\ (?:Scanning\ for\ projects|BUILD\ |-{10,}) | \[ERROR\]\ (?:Failed|Tests\ run) | BUILD\ (?:SUCCESSFUL|FAILED)\ in\  | Build\ (?:FAILED|succeeded)\.
    | npm\ (?:ERR!|error)\  | >\ Task\ :\w | FAILURE:\ Build\ failed | error:\ could\ not\ compile\  | sending\ incremental\ file\ list$
    | \#\#\[(?:error|group|section|command|debug)\] | (?:PLAY|TASK)\ \[.*\]\ \*{3,} | \#\ [\w./-]+\n\S+\.go:\d+:\d+:[ ]
    | Traceback\ \(most\ recent\ call\ last\): | Exception\ in\ thread\ " | goroutine\ \d+\ \[\w | thread\ '.*'\ panicked\ at[ ]
    | [ \t]{1,80}on\ \S+\ line\ \d+(?:,|:$) | Failed\ to\ compile\.$ | [<>]\ (?:HTTP/\d|(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\ \S+\ HTTP/)
    )"""
)
_PROMPT: Final = re.compile(r"(?:[\w.-]+@[\w.-]+[:\ ]\S*)?[$#%❯] \S|(?:\(\w+\) )?\$ \S|PS [A-Z]:\\")
_GIT_LOG: Final = re.compile(r"commit [0-9a-f]{7,64}\b.*\n(?:Merge: .*\n)?Author: ")
_OVERWRITTEN: Final = re.compile(r"\r(?!\n)[^\r\n]*\r(?!\n)")

# The long pattern costs 3 us a line.
_ENOUGH: Final = 48

_MIN_LINES: Final = 8
_SENTENCE_ENDS: Final = tuple(".!?:;,。！？，؟")
_CLOSING: Final = tuple("\"')»”")
_NUMBER: Final = re.compile(r"\d+")
_ENDS: Final = (slice(2), slice(-2, None))
_ALARM: Final = re.compile(
    r"\W{0,2}(?:ERROR|FATAL|CRITICAL|WARN(?:ING)?|[Ee]rror|[Ff]atal|[Ww]arning|FAIL|FAILED|FAILURE|Traceback|panic)\b"
)


def printed(sample: Sample) -> Detection | None:
    """Test runs, builds, crashes and sessions, by a line that nothing else prints."""
    lines = sample.lines
    is_session = (
        bool(lines) and _PROMPT.match(lines[0]) and not lines[0].startswith("# ") and sample.count(_PROMPT) >= 2
    )
    if (
        is_session
        or _BANNER.search(sample.head)
        or _BANNER.search(sample.tail)
        or _GIT_LOG.match(sample.head)
        or _OVERWRITTEN.search(sample.head)
    ):
        return Detection(content_type=ContentType.LOG, confidence=1.0)
    return None


def stamped(sample: Sample) -> Detection | None:
    """Logs, by the clock, the level or the phrase of a program that most lines begin with."""
    if len(sample.lines) < 2:
        return None
    share = sample.share(STAMPED)
    if share < 0.5:
        few = sample.lines[:: 1 + len(sample.lines) // _ENOUGH]
        share = sum(1 for line in few if STAMPED.match(line) or _PRINTED.match(line)) / len(few)
    return Detection(content_type=ContentType.LOG, confidence=1.0 if share >= 0.5 else 0.6) if share >= 0.4 else None


def repetitive(sample: Sample) -> Detection | None:
    """Lines of one form that end like no sentence, or that begin with an alarm: printed, whatever prints it."""
    lines = sample.lines
    if len(lines) < _MIN_LINES or sum(map(_is_sentence, lines)) > 0.4 * len(lines):
        return None
    words = [_NUMBER.sub("0", line).split() for line in lines]
    alike = max(Counter(tuple(part[ends]) for part in words).most_common(1)[0][1] for ends in _ENDS)
    if alike >= 0.5 * len(lines) or sample.count(_ALARM) >= 2:
        return Detection(content_type=ContentType.LOG, confidence=0.85)
    return None


def _is_sentence(line: str) -> bool:
    said = line.rstrip()
    return said.endswith(_SENTENCE_ENDS) or (said.endswith(_CLOSING) and said[:-1].endswith(_SENTENCE_ENDS))
