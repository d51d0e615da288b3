"""Sharing a budget, and the last resort that always fits."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from ctx_core.optimize.fit import clip, shares
from ctx_core.optimize.many import allot
from ctx_core.signals.severity import is_suspect
from ctx_core.tokens import TokenCounter

COUNTER = TokenCounter()
CALM = st.sampled_from(["served a berth", "tied a rope", "", "  ", "0 errors", "pilot went home"])
BAD = st.integers(0, 9).map(lambda n: f"ERROR rope {n} broke")
LINES = st.lists(CALM | BAD, min_size=1, max_size=60)
NOTE = re.compile(r"\[… (\d+) (?:lines?|characters)\]")


@given(st.lists(st.tuples(st.integers(0, 500), st.floats(0.1, 20)), max_size=12), st.integers(0, 2_000))
def test_shares_are_within_the_room_and_no_larger_than_the_need(parts, room):
    costs, weights = [cost for cost, _ in parts], [weight for _, weight in parts]
    given_out = shares(costs, weights, room)
    assert all(0 <= share <= cost for share, cost in zip(given_out, costs, strict=True))
    assert sum(given_out) <= room
    # Nobody goes hungry beside free room, but for what rounding leaves.
    assert given_out == costs or sum(given_out) >= min(room, sum(costs)) - len(costs)


def test_what_one_does_not_need_goes_to_the_others():
    assert shares([10, 100, 100], [1, 1, 1], 90) == [10, 40, 40]
    assert shares([50, 50], [3, 1], 40) == [30, 10]


def test_a_clip_keeps_the_error_and_both_ends():
    lines = [f"INFO step {n} went well" for n in range(100)]
    lines[40] = "ERROR rope 7 broke"
    assert clip("\n".join(lines), 50, counter=COUNTER).text == snapshot("""\
INFO step 0 went well
INFO step 1 went well
INFO step 2 went well
[… 37 lines]
ERROR rope 7 broke
[… 57 lines]
INFO step 98 went well
INFO step 99 went well\
""")


def test_blank_lines_are_no_loss():
    text = "rope\n\nmast\n   \n\nberth"
    assert clip(text, 30, counter=COUNTER).text == text


def test_a_clip_keeps_what_the_query_asks_for():
    lines = [f"berth {n} is free" for n in range(100)]
    lines[70] = "the mainsail is torn"
    assert "mainsail" in clip("\n".join(lines), 30, counter=COUNTER, query="what about the mainsail?").text


def test_a_long_line_loses_its_middle_in_characters():
    shown = clip("x" * 3_000 + " fatal: no rope " + "y" * 3_000, 120, counter=COUNTER)
    assert "fatal: no rope" in shown.text
    assert {omission.what for omission in shown.omissions} == {"characters"}


@given(LINES, st.integers(8, 200))
def test_counts_in_a_clip_are_true(lines, max_tokens):
    text = "\n".join(lines)
    shown = clip(text, max_tokens, counter=COUNTER)
    assert COUNTER.count(shown.text) <= max_tokens
    stated = [int(count) for count in NOTE.findall(shown.text)]
    kept = [line for line in shown.text.split("\n") if not NOTE.fullmatch(line)]
    assert len(kept) + sum(stated) == len(lines)
    assert [omission.count for omission in shown.omissions] == stated


@given(LINES, st.integers(8, 200))
def test_in_a_clip_every_error_outlives_every_line_that_is_none(lines, max_tokens):
    shown = clip("\n".join(lines), max_tokens, counter=COUNTER)
    kept = {line for line in shown.text.split("\n") if line.strip() and not NOTE.fullmatch(line)}
    errors = {line for line in lines if line.startswith("ERROR")}
    assert errors <= kept or not kept - errors


@given(st.text(max_size=3_000), st.integers(0, 100))
def test_any_text_can_be_clipped(text, max_tokens):
    shown = clip(text, max_tokens, counter=COUNTER)
    assert COUNTER.count(shown.text) <= max_tokens
    assert not text or shown.lossless == (shown.text == text)


@pytest.mark.parametrize(
    "line",
    [
        "ERROR rope 7 broke",
        "java.lang.IllegalStateException: berth taken",
        "2 tests failed, 0 errors",
        "process exited with code 137",
        "Killed",
        "connection refused",
        "数据库错误",
        "panic: index out of range",
    ],
)
def test_trouble(line):
    assert is_suspect(line)


@pytest.mark.parametrize(
    "line",
    ["", "0 errors", "Found 0 errors, 0 failures", "errors: 0", "served a berth", "without errors", "exit code 0"],
)
def test_no_trouble(line):
    assert not is_suspect(line)


@given(
    st.lists(st.sampled_from(["a rope", "ERROR " * 50, "berth " * 300, "mast " * 90]), max_size=12),
    st.integers(32, 2_000),
)
def test_what_is_allotted_is_within_the_budget(chunks, max_tokens):
    allotted = allot(
        chunks, max_tokens, floor=32, counter=COUNTER, query="which mast?", is_prose=str.isprintable, quote=str
    )
    assert sum(one.budget for one in allotted) <= max_tokens
    assert all(one.budget >= min(32, one.tokens) or one.budget == 0 or one.same_as is not None for one in allotted)
