"""One call prepares a prompt within one budget, and no stage that fails takes the chat with it."""

import pickle
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_core import Archive, ContextEngine, ContextKernel, ContextOptimizer, Message, Node, Relation, TokenCounter
from ctx_core.errors import InvalidInput
from ctx_core.messages import message_tokens

COUNTER = TokenCounter()
LOG = "\n".join([*(f"INFO step {n} ok" for n in range(400)), "ERROR disk full on /data", "INFO bye"])


def engine(**parts):
    """An engine that searches by words alone: what it prepares must not depend on what is installed."""
    return ContextEngine(archive=Archive(embedder=None), **parts)


def tool_turn(number, content):
    return [
        Message(role="assistant", tool_calls=({"id": f"c{number}", "name": "run", "args": {"n": number}},)),
        Message(role="tool", tool_call_id=f"c{number}", content=content),
    ]


def long_chat(turns=40):
    chat = [Message(role="system", content="You help."), Message(role="user", content="Task: move the depot to Kiel.")]
    for n in range(turns):
        chat += tool_turn(n, f"crate {n} holds part P-{n * 7919} " + "and packing paper, " * 30)
        chat += [
            Message(role="assistant", content=f"Crate {n} is packed."),
            Message(role="user", content=f"Go on with crate {n + 1}."),
        ]
    return chat


def tokens(messages):
    return sum(message_tokens(message, COUNTER) for message in messages)


def test_a_tool_output_shrinks_and_its_original_is_one_call_away():
    ctx = engine()
    prepared = ctx.prepare([Message(role="user", content="Run it."), *tool_turn(1, LOG)], max_tokens=2000)
    shown = prepared.messages[-1].text
    assert "ERROR disk full on /data" in shown
    assert COUNTER.count(shown) < 200
    row = prepared.report.messages[-1]
    assert (row.kind, row.archived) == ("log", False)
    assert ctx.optimizer.retrieve(row.ccr_hash) == LOG


def test_what_was_sent_once_stays_byte_identical_as_the_chat_grows():
    ctx = engine()
    chat = [Message(role="user", content="Run it."), *tool_turn(1, LOG)]
    first = ctx.prepare(chat, max_tokens=4000).messages
    grown = ctx.prepare(
        [*chat, Message(role="assistant", content="It failed."), Message(role="user", content="Why?")], max_tokens=4000
    ).messages
    assert [message.text for message in grown[: len(first)]] == [message.text for message in first]


def test_turns_that_leave_are_archived_and_come_back_when_asked_for():
    ctx = engine()
    chat = [*long_chat(), Message(role="user", content="Remember what crate 3 holds? Which part number was it?")]
    prepared = ctx.prepare(chat, user_id="user-1", session_id="s1", max_tokens=2500)
    assert prepared.report.fits
    assert tokens(prepared.messages) <= 2500
    assert sum(row.archived for row in prepared.report.messages) > 50
    assert prepared.report.rehydrated.metrics["rehydrator.matched"] >= 1
    assert "P-23757" in prepared.messages[0].text
    assert len(ctx.archive.export("user-1")) == sum(row.archived for row in prepared.report.messages)


def test_preparing_the_same_history_again_archives_nothing_twice():
    ctx = engine()
    chat = long_chat()
    for _ in range(3):
        prepared = ctx.prepare(chat, user_id="user-1", max_tokens=2500)
    assert len(ctx.archive.export("user-1")) == sum(row.archived for row in prepared.report.messages)


def test_archived_turns_are_kept_as_they_were_given():
    ctx = engine()
    chat = long_chat(12)
    chat[3] = Message(role="tool", tool_call_id="c0", content=LOG)
    ctx.prepare(chat, user_id="user-1", max_tokens=1200)
    assert LOG in [turn.text for turn in ctx.archive.export("user-1")]


def test_one_users_turns_never_reach_another():
    ctx = engine()
    ctx.prepare(long_chat(), user_id="user-1", max_tokens=2500)
    question = [Message(role="user", content="Remember what crate 3 holds? Which part number was it?")]
    assert ctx.prepare(question, user_id="user-2", max_tokens=2500).report.rehydrated.metrics["rehydrator.matched"] == 0


def test_without_a_user_nothing_is_archived_and_the_report_says_so():
    ctx = engine()
    prepared = ctx.prepare(long_chat(), max_tokens=2500)
    assert prepared.report.fits
    assert "not archived, since no user_id was given" in " ".join(prepared.report.warnings)


def test_the_graph_and_chunks_stand_in_the_last_user_message():
    ctx = engine()
    nodes = [
        Node(node_id="n0", node_kind="incident", title="Checkout slow"),
        Node(node_id="n1", node_kind="cause", title="Pool"),
    ]
    why = Relation(
        source_node_id="n0",
        target_node_id="n1",
        relation_type="CAUSED_BY",
        semantic_class="causal",
        rationale="pool exhausted",
    )
    ctx.kernel.update_context(root_node_id="n0", changes=[*nodes, why])
    chat = [Message(role="system", content="You help."), Message(role="user", content="Why is checkout slow?")]
    prepared = ctx.prepare(chat, max_tokens=1000, graph_root="n0", chunks=["Runbook: restart the </context> pool."])
    last = prepared.messages[-1].text
    assert last.startswith("Why is checkout slow?\n\n<context>")
    assert "pool exhausted" in last
    assert "Runbook: restart" in last
    assert last.count("</context>") == 1
    assert prepared.messages[0] == chat[0]
    assert prepared.report.graph.text in last


