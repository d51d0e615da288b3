"""One line gives an agent the whole suite, beside any other middleware."""

import json
import logging
from dataclasses import dataclass

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    HumanInTheLoopMiddleware,
    SummarizationMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

from ctx_core import Archive, ContextEngine, ContextOptimizer, TokenCounter
from ctx_core.errors import InvalidInput
from ctx_core.messages import message_tokens
from langchain_ctx import ContextMiddleware
from langchain_ctx.messages import to_core
from langchain_ctx.testing.fakes import FakeChatModel, calls
from langchain_ctx.testing.middleware import MiddlewareSuite
from langchain_ctx.testing.order import assert_legal_order

CONFIG = {"configurable": {"thread_id": "t"}, "recursion_limit": 300}


class TestMiddleware(MiddlewareSuite):
    @pytest.fixture
    def make(self):
        return lambda: ContextMiddleware(ContextEngine(archive=Archive(embedder=None)))


class TestMiddlewareWithLittleRoom(MiddlewareSuite):
    @pytest.fixture
    def make(self):
        return lambda: ContextMiddleware(ContextEngine(archive=Archive(embedder=None)), max_tokens=2500)


class TestMiddlewareBesideAnother(MiddlewareSuite):
    @pytest.fixture
    def make(self):
        return lambda: ContextMiddleware(ContextEngine(archive=Archive(embedder=None)), name="second")

    def _agent(self, make, **options):
        return super()._agent(make, beside=[ContextMiddleware(name="first"), ToolRetryMiddleware()], **options)


@pytest.fixture
def middleware(engine):
    return ContextMiddleware(engine)


def agent_of(script, tools, *middleware, **options):
    model = FakeChatModel(script=script)
    return model, create_agent(model, tools, middleware=middleware, **options)


def ask(agent, text, **options):
    return agent.invoke({"messages": [HumanMessage(text)]}, {**CONFIG, **options.pop("config", {})}, **options)


def results_in(messages):
    return [message for message in messages if isinstance(message, ToolMessage)]


# At the tool.


@pytest.fixture
def read_log(log):
    @tool(response_format="content_and_artifact")
    def read_log():
        """Read the log."""
        return log, {"lines": 481}

    return read_log


SCRIPT = [calls(("c1", "read_log", {})), AIMessage("The disk is full.")]


def test_a_result_is_shortened_once_and_stays_so_in_the_state(middleware, read_log, log):
    model, agent = agent_of(SCRIPT, [read_log], middleware)
    (result,) = results_in(ask(agent, "Why?")["messages"])
    assert "disk full" in result.text
    assert len(result.text) < len(log) / 4
    assert results_in(model.prompts[1]) == [result]
    assert (result.name, result.artifact, result.status) == ("read_log", {"lines": 481}, "success")


def test_the_model_gets_the_original_back_and_it_is_not_shortened_again(middleware, read_log, log):
    def script(prompt):
        results = results_in(prompt)
        if not results:
            return calls(("c1", "read_log", {}))
        if len(results) == 1:
            assert "with the tool retrieve_original" in results[0].text
            return calls(("c2", "retrieve_original", {"ref": results[0].text.split("CCR:")[1][:12], "page": 2}))
        return AIMessage("done")

    model, agent = agent_of(script, [read_log], middleware)
    back = results_in(ask(agent, "Why?")["messages"])[1]
    assert back.text.rpartition("\n[page 2")[0] in log
    assert results_in(model.prompts[-1])[1].text == back.text
    assert [bound.name for bound in model.bound_tools] == ["read_log", "retrieve_original"]


def test_hints_name_the_tool_that_is_bound_and_the_callers_engine_stays_as_it_was(engine, log):
    middleware = ContextMiddleware(engine, name="b")
    assert [bound.name for bound in middleware.tools] == ["retrieve_original_b"]
    assert "with the tool retrieve_original_b" in middleware.engine.optimize(log, 100).compressed
    assert engine.optimizer.retrieval_tool is None
    named = ContextEngine(archive=engine.archive, optimizer=ContextOptimizer(retrieval_tool="get_back"))
    assert [bound.name for bound in ContextMiddleware(named).tools] == ["get_back"]


