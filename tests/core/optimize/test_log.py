"""What a reader of a compressed log can rely on."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from ctx_core.optimize.compressors.base import Budget, Omission
from ctx_core.optimize.compressors.log import LogCompressor

_KINDS = st.sampled_from(
    [
        "INFO tick", "DEBUG poll", "WARN slow disk", "ERROR disk full on sda", "FATAL no quorum", "ok", "", "}", "    indented",
        "2024-05-01 10:00:00 INFO up", "Traceback (most recent call last):", '  File "a.py", line', "[… 12 lines]", "##[group]Run make",
        "\x1b[31mFAILED\x1b[0m test", "12%\r40%\r", "    at app.Main.run(Main.java:", "Tests: 1 failed,", "日本語 エラー",
    ]
)  # fmt: skip
_LINES = st.lists(st.one_of(st.builds("{} {}".format, _KINDS, st.integers(0, 99)), st.text(max_size=40)), max_size=60)
LOGS = _LINES.map("\n".join)
BUDGETS = st.one_of(st.none(), st.integers(8, 400))


def compress(text: str, max_tokens: int | None = None, query: str | None = None) -> str:
    return LogCompressor().compress(text, Budget(max_tokens=max_tokens), query=query).text


def counted(text: str) -> int:
    return sum(int(n.replace(",", "")) for n in re.findall(r"^\[… ([\d,]+) lines?\]$", text, re.MULTILINE))


@settings(deadline=None)
@given(LOGS, BUDGETS)
def test_never_larger_and_the_same_every_time(text: str, max_tokens: int | None) -> None:
    result = LogCompressor().compress(text, Budget(max_tokens=max_tokens))
    assert len(result.text) <= len(text)
    assert result == LogCompressor().compress(text, Budget(max_tokens=max_tokens))


@settings(deadline=None)
@given(LOGS, BUDGETS)
def test_compressing_again_changes_nothing(text: str, max_tokens: int | None) -> None:
    once = compress(text, max_tokens)
    assert compress(once, max_tokens) == once
    assert compress(once) == once or max_tokens is not None


@settings(deadline=None)
@given(_LINES.filter(lambda lines: len(lines) > 12), st.integers(8, 300))
def test_budget_is_kept_where_it_can_be(lines: list[str], max_tokens: int) -> None:
    text = "\n".join(lines)
    budget = Budget(max_tokens=max_tokens)
    out = compress(text, max_tokens)
    assert budget.fits(out) or out == text


@settings(deadline=None)
@given(
    noise=st.integers(30, 300),
    errors=st.lists(
        st.tuples(st.sampled_from("disk ledger queue mailer index".split()), st.integers(2, 9999)),
        min_size=1,
        max_size=8,
        unique=True,
    ),
    max_tokens=st.integers(40, 600),
)
def test_errors_outlive_every_line_that_is_none(noise: int, errors: list[tuple[str, int]], max_tokens: int) -> None:
    wanted = [f"ERROR {what} gave up with code {code}" for what, code in errors]
    lines = [f"INFO worker {n % 7} served request {n}" for n in range(noise)]
    for place, line in enumerate(wanted):
        lines.insert(place * noise // len(wanted), line)
    shown = compress("\n".join(lines), max_tokens).split("\n")
    assert all(line in shown for line in wanted) or not any(line.startswith("INFO") for line in shown)


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["INFO tick", "WARN slow", "ok", "", "done", "    x = 1", "ERROR no"]), min_size=1, max_size=80
    ),
    BUDGETS,
)
def test_every_line_is_kept_or_counted(lines: list[str], max_tokens: int | None) -> None:
    result = LogCompressor().compress("\n".join(lines), Budget(max_tokens=max_tokens))
    shown = [line for line in result.text.split("\n") if not line.startswith(("[…", "[log:"))]
    if result.omissions:
        assert len(shown) + counted(result.text) == len(lines)
        assert sum(it.count for it in result.omissions if it.what == "lines") == counted(result.text)
    else:
        assert result.text.split("\n") == lines


def test_repetition_is_folded_and_the_failure_is_kept() -> None:
    lines = [f"INFO request {n} served in {n * 7 % 13} ms" for n in range(500)]
    lines[250] = "ERROR cannot reach the ledger"
    assert compress("\n".join(lines)) == snapshot("""\
[log: 2 of 500 lines]
INFO request 0 served in 0 ms
[… 249 lines]
ERROR cannot reach the ledger
[… 249 lines]\
""")


def test_no_error_among_thousands_of_denials_is_missed() -> None:
    lines = [f"INFO lint pass {n}: 0 errors, 0 failed" for n in range(400)]
    lines[333] = "INFO lint pass 333: 2 errors, 0 failed"
    assert compress("\n".join(lines), 60) == snapshot("""\
INFO lint pass 0: 0 errors, 0 failed
[… 332 lines]
INFO lint pass 333: 2 errors, 0 failed
[… 65 lines]
INFO lint pass 399: 0 errors, 0 failed\
""")


def test_a_lone_segfault_in_calm_lines_is_found() -> None:
    lines = [f"INFO heartbeat {n}" for n in range(300)]
    lines[77] = "INFO kernel: worker[812]: segfault at 0 ip 00007f sp 00007f error 4"
    assert lines[77] in compress("\n".join(lines), 60)


def test_progress_stands_at_its_last_state() -> None:
    bar = "".join(f"\rfetching {n}%" for n in range(0, 101, 10))
    text = f"\x1b[32mPASS\x1b[0m unit\r\n{bar}\r\n\x1b[31m1 failed\x1b[0m, 41 passed\r\n"
    result = LogCompressor().compress(text, Budget(max_tokens=40))
    assert result.text == snapshot("""\