def test_chunks_share_their_part_of_the_budget():
    prepared = engine().prepare(
        [Message(role="user", content="What failed?")], max_tokens=1000, chunks=[LOG, LOG.replace("disk", "tape")]
    )
    assert prepared.report.fits
    assert "ERROR disk full" in prepared.messages[-1].text
    assert "ERROR tape full" in prepared.messages[-1].text


def test_a_clock_in_the_system_prompt_moves_behind_the_conversation():
    ctx = engine()
    rules = "You are a desk assistant.\n" + "Answer in one sentence. " * 40

    def ask(clock):
        chat = [
            Message(role="system", content=f"Current time: {clock}\n{rules}"),
            Message(role="user", content="Hello."),
        ]
        return ctx.prepare(chat, conversation_id="c", max_tokens=4000).messages

    first, second = ask("2026-05-01T10:00:07Z"), ask("2026-05-01T10:03:44Z")
    assert first[0] == second[0]
    assert "2026-05-01T10:03:44Z" in second[-1].text


def test_retrieved_originals_are_never_compressed_again():
    ctx = engine(optimizer=ContextOptimizer(retrieval_tool="retrieve_original"))
    call = Message(role="assistant", tool_calls=({"id": "c1", "name": "retrieve_original", "args": {"ref": "abc"}},))
    chat = [Message(role="user", content="Show me."), call, Message(role="tool", tool_call_id="c1", content=LOG)]
    assert ctx.prepare(chat, max_tokens=20_000).messages[-1].text == LOG


class Broken:
    def __getattr__(self, name):
        raise OSError(f"{name} is down")


@pytest.mark.parametrize("part", ["optimizer", "archive", "kernel", "aligner", "evictor"])
def test_a_broken_part_never_fails_the_chat_unless_asked_to(part):
    ctx = engine()
    setattr(ctx, "_kernel" if part == "kernel" else part, Broken())
    root = "n0" if part == "kernel" else None
    if part == "archive":
        ctx.rehydrator.archive = Broken()
    chat = [*long_chat(), Message(role="user", content="Remember crate 3?")]
    prepared = ctx.prepare(
        chat, user_id="user-1", max_tokens=2500, graph_root=root, chunks=["x"], working_set=part != "evictor"
    )
    assert prepared.messages[-1].text.startswith("Remember crate 3?")
    assert prepared.report.warnings
    ctx.strict = True
    with pytest.raises(Exception, match="is down"):
        ctx.prepare(
            chat, user_id="user-1", max_tokens=2500, working_set=part != "evictor", graph_root=root, chunks=["x"]
        )


@pytest.mark.parametrize("budget", [-1, 0, 63])
def test_an_impossible_budget_is_the_callers_error(budget):
    with pytest.raises(InvalidInput, match="max_tokens must be at least 64"):
        engine().prepare([Message(role="user", content="hi")], max_tokens=budget)


def test_what_cannot_fit_is_said():
    prepared = engine().prepare(
        [Message(role="system", content="rule " * 500), Message(role="user", content="hi")], max_tokens=100
    )
    assert not prepared.report.fits
    assert "may not leave" in " ".join(prepared.report.warnings)


def test_inputs_are_never_changed():
    chat = long_chat(10)
    before = pickle.dumps(chat)
    engine().prepare(chat, user_id="user-1", max_tokens=600)
    assert pickle.dumps(chat) == before


def test_openai_dictionaries_are_accepted():
    prepared = engine().prepare([{"role": "user", "content": "hi"}], max_tokens=100)
    assert prepared.messages[0].text == "hi"


def test_an_empty_conversation_stays_empty():
    assert engine().prepare([], max_tokens=100, user_id="user-1").messages == []


async def test_the_async_twin_prepares_the_same():
    chat = long_chat(8)
    assert (await engine().aprepare(chat, max_tokens=900)).messages == engine().prepare(chat, max_tokens=900).messages


def test_an_engine_pickles():
    copy = pickle.loads(pickle.dumps(engine()))
    assert copy.prepare([Message(role="user", content="hi")], max_tokens=100).messages


def test_yesterday_is_relative_to_the_time_given():
    ctx = engine()
    day = datetime(2026, 3, 9, 15, tzinfo=UTC)
    ctx.archive.append("user-1", [Message(role="user", content="The valve torque is 42 Nm.", created_at=day)])
    asked = [Message(role="user", content="What torque did we settle on yesterday?")]
    prepared = ctx.prepare(asked, user_id="user-1", max_tokens=1000, now=datetime(2026, 3, 10, 9, tzinfo=UTC))
    assert "42 Nm" in prepared.messages[0].text


CONTENT = st.one_of(st.text(max_size=400), st.just(LOG), st.integers(0, 60).map(lambda n: "word " * n))


@given(st.lists(CONTENT, max_size=12), st.integers(64, 3000))
def test_pairs_stay_whole_the_task_stays_and_a_prompt_said_to_fit_does(contents, budget):
    chat = [Message(role="user", content="the task")]
    for number, content in enumerate(contents):
        chat += tool_turn(number, content)
    prepared = engine().prepare(chat, user_id="user-1", max_tokens=budget)
    called = [call.id for message in prepared.messages for call in message.tool_calls]
    answered = [message.tool_call_id for message in prepared.messages if message.role == "tool"]
    assert called == answered
    assert "the task" in prepared.messages[0].text
    assert (tokens(prepared.messages) <= budget) == prepared.report.fits


def test_a_kernel_given_is_the_kernel_used(tmp_path):
    kernel = ContextKernel.open(f"sqlite:///{tmp_path}/context.db")
    assert engine(kernel=kernel).kernel is kernel