@pytest.mark.parametrize(
    "wrap",
    [lambda result: result, lambda result: Command(update={"messages": [result], "n": 1}), lambda result: [result]],
)
def test_results_in_commands_and_lists_are_shortened_too(middleware, log, wrap):
    given = wrap(ToolMessage(log, tool_call_id="c", artifact={"raw": 1}, status="error", id="t"))
    out = middleware.wrap_tool_call(Request(), lambda _: given)
    message = next(walk(out))
    assert len(message.text) < len(log) / 4
    assert (message.artifact, message.status, message.id) == ({"raw": 1}, "error", "t")
    assert next(walk(given)).content == log
    if isinstance(out, Command):
        assert (out.update or {})["n"] == 1


@dataclass
class Request:
    tool: object = None
    runtime: object = None


def walk(result):
    if isinstance(result, ToolMessage):
        yield result
    elif isinstance(result, Command):
        yield from (result.update or {})["messages"]
    else:
        yield from result


def test_content_blocks_are_shortened_and_other_blocks_stay(middleware, log):
    image = {"type": "image", "base64": "AAAA" * 5000, "mime_type": "image/png"}
    given = ToolMessage([{"type": "text", "text": log}, image], tool_call_id="c")
    out = middleware.wrap_tool_call(Request(), lambda _: given)
    assert len(out.content[0]["text"]) < len(log) / 4
    assert out.content[1] == image


def test_a_short_result_is_the_very_same_object(middleware):
    given = ToolMessage("42", tool_call_id="c")
    assert middleware.wrap_tool_call(Request(), lambda _: given) is given


async def test_parallel_calls(middleware, rows):
    @tool
    def orders(page: int) -> str:
        """List orders."""
        return rows(start=page * 100)

    script = [calls(*((f"c{n}", "orders", {"page": n}) for n in range(8))), AIMessage("done")]
    model, agent = agent_of(script, [orders], middleware)
    out = await agent.ainvoke({"messages": [HumanMessage("List them.")]}, CONFIG)
    assert [message.tool_call_id for message in results_in(out["messages"])] == [f"c{n}" for n in range(8)]
    for prompt in model.prompts:
        assert_legal_order(prompt)


def test_in_a_tool_node_without_an_agent(middleware, read_log, log):
    from langgraph.graph import END, START, MessagesState, StateGraph

    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode([read_log], wrap_tool_call=middleware.wrap_tool_call))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    out = graph.compile().invoke({"messages": [HumanMessage("Why?"), SCRIPT[0]]})
    assert len(out["messages"][-1].text) < len(log) / 4


# Before the model.


@pytest.fixture
def orders(rows):
    @tool
    def orders(page: int) -> str:
        """List the orders of a page."""
        return rows(40, start=page * 100)

    return orders


def paging(pages):
    def script(prompt):
        if isinstance(prompt[-1], HumanMessage) and prompt[-1].additional_kwargs.get("lc_source") != "ctx":
            return calls(("p0", "orders", {"page": 0}))
        page = int(results_in(prompt)[-1].tool_call_id[1:]) + 1
        return calls((f"p{page}", "orders", {"page": page})) if page < pages else AIMessage("done")

    return script


def tokens_of(prompt):
    counter = TokenCounter()
    return sum(message_tokens(to_core(message), counter) for message in prompt)


