"""What a provider wants together stays or leaves together, whatever the budget."""

import pytest

from ctx_core import ContextEngine, Evictor, Message
from ctx_core.provider_rules import PROVIDER_RULES, takes_only_results, thinking_opener
from ctx_core.rehydrate.pairs import groups_of

LONG = "The committee met and discussed the budget of the harbour at length. " * 12


def asked(n):
    return Message(role="user", content=f"Question {n}. {LONG}", id=f"q{n}")


def said(*blocks, **fields):
    return Message(role="assistant", content=list(blocks), **fields)


def text(n):
    return {"type": "text", "text": f"{n}: {LONG}"}


def bound_pairs():
    """Yield, for each row of each table, two messages that it binds."""
    for provider, rules in PROVIDER_RULES.items():
        for call, key in rules.calls.items():
            if rules.results:
                result, result_key = next(
                    (r, k) for r, k in rules.results.items() if r.startswith(call.partition("_")[0][:4])
                )
                yield pytest.param((call, key), (result, result_key), "user", id=f"{provider}-{call}")
        for call, key in rules.server_calls.items():
            if rules.server_results:
                for result, result_key in rules.server_results.items():
                    yield pytest.param((call, key), (result, result_key), "assistant", id=f"{provider}-{call}-{result}")


@pytest.mark.parametrize(("call", "result", "role"), list(bound_pairs()))
def test_a_call_and_its_result_are_one_group(call, result, role):
    makes = said({"type": call[0], call[1]: "ref"})
    answers = Message(role=role, content=[{"type": result[0], result[1]: "ref"}])
    assert groups_of([asked(0), makes, asked(1), answers]) == [[0], [1, 3], [2]]


def test_bedrocks_blocks_are_bound_by_their_only_key():
    makes, answers = (
        said({"toolUse": {"toolUseId": "t", "name": "f"}}),
        Message(role="user", content=[{"toolResult": {"toolUseId": "t"}}]),
    )
    assert groups_of([makes, answers]) == [[0, 1]]


def test_a_call_of_a_program_stays_with_the_program():
    program = said(
        {"type": "server_tool_use", "id": "s", "name": "code_execution"},
        {"type": "tool_use", "id": "c", "caller": {"type": "code_execution", "tool_id": "s"}},
    )
    result = Message(role="user", content=[{"type": "tool_result", "tool_use_id": "c", "content": "1"}])
    second = said({"type": "tool_use", "id": "d", "caller": {"type": "code_execution", "tool_id": "s"}})
    done = said({"type": "code_execution_tool_result", "tool_use_id": "s"}, text(1))
    assert groups_of([asked(0), program, result, second, done]) == [[0], [1, 2, 3, 4]]
    assert takes_only_results([asked(0), program, result])
    assert not takes_only_results([asked(0), program, result, second, done, asked(1)])


@pytest.mark.parametrize(
    "last",
    [{"type": "reasoning", "id": "rs"}, {"type": "server_tool_use", "id": "s", "name": "web_search"}],
    ids=["reasoning", "paused"],
)
def test_what_is_not_finished_stays_with_what_goes_on(last):
    assert groups_of([asked(0), said(text(0), last), said(text(1)), asked(1)]) == [[0], [1, 2], [3]]


def thinking(n, *, signed):
    opened = [{"type": "thinking", "thinking": "I look it up.", "signature": f"S{n}"}] if signed else []
    return said(
        *opened,
        {"type": "tool_use", "id": f"c{n}", "name": "f", "input": {}},
        tool_calls=[{"id": f"c{n}", "name": "f", "args": {}}],
    )


@pytest.mark.parametrize("budget", [600, 1200, 2400])
@pytest.mark.parametrize("interleaved", [False, True])
def test_the_turn_in_progress_keeps_the_thinking_it_began_with(budget, interleaved):
    turn = [
        part
        for n in range(12)
        for part in (
            thinking(n, signed=interleaved or n == 0),
            Message(role="tool", content=LONG, tool_call_id=f"c{n}"),
        )
    ]
    for messages in (
        Evictor(keep_recent=2).evict([asked(0), *turn], max_tokens=budget).messages,
        ContextEngine().prepare([asked(0), *turn], max_tokens=budget).messages,
    ):
        start = max(at for at, message in enumerate(messages) if message.role == "user")
        first = next(message for message in messages[start:] if message.role == "assistant")
        assert first.content[0]["type"] == "thinking"
        assert first.content[0]["signature"].startswith("S")


def test_where_each_message_thinks_any_may_come_first():
    assert thinking_opener([asked(0), thinking(0, signed=True), thinking(1, signed=True)]) is None
    assert thinking_opener([asked(0), thinking(0, signed=True), thinking(1, signed=False)]) == 1
