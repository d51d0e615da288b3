import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from ctx_core.errors import InvalidInput
from ctx_core.messages import Message, message_tokens
from ctx_core.rehydrate.evict import Evictor
from ctx_core.rehydrate.pairs import MISSING_RESULT, call_ids, repair_tool_pairs, result_ids
from ctx_core.rehydrate.summary import TAG, first_sentence
from ctx_core.rehydrate.windows import DEFAULT_CONTEXT_TOKENS, context_tokens
from ctx_core.testing.sessions import assert_legal
from ctx_core.tokens import TokenCounter

COUNTER = TokenCounter()
WORDS = "valve seal rotor pump gasket flange bearing torque pressure supplier".split()


def say(role, text, **fields):
    return Message(role=role, content=text, **fields)


@st.composite
def windows(draw):
    """A legal agent session: a system prompt, then user turns, answers, and calls whose results may come in any order."""
    messages = [say("system", "You count stock."), say("user", "TASK: count all bins.", id="task")]
    for step in range(draw(st.integers(1, 12))):
        text = " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=0, max_size=40)))
        calls = [{"id": f"c{step}-{at}", "name": "bin", "arguments": "{}"} for at in range(draw(st.integers(0, 3)))]
        messages.append(say("assistant", f"{text}.", tool_calls=calls, id=f"a{step}"))
        late = draw(st.permutations(calls))
        messages += (say("tool", text, tool_call_id=call["id"], id=f"r{call['id']}") for call in late)
        if draw(st.booleans()):
            messages.append(say("assistant", "Done.", id=f"d{step}")) if calls else None
            messages.append(say("user", f"and {text}?", id=f"u{step}"))
    return messages


@given(windows(), st.integers(0, 600), st.integers(0, 8))
def test_whatever_the_budget_no_provider_rule_breaks_and_nothing_is_lost(messages, budget, keep_recent):
    before = pickle.dumps(messages)
    out = Evictor(keep_recent=keep_recent).evict(messages, max_tokens=budget)
    assert pickle.dumps(messages) == before
    total = sum(message_tokens(message, COUNTER) for message in out.messages)
    assert out.tokens_after == total
    assert out.fits == (total <= budget)
    assert out.fits or out.reason
    assert total <= max(budget, out.tokens_before)
    if messages[-1].role != "assistant" or not messages[-1].tool_calls:
        assert_legal(out.messages)
    # Every message is either still there or among those that left, each in its order.
    ids = [message.id for message in messages]
    kept = [message.id for message in out.messages if message.id]
    gone = [message.id for message in out.evicted]
    assert sorted([*filter(None, ids)]) == sorted([*kept, *gone])
    assert gone == [one for one in ids if one in set(gone)]
    assert [messages[at].id for at in out.positions] == gone
    assert out.messages[0] == messages[0]
    assert any("TASK: count all bins." in message.text for message in out.messages)
    latest = [message for message in messages if message.role == "user"][-1]
    assert any(latest.text in message.text for message in out.messages)
    assert {message.id for message in messages[len(messages) - keep_recent :] if message.id} <= set(kept)


@given(windows(), st.integers(100, 400))
def test_evicting_again_and_again_stacks_no_notes(messages, budget):
    evictor = Evictor(keep_recent=2)
    window = messages
    for _ in range(3):
        window = evictor.evict(window, max_tokens=budget).messages
        window = (
            [*window, say("assistant", "more " * 30), say("user", "go on")] if window[-1].role == "user" else window
        )
    assert sum(message.text.count(f"<{TAG}>") for message in window) <= 2


def test_a_window_that_fits_is_untouched():
    messages = [say("user", "hi")]
    out = Evictor().evict(messages, model="gpt-4o")
    assert out.messages == messages
    assert (out.evicted, out.summary, out.fits, out.reason) == ([], "", True, None)


def test_the_note_says_what_left_and_keeps_the_newest_lines():
    messages = [say("user", "Sort the bins.")]
    for number in range(30):
        messages += [say("assistant", f"Bin {number} holds, e.g. valves. And more. " * 6), say("user", "next")]
    out = Evictor(keep_recent=2).evict(messages, max_tokens=900)
    assert out.fits
    lines = out.summary.split("\n")
    assert lines[1].startswith(f"{len(out.evicted)} earlier messages left this window and are archived.")
    assert lines[-2] == snapshot("- assistant: Bin 21 holds, e.g. valves.")
    assert not any("Bin 0 " in line for line in lines)


def test_parallel_calls_and_late_results_leave_together():
    call = [{"id": "c1", "name": "bin", "arguments": "{}"}, {"id": "c2", "name": "bin", "arguments": "{}"}]
    messages = [
        say("user", "check bins"),
        say("assistant", "", tool_calls=call),
        say("tool", "A" * 4000, tool_call_id="c2"),
        say("tool", "B" * 4000, tool_call_id="c1"),
        say("assistant", "both full"),
        say("user", "thanks, and now?"),
    ]
    out = Evictor(keep_recent=1).evict(messages, max_tokens=120)
    assert [call_ids(m) for m in out.messages if call_ids(m)] == []
    assert [m for m in out.messages if m.role == "tool"] == []
    assert out.fits


