"""Which lines of compilers, test runners, clusters and services are read as trouble, and which are not."""

from __future__ import annotations

import pytest

from ctx_core.optimize.compressors.log.templates import mine
from ctx_core.signals.severity import Severity, is_alarm, is_suspect, severity
from ctx_core.signals.vocabulary import may_report_trouble

_VERDICTS = """
##[error]Process completed with exit code 1.
FAIL  src/cart.test.ts (5.2 s)
Tests:       1 failed, 41 passed, 42 total
=== 1 failed, 41 passed in 3.21s ===
FAILED tests/test_a.py::test_x - assert 1 == 2
not ok 7 - sums the ledger
--- FAIL: TestAdd (0.00s)
test result: FAILED. 3 passed; 1 failed; 0 ignored
[INFO] BUILD FAILURE
BUILD FAILED in 12s
make[2]: *** [main.o] Error 1
Found 2 errors in 2 files.
✖ 2 problems (1 error, 1 warning)
3 vulnerabilities found
Trim Trailing Whitespace.................................................Failed
Process finished with exit code 137 (interrupted by signal 9: SIGKILL)
error Command failed with exit code 1.
12 examples, 1 failure
"""

_ERRORS = """
src/a.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'.
error[E0425]: cannot find value `x` in this scope
main.c:5:10: fatal error: foo.h: No such file or directory
[ERROR] Failed to execute goal: there are test failures
ERROR: null
E       assert 1 == 2
panic: runtime error: index out of range
Segmentation fault (core dumped)
Out of memory: Killed process 1234 (java)
thread 'main' panicked at src/lib.rs:10:9:
Traceback (most recent call last):
AssertionError: expected 3 to be 4
E0607 12:34:56.789012       1 controller.go:123] boom
 1702  8671 E PowerManager: bad wakelock
npm ERR! ERESOLVE unable to resolve dependency tree
time="10:00" level=error msg="boom"
Exception in thread "main" java.lang.IllegalStateException: x
"""

_ALARMS = """
Killed
/usr/bin/ld: cannot find -lfoo: No such file or directory
undefined reference to `foo()'
bash: foo: command not found
sh: 1: pnpm: not found
No space left on device
connect ECONNREFUSED 127.0.0.1:5432
Permission denied (publickey).
CrashLoopBackOff
    add_test.go:12: got 3 want 4
    Expected: 3
Caused by: java.io.IOException: y
  ● Cart › adds an item
gh: Resource not accessible by integration (HTTP 403)
would reformat src/a.py
./main.go:12:2: undefined: foo
错误: 磁盘已满
Fehler beim Schreiben
"""

_CALM = """
INFO lint pass 3: 0 errors, 0 failed
[INFO] Tests run: 12, Failures: 0, Errors: 0, Skipped: 0
found 0 vulnerabilities
Success: no issues found in 12 source files
tests/test_a.py::test_error_is_raised PASSED [ 50%]
test error::at_rule_error ... ok
--- PASS: TestFailover (0.00s)
=== RUN   TestErrorHandling
Check for failed merges..................................................Passed
Process completed with exit code 0.
   Compiling thiserror v1.0.50
copying src/errors/panic.rs
  echo "error: no compiler"
trap "$on_err" ERR
level=info msg="all good" errors=0
GET /errors/list 200
✓ rejects invalid input with an error
"""


def rated(line: str) -> Severity:
    return mine([line])[0].severity


def _rows(text: str) -> list[str]:
    return text.strip("\n").split("\n")


@pytest.mark.parametrize("line", _rows(_VERDICTS))
def test_a_verdict(line: str) -> None:
    assert rated(line) is Severity.VERDICT


@pytest.mark.parametrize("line", _rows(_ERRORS))
def test_an_error(line: str) -> None:
    assert rated(line) is Severity.ERROR


@pytest.mark.parametrize("line", _rows(_ALARMS))
def test_an_alarm(line: str) -> None:
    assert rated(line) is Severity.ALARM


@pytest.mark.parametrize("line", _rows(_CALM))
def test_no_trouble(line: str) -> None:
    assert rated(line) is Severity.CALM


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("npm WARN deprecated har-validator@5.1.5", Severity.WARNING),
        ("  14:1   warning  'errors' is missing a key", Severity.WARNING),
        ("WARNING: DATA RACE", Severity.ALARM),
        ("DEBUG cache: failed to read index, rebuilding", Severity.SUSPECT),
        ("ledger_test.go:9: bad input rejected with error as expected", Severity.SUSPECT),
        ("===== 41 passed in 3.2s =====", Severity.SUSPECT),
    ],
)
def test_shades_between(line: str, expected: Severity) -> None:
    assert rated(line) is expected


def test_the_same_line_with_another_count_or_status_is_another_template() -> None:
    log = [f"INFO pass {n}: 0 errors" for n in range(9)] + ["INFO pass 9: 4 errors"]
    log += [f'GET /a/{n} HTTP/1.1" 200 17' for n in range(9)] + ['GET /a/9 HTTP/1.1" 503 17']
    assert [(it.severity.name, it.count) for it in mine(log)] == [
        ("CALM", 9),
        ("VERDICT", 1),
        ("CALM", 9),
        ("ERROR", 1),
    ]


def test_a_very_long_line_is_rated_by_its_words_alone() -> None:
    assert rated("want got " * 200_000) is Severity.CALM
    assert rated("x " * 4_000 + "error") is Severity.ALARM
    assert severity("", 0) is Severity.CALM


@pytest.mark.parametrize("line", [*_VERDICTS.split("\n")[1:-1], *_ERRORS.split("\n")[1:-1]])
def test_the_gate_lets_through_every_line_that_reports_trouble(line):
    assert is_alarm(line)
    assert may_report_trouble(f"calm\n{line}\ncalm")


def test_a_missing_file_is_an_alarm_and_a_count_of_nothing_is_none():
    assert is_alarm("ls: foo: No such file or directory")
    assert not is_suspect("0 errors, 0 warnings")
    assert is_suspect("access to /srv was denied")
