"""What a reader of a compressed log can rely on."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctx_core.optimize.compressors.base import Budget
from ctx_core.optimize.compressors.log import LogCompressor

_WORDS = st.sampled_from(
    [
        "INFO tick",
        "DEBUG poll",
        "WARN slow disk",
        "ERROR disk full on sda",
        "FATAL no quorum",
        "ok",
        "",
        "2024-05-01 10:00:00 INFO up",
        "Traceback (most recent call last):",
    ]
)
LINES = st.lists(st.one_of(st.builds("{} {}".format, _WORDS, st.integers(0, 99)), st.text(max_size=40)), max_size=60)
LOGS = LINES.map("\n".join)


def compress(text: str, max_tokens: int | None = None, query: str | None = None) -> str:
    return LogCompressor().compress(text, Budget(max_tokens=max_tokens), query=query).text


def counted(text: str) -> int:
    return sum(int(n.replace(",", "")) for n in re.findall(r"^\[… ([\d,]+) lines?\b", text, re.MULTILINE))


@settings(deadline=None)
@given(LOGS, st.one_of(st.none(), st.integers(16, 400)))
def test_never_larger_never_over_budget_never_an_exception(text: str, max_tokens: int | None) -> None:
    budget = Budget(max_tokens=max_tokens)
    result = LogCompressor().compress(text, budget)
    assert len(result.text) <= len(text)
    assert result == LogCompressor().compress(text, budget)


@settings(deadline=None)
@given(LOGS, st.one_of(st.none(), st.integers(60, 400)))
def test_compressing_again_changes_nothing(text: str, max_tokens: int | None) -> None:
    once = compress(text, max_tokens)
    assert compress(once, max_tokens) == once


def test_every_line_is_kept_or_counted() -> None:
    lines = [f"INFO request {n} served in {n * 7 % 13} ms" for n in range(500)]
    lines[250] = "ERROR cannot reach the ledger"
    out = compress("\n".join(lines))
    kept = [line for line in out.split("\n") if line in lines]
    assert "ERROR cannot reach the ledger" in kept
    assert len(kept) + counted(out) == len(lines)


@pytest.mark.parametrize("max_tokens", [60, 120, 400])
def test_budget_is_respected(max_tokens: int) -> None:
    text = "\n".join(f"ERROR {chr(65 + n % 26)}{chr(97 + n // 26)} broke at step {n}" for n in range(600))
    budget = Budget(max_tokens=max_tokens)
    assert budget.counter.count(compress(text, max_tokens)) <= max_tokens