def test_every_prompt_is_within_the_budget_and_no_turn_is_lost(archive, orders):
    middleware = ContextMiddleware(ContextEngine(archive=archive), max_tokens=4000, user_id="user-1")
    model, agent = agent_of(paging(20), [orders], middleware, system_prompt="You sell. " * 40)
    out = ask(agent, "Find order #1205.")
    assert len(model.prompts) == 21
    for prompt in model.prompts:
        assert tokens_of(prompt) <= 4000
        assert_legal_order(prompt)
        assert any("Find order #1205." in message.text for message in prompt)
    answered = {turn.tool_call_id for turn in archive.export("user-1")} | {
        message.tool_call_id for message in results_in(out["messages"])
    }
    assert {f"p{n}" for n in range(20)} <= answered
    assert {turn.session_id for turn in archive.export("user-1")} == {"t"}


def test_the_prefix_lasts_between_evictions(engine, orders):
    middleware = ContextMiddleware(engine, max_tokens=8000)
    model, agent = agent_of(paging(30), [orders], middleware)
    ask(agent, "List all.")
    kept = [prompt[: len(before)] == before for before, prompt in zip(model.prompts, model.prompts[1:], strict=False)]
    assert sum(kept) >= len(kept) * 0.7


def test_what_the_user_refers_to_comes_back_for_the_whole_turn_and_stays_out_of_the_history(archive, orders):
    archive.append("user-1", [AIMessageTurn("The spare key is in locker 12, next to the boiler.")])
    middleware = ContextMiddleware(ContextEngine(archive=archive), user_id="user-1")
    model, agent = agent_of(paging(2), [orders], middleware, system_prompt="You help.")
    out = ask(agent, "Remember when we talked about the spare key? Where was it?")
    for prompt in model.prompts:
        assert prompt[0].text.startswith("You help.")
        assert "locker 12" in prompt[0].text
    assert model.prompts[0][0] == model.prompts[2][0]
    assert not any("locker 12" in message.text for message in out["messages"])
    assert "ctx" not in out


def AIMessageTurn(text):  # noqa: N802 - reads as what it makes
    from ctx_core import Turn

    return Turn(id="key", role="assistant", content=text)


def test_users_and_threads_do_not_see_each_others_archives(archive):
    archive.append("user-1", [AIMessageTurn("The spare key is in locker 12.")])
    middleware = ContextMiddleware(ContextEngine(archive=archive))

    @dataclass
    class Context:
        user_id: str

    model, agent = agent_of([AIMessage("ok")], [], middleware, context_schema=Context)
    question = "Remember when we talked about the spare key? Where was it?"
    ask(agent, question, context=Context(user_id="user-1"))
    ask(agent, question, context=Context(user_id="user-2"))
    ask(agent, question, config={"configurable": {"thread_id": "user-1"}})
    seen = ["locker 12" in "".join(message.text for message in prompt) for prompt in model.prompts]
    assert seen == [True, False, False]


def test_a_thread_without_a_user_finds_its_own_turns(archive, orders):
    middleware = ContextMiddleware(ContextEngine(archive=archive), max_tokens=3000)
    model, agent = agent_of(paging(12), [orders], middleware, checkpointer=InMemorySaver())
    ask(agent, "List all.")
    ask(agent, "My locker number is 4471. List all.")
    ask(agent, "Remember my locker number?")
    assert model.prompts[-1][0].type == "system"
    assert "4471" in model.prompts[-1][0].text


def test_its_state_is_plain_json_and_private(engine, orders):
    saver = InMemorySaver()
    _model, agent = agent_of(paging(3), [orders], ContextMiddleware(engine), checkpointer=saver)
    out = ask(agent, "List.")
    kept = agent.get_state(CONFIG).values
    assert json.loads(json.dumps(kept["ctx"])) == kept["ctx"]
    assert all(json.loads(json.dumps(m.additional_kwargs)) == m.additional_kwargs for m in kept["messages"])
    assert out.keys() == {"messages"}
    assert "ctx" not in agent.get_input_jsonschema()["properties"]