PASS unit
fetching 100% [… 10 states before]
1 failed, 41 passed
""")
    assert result.omissions == snapshot((Omission(what="progress states", count=10),))


def test_times_and_host_before_every_line_are_stated_once() -> None:
    lines = [f"May  4 10:{n // 60:02d}:{n % 60:02d} web-1 cron[{n}]: job {n} done" for n in range(120)]
    lines[60] = "May  4 10:01:00 web-1 kernel: Out of memory: Killed process 77 (java)"
    assert compress("\n".join(lines), 60) == snapshot("""\
[log: 2 of 120 lines, times and web-1 cut]
cron[0]: job 0 done
[… 59 lines]
kernel: Out of memory: Killed process 77 (java)
[… 59 lines]\
""")


def test_a_failing_test_comes_with_its_assertion_and_the_summary() -> None:
    log = [
        *(f"tests/test_mod_{n}.py::test_it PASSED [{n}%]" for n in range(80)),
        "=================================== FAILURES ===================================",
        "__________________________________ test_total __________________________________",
        "    def test_total():",
        ">       assert total([1, 2]) == 4",
        "E       assert 3 == 4",
        "",
        "tests/test_sum.py:9: AssertionError",
        "=========================== short test summary info ============================",
        "FAILED tests/test_sum.py::test_total - assert 3 == 4",
        "========================= 1 failed, 80 passed in 1.20s =========================",
    ]
    assert compress("\n".join(log), 160) == snapshot("""\
[log: 12 of 90 lines]
tests/test_mod_0.py::test_it PASSED [0%]
[… 78 lines]
tests/test_mod_79.py::test_it PASSED [79%]
=================================== FAILURES ===================================
__________________________________ test_total __________________________________
    def test_total():
>       assert total([1, 2]) == 4
E       assert 3 == 4

tests/test_sum.py:9: AssertionError
=========================== short test summary info ============================
FAILED tests/test_sum.py::test_total - assert 3 == 4
========================= 1 failed, 80 passed in 1.20s =========================\
""")


def test_every_failing_test_is_named() -> None:
    failed = [f"FAILED tests/test_{n}.py::test_case - AssertionError: expected {n}" for n in range(60)]
    out = compress("\n".join(["collected 900 items", *failed, "=== 60 failed, 840 passed in 9.1s ==="]))
    assert all(line in out for line in failed)


def test_a_script_that_a_runner_echoes_is_no_error() -> None:
    log = [
        "##[group]Run make test",
        "make test || { echo 'error: tests failed'; exit 1; }",
        "##[endgroup]",
        *(f"compiled unit {n}" for n in range(100)),
        "main.c:7:2: error: unknown type name 'strng'",
        "make: *** [Makefile:3: test] Error 1",
        "##[error]Process completed with exit code 2.",
        "Post job cleanup.",
    ]
    assert compress("\n".join(log), 70) == snapshot("""\
[… 100 lines]
compiled unit 97
compiled unit 98
compiled unit 99
main.c:7:2: error: unknown type name 'strng'
make: *** [Makefile:3: test] Error 1
##[error]Process completed with exit code 2.
[… 1 line]\
""")


def test_words_of_the_question_are_answered() -> None:
    lines = [f"SETTING_{n:03d}=value-{n % 9}" for n in range(200)]
    lines[120] = "FEATURE_LEDGER=off"
    assert "FEATURE_LEDGER=off" in compress("\n".join(lines), 80, query="is FEATURE_LEDGER on?")


@pytest.mark.parametrize(
    "unit", ["a", ".", "want got ", "no error 0 ", "\x1b]a", "[", "10:00:00 ", "0=aa", "\0", "\ud800"]
)
def test_a_line_of_a_megabyte_is_quoted_by_its_ends(unit: str) -> None:
    text = "INFO up\n" * 20 + unit * (2**20 // len(unit)) + "\nERROR down\n" + "INFO up\n" * 20
    out = compress(text, 300)
    assert "ERROR down" in out
    assert len(out) < 1_000


@pytest.mark.parametrize("note", ["[… , lines]", f"[… {'9' * 5_000} lines]", "[… ٣ lines]", "[log: 9 of , lines]"])
def test_what_only_looks_like_a_note_is_a_line(note: str) -> None:
    assert note[:60] in compress("\n".join([note, *["INFO up"] * 99]))


def test_many_notes_of_an_earlier_pass_are_added_up_in_linear_time() -> None:
    text = "\n".join(f"step {chr(97 + n % 26)}{n}x\n[… 3 lines]" for n in range(30_000))
    assert counted(compress(text)) >= 90_000


def test_a_long_line_keeps_its_signal_and_counts_the_rest() -> None:
    text = "INFO up\n" * 20 + "x" * 3_000 + " fatal: disk gone " + "y" * 3_000
    assert compress(text, 400) == snapshot("""\
[log: 2 of 21 lines]
INFO up
[… 19 lines]
xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx[… 2,911 chars]xxxxxxxxx fatal: disk gone yyyyyyyyyyyyy[… 2,947 chars]yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\
""")


def test_a_smaller_budget_keeps_the_true_counts() -> None:
    lines = [f"INFO step {n} of {chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(300)]
    lines[150] = "ERROR step failed"
    small = compress(compress("\n".join(lines), 300), 80)
    shown = [line for line in small.split("\n") if not line.startswith("[")]
    assert "ERROR step failed" in shown
    assert len(shown) + counted(small) == len(lines)
