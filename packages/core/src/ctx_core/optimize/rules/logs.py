"""Rules for what programs print while they run: logs, test runs, builds, stack traces, diffs and search results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.content import ContentType, Detection

if TYPE_CHECKING:
    from ctx_core.optimize.rules.sample import Sample

_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_LEVEL: Final = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE|PANIC)"

# Each alternative is one family of clocks or levels, as it stands near the start of a line.
STAMPED: Final = re.compile(
    "|".join(
        (
            r"(?:\S{1,80} )?\[?\d{4}[-/.]\d\d[-/.]\d\d[T _,]\s?\d\d:\d\d",
            r"\[?\d\d[-/.]\d\d(?:[-/.]\d\d(?:\d\d)?)?[ T]\d\d:\d\d:\d\d",
            r"\d{8}-\d{1,2}:\d{1,2}:\d{1,2}",
            rf"(?:<\d+>)?\[?(?:\w{{3}},? )?{_MONTH}\s+\d{{1,2}},? (?:\d{{4}} )?\d\d:\d\d:\d\d",
            rf"\[?\d{{1,2}}[ /-]{_MONTH}[ /-]\d{{4}}[ :]\d\d:\d\d:\d\d",
            r"\S+ \S+ \S+ \[\d\d/\w{3}/\d{4}:\d\d:",
            r"[IWEF]\d{4} \d\d:\d\d:\d\d",
            r"[\[(]?\d\d:\d\d:\d\d(?:[.,]\d+)?[\])]?\s",
            rf"\d{{6}} \d{{6}} \d+ {_LEVEL}",
            r"(?:- )?1\d{9}(?:\.\d+)?[ ,]",
            r"\[\s*\d+\.\d{6}\]",
            rf"[\[<(]?{_LEVEL}[\]>):|]*(?:\s|$)",
            r"(?:\w+=\S+ )?(?:time|ts|level|lvl|severity)=\S",
        )
    )
)

# Lines that builds, tests and crashes print, whatever the language.
_PRINTED: Final = re.compile(
    "|".join(
        (
            r"(?:npm|yarn|pnpm) (?:ERR!|WARN|error|warn|notice|info|http)",
            r"##\[\w+\]|::(?:error|warning|group|endgroup)",
            r"(?:error|warning|note|help|fatal)(?:\[\w+\])?: ",
            r"\S+:\d+(?::\d+)?: (?:fatal )?(?:error|warning|note|info)\b",
            r"\S+\(\d+,\d+\): (?:error|warning) ",
            r"\[\s*\d+%\]|#\d+ (?:\d+\.\d+|CACHED|DONE|\[|sha256:|ERROR)|Step \d+/\d+ :| ---> ",
            r"make(?:\[\d+\])?: |ninja: |> Task :|\s+(?:Compiling|Downloaded|Downloading|Checking|Finished|Running|Updating|Fresh|Doc-tests) \S",
            r"(?:Collecting|Downloading|Requirement already satisfied|Installing collected|Successfully (?:installed|built)) ?\S",
            r"(?:=== (?:RUN|PAUSE|CONT|NAME)|\s*--- (?:PASS|FAIL|SKIP)|(?:ok|FAIL|PASS|\?)\s+\S+(?:\s|$))",
            r"test \S+.* \.\.\. |(?:not )?ok \d+\b|\s*[✓✔✕✗✘×●√]\s",
            r"\S+\.py(?:::\S+)? (?:PASSED|FAILED|SKIPPED|ERROR|XFAIL|[.FEsxX]+(?:\s|$))|(?:FAILED|ERROR|PASSED|SKIPPED) \S+",
            r"E {3,}|>  ? ?\s{2,}\S|[=_-]{3,} .+ [=_-]{3,}$|[=_-]{20,}$",
            r"\s*(?:Traceback \(most recent call last\)|File \"[^\"]+\", line \d+)",
            r"\s+at (?:async )?\S.*[(:]|\s*\.{3} \d+ (?:more|common frames)|\s*Caused by: ",
            r"(?:[\w$]+\.)+[A-Z]\w*(?:Exception|Error)\b|[A-Z]\w*(?:Exception|Error)(?:: |$)|Exception in thread ",
            r"goroutine \d+ \[|panic: |thread '.*' panicked at |\s+\d+: +0x[0-9a-f]+|\s*#\d+ +0x[0-9a-f]+ |\t/\S+\.go:\d+",
            r"(?:Unhandled|Uncaught|terminate called|Segmentation fault|Aborted|Killed\b)",
            r"\+ \S|\$ \S|\S*[@:]\S*[$#] ",
        )
    )
)

# One such line is enough: nothing but a test run, a build or a crash prints it at the start of a line.
_BANNER: Final = re.compile(
    r"^(?:={3,} (?:test session starts|FAILURES|ERRORS|short test summary info|warnings summary) ={3,}"
    r"|={3,} .*\b(?:passed|failed|error|errors)\b.* in [\d.]+s.* ?={3,}|=== RUN  |--- FAIL: |test result: (?:ok|FAILED)|running \d+ tests?$"
    r"|Test Suites?: +\d|Tests: +\d+ |\s*Test Files  |\[INFO\] (?:Scanning for projects|BUILD |-{10,})|\[ERROR\] (?:Failed|Tests run)|npm (?:ERR!|error) "
    r"|##\[(?:error|group|section|command|debug)\]|Traceback \(most recent call last\):|Exception in thread \"|goroutine \d+ \[\w|thread '.*' panicked at "
    r"|FAILURE: Build failed|BUILD (?:SUCCESSFUL|FAILED) in |> Task :|\s+\d+ (?:passing|failing) |Ran \d+ tests? in |error: could not compile )",
    re.MULTILINE,
)
_GIT_LOG: Final = re.compile(r"^commit [0-9a-f]{7,64}\b.*\n(?:Merge: .*\n)?Author: ", re.MULTILINE)

_DIFF: Final = re.compile(
    r"^(?:diff (?:--git|--cc|-\w+ |\S+ \S+$)|--- .+\n\+\+\+ .+\n@@ |Index: .+\n={20,}|@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@|\*\*\* .+\n--- .+\n\*{10,})",
    re.MULTILINE,
)

_HIT: Final = re.compile(
    r"(?:[A-Za-z]:\\)?[^\s:\"'(){}<>|=;,]+(?::\d+(?::\d+)?:|-\d+-)(?!\d\d(?::\d\d)?\b)|[^\s:\"'(){}<>|=;,]*/[^\s:\"'(){}<>|=;,]+:(?!//|\s*$)|--$"
)
_HIT_PATH: Final = re.compile(r"[^\s:]*(?:/|\\|\.[A-Za-z]\w{0,9}[:-]|file[:-])")
_HEADING_HIT: Final = re.compile(r"\d+[:-]|--$")
_DIAGNOSTIC: Final = re.compile(
    r"\S+?:\d+(?::\d+)?:\s*(?:fatal |internal )?(?:error|warning|note|info|undefined)\b", re.IGNORECASE
)


def diff(sample: Sample) -> Detection | None:
    """Unified, git, svn and context diffs, with or without a commit header before them."""
    match = _DIFF.search(sample.head)
    if not match:
        return None
    before = sample.head[: match.start()]
    # A diff quoted far below something else is the segmenter's business.
    if before.count("\n") > 60 or ("```" in before):
        return None
    return Detection(content_type=ContentType.DIFF, language="diff", confidence=1.0)


def printed(sample: Sample) -> Detection | None:
    """Test runs, builds and crashes, by a line that only they print or by most of their lines."""
    if _BANNER.search(sample.head) or _BANNER.search(sample.tail) or _GIT_LOG.match(sample.head):
        return Detection(content_type=ContentType.LOG, confidence=1.0)
    return None


def stamped(sample: Sample) -> Detection | None:
    """Logs, by the clock or level that most lines begin with."""
    share = sample.share(STAMPED)
    if share < 0.5:
        both = sum(1 for line in sample.lines if STAMPED.match(line) or _PRINTED.match(line))
        share = both / len(sample.lines) if sample.lines else 0.0
    if share < 0.4 or len(sample.lines) < 2:
        return None
    return Detection(content_type=ContentType.LOG, confidence=1.0 if share >= 0.5 else 0.6)


def search(sample: Sample) -> Detection | None:
    """Output of grep and ripgrep: `path:line:text`, context lines, or hits below a heading."""
    if len(sample.lines) < 2 or sample.share(_DIAGNOSTIC) > 0.3:
        return None
    hits = sum(1 for line in sample.lines if line == "--" or (_HIT.match(line) and _HIT_PATH.match(line)))
    if hits / len(sample.lines) >= 0.7 and not sample.count(STAMPED) > hits // 2:
        return Detection(content_type=ContentType.SEARCH, confidence=1.0)
    return _below_headings(sample)


def _below_headings(sample: Sample) -> Detection | None:
    numbered = sample.share(_HEADING_HIT)
    headings = [line for line in sample.lines if not _HEADING_HIT.match(line)]
    paths = sum(1 for line in headings if " " not in line and _HIT_PATH.match(line))
    if numbered >= 0.5 and headings and paths == len(headings) and not sample.share(STAMPED) > 0.3:
        return Detection(content_type=ContentType.SEARCH, confidence=0.95)
    return None