def test_a_long_paste_does_not_push_everything_else_out(archive, log):
    middleware = ContextMiddleware(ContextEngine(archive=archive), max_tokens=3000, user_id="user-1")
    model, agent = agent_of([AIMessage("ok")], [], middleware, checkpointer=InMemorySaver())
    ask(agent, "My name is Ann.")
    ask(agent, f"Look:\n{log * 10}")
    assert tokens_of(model.prompts[-1]) <= 3000
    assert "My name is Ann." in model.prompts[-1][0].text
    assert "disk full" in model.prompts[-1][-1].text
    assert archive.export("user-1") == []


# Around the model.


def test_a_clock_in_the_system_prompt_does_not_void_the_cache(engine, orders):
    from langchain.agents.middleware import dynamic_prompt

    ticks = iter(range(100))

    @dynamic_prompt
    def clock(request):
        return f"You help.\nCurrent time: 2026-03-01T10:00:{next(ticks):02d}Z"

    model, agent = agent_of(paging(3), [orders], clock, ContextMiddleware(engine))
    ask(agent, "List.")
    assert {prompt[0].text for prompt in model.prompts} == {"You help."}
    assert [prompt[-1].text.count("Current time") for prompt in model.prompts] == [1, 1, 1, 1]


class Crowded(FakeChatModel):
    limit: int = 0

    def _answer(self, messages):
        if tokens_of(messages) > self.limit:
            raise ContextOverflowError("too long")
        return super()._answer(messages)


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_prompt_the_model_finds_too_long_is_sent_again_shorter(engine, is_async):
    model = Crowded(script=[AIMessage("ok")], limit=500)
    agent = create_agent(model, [], middleware=[ContextMiddleware(engine, max_tokens=2000)])
    given = {"messages": [*talk(60), HumanMessage("And now?")]}
    out = await agent.ainvoke(given, CONFIG) if is_async else agent.invoke(given, CONFIG)
    assert out["messages"][-1].text == "ok"
    assert len(model.prompts) == 2
    assert model.prompts[-1][-1].text.endswith("And now?")
    assert_legal_order(model.prompts[-1])


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_overflow_that_cannot_be_helped_is_the_callers_to_see(engine, is_async):
    model = Crowded(script=[AIMessage("ok")], limit=0)
    agent = create_agent(model, [], middleware=[ContextMiddleware(engine)])
    with pytest.raises(ContextOverflowError):
        await agent.ainvoke({"messages": [("user", "hi")]}) if is_async else agent.invoke(
            {"messages": [("user", "hi")]}
        )
    assert len(model.prompts) == 3


def talk(pairs):
    pairs = ((HumanMessage(f"What of number {n}? " * 5), AIMessage(f"Number {n} is fine. " * 5)) for n in range(pairs))
    return [message for pair in pairs for message in pair]


def anthropic_model(**options):
    kind = type(
        "ChatAnthropic", (FakeChatModel,), {"__module__": "langchain_anthropic.chat_models", "__annotations__": {}}
    )
    return kind(**options)


def test_prompts_are_marked_where_the_provider_caches_only_what_is_marked(engine, orders):
    model = anthropic_model(script=paging(3))
    agent = create_agent(model, [orders], middleware=[ContextMiddleware(engine)], system_prompt="Rule. " * 900)
    ask(agent, "List.")
    mark = {"cache_control": {"type": "ephemeral"}}
    for prompt in model.prompts:
        marked = [message for message in prompt if isinstance(message.content, list)]
        assert [message.type for message in marked] == ["system", prompt[-1].type]
        assert all(message.content[-1].items() >= mark.items() for message in marked)
    plain, agent = agent_of(paging(1), [orders], ContextMiddleware(engine), system_prompt="Rule. " * 900)
    ask(agent, "List.")
    assert all(isinstance(message.content, str) for prompt in plain.prompts for message in prompt)