def test_anthropic_blocks_leave_as_pairs_and_thinking_stays_whole():
    thinking = {"type": "thinking", "thinking": "hm", "signature": "xyz"}
    messages = [
        say("user", "weigh it"),
        say("assistant", [thinking, {"type": "tool_use", "id": "t1", "name": "weigh", "input": {}}]),
        say("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "W" * 6000}]),
        say("assistant", [thinking, {"type": "text", "text": "done"}]),
        say("user", "and the other?"),
        say("assistant", [thinking, {"type": "tool_use", "id": "t2", "name": "weigh", "input": {}}]),
        say("user", [{"type": "tool_result", "tool_use_id": "t2", "content": "ok"}]),
    ]
    out = Evictor(keep_recent=1).evict(messages, max_tokens=400)
    assert out.fits
    assert [ref for m in out.messages for ref in result_ids(m)] == ["t2"]
    assert out.messages[-2] == messages[-2]
    assert_legal(out.messages)


def test_the_same_call_id_used_again_is_another_call():
    call = [{"id": "call_0", "name": "bin", "arguments": "{}"}]
    messages = [say("user", "go")]
    for number in range(6):
        messages += [say("assistant", "", tool_calls=call), say("tool", f"{number} " * 200, tool_call_id="call_0")]
    out = Evictor(keep_recent=2).evict(messages, max_tokens=700)
    assert out.fits
    assert_legal(out.messages)


def test_the_hosts_own_object_survives():
    source = object()
    messages = [
        say("user", "task " * 50, source=source),
        say("assistant", "x " * 900),
        say("assistant", "y"),
        say("user", "go"),
    ]
    out = Evictor(keep_recent=1).evict(messages, max_tokens=300)
    assert out.messages[0].source is source


def test_it_says_why_it_cannot_fit():
    out = Evictor(keep_recent=2).evict([say("system", "rule " * 500), say("user", "go")], max_tokens=100)
    assert not out.fits
    assert out.reason == snapshot(
        "what may not leave (system messages, the task, the last 2 messages and the tool calls they belong to) takes 510 of 100 tokens"
    )


@pytest.mark.parametrize("bad", [{"target_utilization": 0}, {"target_utilization": 1.5}, {"keep_recent": -1}])
def test_settings_that_cannot_be_right_are_refused(bad):
    with pytest.raises(InvalidInput):
        Evictor(**bad)


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("gpt-4o-mini", 128_000),
        ("gpt-4-0613", 8_192),
        ("anthropic/claude-sonnet-4-5", 200_000),
        ("o3-mini", 200_000),
        ("gemini-2.5-pro", 1_048_576),
        ("no-such-model", DEFAULT_CONTEXT_TOKENS),
        (None, DEFAULT_CONTEXT_TOKENS),
    ],
)
def test_windows_of_models(model, tokens):
    assert context_tokens(model) == tokens
    assert Evictor().budget(model) == int(tokens * 0.75)


def test_first_sentences_do_not_end_at_abbreviations_or_numbers():
    assert first_sentence("Use a tool, e.g. a wrench. Then stop.") == "Use a tool, e.g. a wrench."
    assert first_sentence("1. Open it. 2. Close it.") == "1. Open it."
    assert first_sentence("打开阀门。然后关闭。") == "打开阀门。"
    assert first_sentence("word " * 100).endswith("…")


def test_results_without_calls_and_calls_without_results_are_repaired():
    messages = [
        say("tool", "stray", tool_call_id="gone"),
        say("user", "go"),
        say("assistant", "", tool_calls=[{"id": "c1", "name": "bin"}, {"id": "c2", "name": "bin"}]),
        say("user", "wait"),
        say("tool", "seven", tool_call_id="c1"),
        say("assistant", "fine"),
        say("assistant", "", tool_calls=[{"id": "c3", "name": "bin"}]),
    ]
    repaired = repair_tool_pairs(messages)
    assert [(m.role, m.text) for m in repaired] == [
        ("user", "go"),
        ("assistant", ""),
        ("tool", "seven"),
        ("tool", MISSING_RESULT),
        ("user", "wait"),
        ("assistant", "fine"),
        ("assistant", ""),
    ]


@given(st.lists(st.sampled_from(["u", "a", "c1", "c2", "c1c2", "r1", "r2", "r9"]), max_size=12))
def test_repairing_twice_changes_nothing(shape):
    messages = []
    for kind in shape:
        if kind[0] == "r":
            messages.append(say("tool", kind, tool_call_id=f"c{kind[1]}"))
        elif kind[0] == "c":
            refs = [kind[at : at + 2] for at in range(0, len(kind), 2)]
            messages.append(say("assistant", "", tool_calls=[{"id": ref, "name": "bin"} for ref in refs]))
        else:
            messages.append(say({"u": "user", "a": "assistant"}[kind], kind))
    once = repair_tool_pairs(messages)
    assert repair_tool_pairs(once) == once
    known = set()
    for message in once:
        assert set(result_ids(message)) <= known
        known |= set(call_ids(message))
