"""Ways in which agents really run: results for people, threads in a new process, hand-overs, updates of any shape, wrapped models."""

import json
import pickle
from collections import namedtuple

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, Overwrite

from ctx_core import Archive, ContextEngine
from langchain_ctx import ContextMiddleware, ContextNode, ContextRunnable
from langchain_ctx.agents.tool_results import map_tool_messages
from langchain_ctx.testing.fakes import FakeChatModel, calls
from langchain_ctx.testing.order import assert_legal_order

CONFIG = {"configurable": {"thread_id": "t"}, "recursion_limit": 100}
ROWS = json.dumps([{"order": f"3-{n}", "status": "shipped", "total": 7 * n} for n in range(300)])
Pair = namedtuple("Pair", "one two")  # noqa: PYI024 # pyright: ignore[reportUntypedNamedTuple] - as users write it


def ask(agent, text):
    return agent.invoke({"messages": [HumanMessage(text)]}, CONFIG)


def test_what_goes_to_people_stays_whole():
    @tool(return_direct=True)
    def export() -> str:
        """Export."""
        return ROWS

    agent = create_agent(FakeChatModel(script=[calls(("c", "export", {}))]), [export], middleware=[ContextMiddleware()])
    assert ask(agent, "Export.")["messages"][-1].text == ROWS


def test_excluded_tools_and_files_that_are_read_come_whole():
    @tool
    def listing() -> str:
        """List."""
        return ROWS

    @tool
    def read_file(file_path: str) -> str:
        """Read."""
        return ROWS

    for name, args, options in (("listing", {}, {"exclude_tools": [listing]}), ("read_file", {"file_path": "/a"}, {})):
        script = [calls(("c", name, args)), AIMessage("done")]
        model = FakeChatModel(script=script)
        ask(create_agent(model, [listing, read_file], middleware=[ContextMiddleware(**options)]), "Go.")
        assert model.prompts[-1][-1].text == ROWS


def test_a_thread_goes_on_in_a_new_process_with_its_originals():
    @tool
    def listing() -> str:
        """List."""
        return ROWS

    saver = InMemorySaver()
    ask(
        create_agent(
            FakeChatModel(script=[calls(("c", "listing", {})), AIMessage("done")]),
            [listing],
            middleware=[ContextMiddleware()],
            checkpointer=saver,
        ),
        "Go.",
    )

    def script(prompt):
        results = [m for m in prompt if isinstance(m, ToolMessage)]
        ref = results[0].text.split("CCR:")[1][:12]
        return (
            calls(("r", "retrieve_original", {"ref": ref, "query": "3-150"}))
            if len(results) == 1
            else AIMessage("done")
        )

    out = ask(
        create_agent(FakeChatModel(script=script), [listing], middleware=[ContextMiddleware()], checkpointer=saver),
        "Which?",
    )
    assert '"3-14"' in out["messages"][-2].text
    assert out["messages"][-2].status == "success"


def test_the_history_in_the_state_stays_as_it_was_said():
    said = [f"Question {n}. {'word ' * 80}" for n in range(12)]
    model = FakeChatModel(script=[AIMessage("ok")])
    agent = create_agent(
        model,
        [],
        middleware=[ContextMiddleware(ContextEngine(archive=Archive(embedder=None)), max_tokens=600)],
        checkpointer=InMemorySaver(),
    )
    for text in said:
        out = ask(agent, text)
    assert [m.content for m in out["messages"] if isinstance(m, HumanMessage)] == said
    assert len(model.prompts[-1]) < len(out["messages"]) - 1
    for prompt in model.prompts:
        assert_legal_order(prompt)


def test_a_model_that_calls_no_tools_gets_none():
    agent = create_agent(GenericFakeChatModel(messages=iter([AIMessage("hi")])), [], middleware=[ContextMiddleware()])
    assert ask(agent, "Hi.")["messages"][-1].text == "hi"


def test_middleware_and_nodes_pickle():
    assert pickle.loads(pickle.dumps(ContextMiddleware(max_tokens=900))).max_tokens == 900
    assert pickle.loads(pickle.dumps(ContextNode(max_tokens=0.5))).max_tokens == 0.5


def test_updates_of_any_shape_pass_through():
    message, short = ToolMessage("long", tool_call_id="c"), ToolMessage("short", tool_call_id="c")
    cyclic: dict[str, object] = {"messages": [message]}
    cyclic["self"] = cyclic
    for update, read in (
        ({"messages": Overwrite([message])}, lambda u: u["messages"].value[0]),
        ({"pair": Pair(message, 1)}, lambda u: u["pair"].one),
        (cyclic, lambda u: u["messages"][0]),
    ):
        assert read(map_tool_messages(Command(update=update), lambda _: short).update) is short
        untouched = Command(update=update)
        assert map_tool_messages(untouched, lambda m: m) is untouched


@pytest.mark.parametrize("make", [ContextMiddleware, ContextNode, ContextRunnable])
def test_a_misspelt_argument_is_refused_by_its_nearest_name(make):
    with pytest.raises(ValueError, match="did you mean 'max_tokens'"):
        make(max_token=100)


def test_a_thread_is_forgotten_and_a_user_of_its_name_is_not_it():
    engine = ContextEngine(archive=Archive(embedder=None))
    chat = [m for n in range(30) for m in (HumanMessage(f"Note {n}. {'word ' * 40}"), AIMessage("ok"))]
    ContextRunnable(engine=engine, max_tokens=600).invoke(chat, {"configurable": {"thread_id": "ada"}})
    assert engine.archive.export("ada")
    assert engine.archive.export("ada", threads=False) == []
    ContextMiddleware(engine).forget(thread_id="ada")
    assert engine.archive.export("ada") == []