@pytest.mark.parametrize("reason", ["short", "marked", "off"])
def test_prompts_are_not_marked_when_it_would_not_help(engine, reason):
    model = anthropic_model(script=[AIMessage("ok")])
    system = SystemMessage("Rule." * (1 if reason == "short" else 900))
    if reason == "marked":
        system = SystemMessage(
            [{"type": "text", "text": system.text, "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
        )
    middleware = ContextMiddleware(engine, cache_marks=reason != "off")
    ask(create_agent(model, [], middleware=[middleware], system_prompt=system), "hi")
    assert model.prompts[0][0].content == system.content
    assert model.prompts[0][1].content == "hi"


def test_the_graph_is_explained_in_the_prompt(archive):
    from ctx_core import ContextKernel, Node

    kernel = ContextKernel.open("memory://")
    kernel.update_context(root_node_id="n0", changes=[Node(node_id="n0", node_kind="task", title="Mend the pump")])
    middleware = ContextMiddleware(ContextEngine(archive=archive, kernel=kernel), graph_root="n0")
    model, agent = agent_of([AIMessage("ok")], [], middleware)
    out = ask(agent, "What now?")
    assert "Mend the pump" in model.prompts[0][-1].text
    assert "Mend the pump" not in out["messages"][0].text


# When something fails.


@pytest.mark.parametrize("part", ["optimizer", "archive", "rehydrator", "engine"])
def test_a_stage_that_fails_leaves_the_agent_working(archive, orders, monkeypatch, caplog, part):
    engine = ContextEngine(archive=archive)
    middleware = ContextMiddleware(engine, max_tokens=2500, user_id="user-1")

    def broken(*args, **kwargs):
        raise OSError("the store is gone")

    target, method = {
        "optimizer": (middleware.engine.optimizer, "optimize"),
        "archive": (archive, "append"),
        "rehydrator": (archive, "scan"),
        "engine": (middleware.engine, "prepare"),
    }[part]
    monkeypatch.setattr(target, method, broken)
    _model, agent = agent_of(paging(8), [orders], middleware)
    with caplog.at_level(logging.WARNING, "ctx_core"):
        out = ask(agent, "Remember what we said? List all.")
    assert out["messages"][-1].text == "done"
    assert part != "archive" or len(results_in(out["messages"])) == 8
    assert "the store is gone" in caplog.text


def test_strict_raises(archive, orders, monkeypatch):
    middleware = ContextMiddleware(ContextEngine(archive=archive, strict=True))
    monkeypatch.setattr(middleware.engine, "optimize", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        ask(agent_of(paging(1), [orders], middleware)[1], "List.")


@pytest.mark.parametrize(
    "options",
    [
        {"max_tokens": 10},
        {"max_tokens": 0},
        {"max_tokens": "8000"},
        {"max_token": 8000},
        {"engine": 8000},
        {"exclude_tools": "read_log"},
        {"tool_limits": {"read_log": 0}},
    ],
)
def test_values_that_cannot_be_right_are_refused(options):
    with pytest.raises(InvalidInput):
        ContextMiddleware(**options)


# Beside others.


def test_several_instances_with_engines_of_their_own(archive, read_log, log):
    first, second = ContextMiddleware(ContextEngine(archive=archive)), ContextMiddleware(name="b")
    model, agent = agent_of(SCRIPT, [read_log], first, second, checkpointer=InMemorySaver())
    (result,) = results_in(ask(agent, "Why?")["messages"])
    assert result.text.count("CCR:") == 1
    assert {bound.name for bound in model.bound_tools} == {"read_log", "retrieve_original", "retrieve_original_b"}


@pytest.mark.parametrize("order", [1, -1])
def test_beside_summaries_and_context_editing(engine, orders, order):
    others = [
        SummarizationMiddleware(FakeChatModel(script=[AIMessage("so far: orders")]), trigger=("tokens", 3000), keep=("messages", 4)),
        ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=2000, keep=1)]),
        ContextMiddleware(engine, max_tokens=4000),
    ]  # fmt: skip
    model, agent = agent_of(paging(12), [orders], *others[::order])
    assert ask(agent, "List.")["messages"][-1].text == "done"
    for prompt in model.prompts:
        assert not [fault for fault in faults_of(prompt) if "answers no open call" in fault]


