"""Which rows of a table go first, and which stay to the end."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_core.optimize.compressors.base import Budget
from ctx_core.optimize.compressors.json import JsonCrusher
from ctx_core.optimize.compressors.rows import odd_rows, order_rows, row_costs
from ctx_core.optimize.compressors.scores import score_rows
from ctx_core.signals.severity import is_suspect
from ctx_core.tokens import TokenCounter


@pytest.mark.parametrize(
    "row",
    [
        "Connection refused",
        "exit: FAILED",
        "java.io.IOException: x",
        "KeyError in parse",
        "timed out after 3 s",
        "任务失败",
    ],
)
def test_trouble_is_recognised(row: str):
    assert is_suspect(row)


@pytest.mark.parametrize(
    "row", ["0 errors", "no failures", "error=null", "errors: []", "terror and mirrors", "Running Time 90", "all fine"]
)
def test_denied_trouble_is_none(row: str):
    assert not is_suspect(row)


def test_shares_of_start_end_and_importance_are_kept():
    rows = [f"row {i}" for i in range(1000)]
    order, urgent = order_rows(rows, [], [1] * 1000)
    first = order[:100]
    assert urgent == 0
    assert len([row for row in first if row < 32]) >= 30
    assert len([row for row in first if row >= 985]) >= 15


def test_the_middle_of_a_table_is_never_all_dropped():
    order, _ = order_rows(["x"] * 500, [["7"] * 500], [1] * 500)
    gaps = sorted(order[:60])
    assert max(b - a for a, b in pairwise(gaps)) < 90


def test_rows_that_cannot_fit_need_no_order():
    rows = [f"ship {i},{i % 7}" for i in range(2000)]
    columns = [[str(i % 7) for i in range(2000)]]
    everything, _ = order_rows(rows, columns, [5.0] * 2000)
    first, _ = order_rows(rows, columns, [5.0] * 2000, room=600)
    assert len(first) == 120
    assert first == everything[:120]


@pytest.mark.parametrize(
    "row", ["{0},{1}", "ship {0} lies at berth {1}", "2026-03-04T05:06:07Z,{0},{1},0.{0}", "船{0}停泊在{1}号泊位"]
)
def test_guessed_costs_of_rows_come_close_to_what_they_cost(row: str):
    rows = [row.format(i, i * 7919 % 1000) for i in range(500)]
    exact = TokenCounter().count("\n".join(rows))
    assert sum(row_costs(rows, TokenCounter())) == pytest.approx(exact, rel=0.1)


@pytest.mark.parametrize(
    ("column", "odd"),
    [
        ([5.0] * 50 + [99.0] + [5.0] * 49, 50),
        ([*range(40), *range(90, 150)], 40),
        ([3, 4] * 25 + [13, 14] * 25, 50),
        (["ok"] * 60 + ["moved"] + ["ok"] * 39, 60),
        (["x"] * 33 + ["null"] + ["x"] * 66, 33),
        ([f"user {i} came" for i in range(70)] + ["user 3 left"] + [f"user {i} came" for i in range(30)], 70),
    ],
)
def test_what_differs_scores_highest(column: list[object], odd: int):
    scores = score_rows([[str(cell) for cell in column]], len(column))
    assert max(range(len(scores)), key=scores.__getitem__) in (odd - 1, odd, odd + 1)


@given(st.lists(st.text(max_size=20), max_size=120), st.integers(0, 3))
def test_every_row_is_ordered_once(rows: list[str], width: int):
    order, urgent = order_rows(rows, [rows] * width, [1.0] * len(rows))
    assert sorted(order) == list(range(len(rows)))
    assert 0 <= urgent <= len(rows)
    kept = odd_rows(rows, [rows] * width, share=0.5) if len(rows) > 10 else []
    assert kept == sorted(set(kept))


def test_a_very_long_list_loses_ordinary_rows_and_named_members_lose_none():
    rows = [
        {"id": f"visit-{i}", "page": f"/shop/item/{i % 9}", "ms": 20 + i % 5, "agent": "browser 12.1"}
        for i in range(400)
    ]
    rows[211]["ms"] = 7000
    text = json.dumps(rows)
    result = JsonCrusher().compress(text, Budget())
    assert [o.what for o in result.omissions] == ["rows"]
    assert "visit-211 /shop/item/4 7000" in result.text
    assert result.text.count("visit-") + result.omissions[0].count == 400
    named = JsonCrusher().compress(json.dumps({f"m{i}": row for i, row in enumerate(rows)}), Budget())
    assert named.lossless
