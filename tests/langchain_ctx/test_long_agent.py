"""An agent of 60 steps on a SQLite checkpointer: within budget, legal, nothing out of reach, and it goes on where it stopped."""

import importlib.util
import sys
from pathlib import Path

import pytest

from langchain_ctx.testing.order import assert_legal_order

_PATH = Path(__file__).parents[2] / "bench" / "bench_langchain.py"


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("bench_langchain", _PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_langchain"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def outputs(bench):
    return bench.made_up()


@pytest.fixture(scope="module")
def run(bench, outputs):
    return bench.run_agent(outputs, bench.SYSTEMS["ContextMiddleware"])


def test_every_prompt_is_within_the_budget_and_legal(bench, run):
    assert len(run.prompts) == 61
    for prompt in run.prompts:
        assert bench.tokens_of(prompt) <= bench.BUDGET
        assert_legal_order(prompt)


def test_every_fact_is_shown_or_one_call_away(bench, outputs, run):
    assert bench.reachable(outputs, run)[1] == 1.0


def test_the_cache_serves_nearly_what_a_prompt_without_a_clock_gets(bench, outputs, run):
    clock_free = bench.served_share(bench.run_agent(outputs, list, clock=False).prompts)
    assert bench.served_share(run.prompts) >= 0.9 * clock_free


def test_it_goes_on_the_same_from_its_checkpoint(bench, outputs, run):
    again = bench.run_agent(outputs, bench.SYSTEMS["ContextMiddleware"], stop_at=33)
    assert [bench.flat(prompt) for prompt in again.prompts] == [bench.flat(prompt) for prompt in run.prompts]


def test_the_alternatives_lose_more_for_about_as_many_tokens(bench, outputs, run):
    ours = sum(map(bench.tokens_of, run.prompts))
    for name in ("SummarizationMiddleware", "ContextEditingMiddleware"):
        other = bench.run_agent(outputs, bench.SYSTEMS[name])
        assert bench.reachable(outputs, other)[1] < 0.5
        assert sum(map(bench.tokens_of, other.prompts)) > 0.8 * ours