def faults_of(prompt):
    from langchain_ctx.testing.order import order_faults

    return order_faults(prompt, "openai")


def test_with_a_human_in_the_loop(engine, orders):
    human = HumanInTheLoopMiddleware(interrupt_on={"orders": True})
    _model, agent = agent_of(paging(2), [orders], human, ContextMiddleware(engine), checkpointer=InMemorySaver())
    out = ask(agent, "List.")
    for _ in range(2):
        assert out["__interrupt__"]
        out = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), CONFIG)
    assert out["messages"][-1].text == "done"
    assert all("#" in result.text for result in results_in(out["messages"]))


def test_an_interrupt_inside_a_tool_passes_through(engine):
    from langgraph.types import interrupt

    @tool
    def confirm() -> str:
        """Ask."""
        return interrupt("sure?")

    script = [calls(("c1", "confirm", {})), AIMessage("done")]
    _, agent = agent_of(script, [confirm], ContextMiddleware(engine), checkpointer=InMemorySaver())
    assert ask(agent, "Go.")["__interrupt__"][0].value == "sure?"
    assert agent.invoke(Command(resume="yes"), CONFIG)["messages"][-2].text == "yes"


@pytest.mark.parametrize("is_async", [False, True])
async def test_what_left_the_window_is_one_call_of_the_tool_away(archive, rows, is_async):
    @tool
    def orders(page: int) -> str:
        """List the orders of a page."""
        return rows(40, start=page * 100)

    steps = paging(14)

    def script(prompt):
        results = results_in(prompt)
        if results and results[-1].name == "retrieve_original":
            return AIMessage("done")
        answer = steps(prompt)
        return (
            answer if answer.tool_calls else calls(("back", "retrieve_original", {"ref": "earlier", "query": "#131"}))
        )

    model, agent = agent_of(script, [orders], ContextMiddleware(ContextEngine(archive=archive), max_tokens=3000))
    asked = {"messages": [HumanMessage("List all.")]}
    await agent.ainvoke(asked, CONFIG) if is_async else agent.invoke(asked, CONFIG)
    shown = model.prompts[-1]
    assert not any('"#131"' in message.text for message in shown[:-1])
    assert '"#131"' in results_in(shown)[-1].text


@pytest.mark.parametrize("calls_at_once", [8, 20])
async def test_many_long_results_at_once_still_fit(engine, rows, calls_at_once):
    @tool
    def orders(page: int) -> str:
        """List the orders of a page."""
        return rows(200, start=page * 1000)

    script = [calls(*((f"c{n}", "orders", {"page": n}) for n in range(calls_at_once))), AIMessage("done")]
    model, agent = agent_of(script, [orders], ContextMiddleware(engine, max_tokens=4000))
    await agent.ainvoke({"messages": [HumanMessage("List all.")]}, CONFIG)
    assert tokens_of(model.prompts[-1]) <= 4000
    assert_legal_order(model.prompts[-1])
    assert len(results_in(model.prompts[-1])) == calls_at_once


def test_a_page_of_an_original_fits_the_budget(engine, rows):
    @tool
    def orders() -> str:
        """List the orders."""
        return rows(2000)

    def script(prompt):
        results = results_in(prompt)
        if not results:
            return calls(("c0", "orders", {}))
        page = int(results[-1].tool_call_id[1:]) + 1
        ref = model.prompts[1][2].text.split("CCR:")[1][:12]
        return calls((f"c{page}", "retrieve_original", {"ref": ref, "page": page})) if page < 6 else AIMessage("done")

    model, agent = agent_of(script, [orders], ContextMiddleware(engine, max_tokens=3000))
    ask(agent, "List all.")
    assert max(map(tokens_of, model.prompts)) <= 3000
