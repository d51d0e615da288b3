"""The engine as a node: what it writes, and that graphs of every shape can hold it."""

import json
import operator
import pickle
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.types import Send
from pydantic import BaseModel

from ctx_core import ContextEngine
from langchain_ctx import ContextNode
from langchain_ctx.testing.fakes import calls
from langchain_ctx.testing.order import assert_legal_order


class PromptState(MessagesState):
    llm_input_messages: list[AnyMessage]


class PydanticState(BaseModel):
    messages: Annotated[list[Any], add_messages] = []
    llm_input_messages: list[Any] = []


@dataclass
class DataclassState:
    messages: Annotated[list[AnyMessage], add_messages] = field(default_factory=list)
    llm_input_messages: list[AnyMessage] = field(default_factory=list)


@pytest.fixture
def chat(log):
    return [
        SystemMessage("Be brief.", id="s"),
        HumanMessage("Why did it stop?", id="h"),
        calls(("c1", "read_log", {})).model_copy(update={"id": "a"}),
        ToolMessage(log, tool_call_id="c1", name="read_log", id="t"),
    ]


@pytest.fixture
def long_chat():
    pairs = (
        (HumanMessage(f"Question {n}? " * 20, id=f"q{n}"), AIMessage(f"Answer {n}. " * 20, id=f"a{n}"))
        for n in range(20)
    )
    return [*(message for pair in pairs for message in pair), HumanMessage("And now?", id="now")]  # fmt: skip


def graph_of(node, state=PromptState, **compile_options):
    graph = StateGraph(state)
    graph.add_node("context", node)
    graph.add_edge(START, "context")
    graph.add_edge("context", END)
    return graph.compile(**compile_options)


def test_the_prompt_is_written_and_the_history_stays(engine, chat):
    out = graph_of(ContextNode(engine)).invoke({"messages": chat})
    assert out["messages"] == chat
    assert out["llm_input_messages"][:3] == chat[:3]
    assert len(out["llm_input_messages"][3].content) < len(chat[3].content) / 4


@pytest.mark.parametrize("state", [PromptState, PydanticState, DataclassState])
async def test_states_of_every_kind(engine, chat, state):
    graph = graph_of(ContextNode(engine), state)
    expected = graph.invoke({"messages": chat})["llm_input_messages"]
    assert len(expected) == 4
    assert (await graph.ainvoke({"messages": chat}))["llm_input_messages"] == expected


def test_a_bare_list_of_messages_is_a_state(engine, chat):
    assert len(ContextNode(engine)(chat)["llm_input_messages"]) == 4


def test_other_channels_can_be_named(engine, chat):
    class State(TypedDict):
        talk: Annotated[list[AnyMessage], add_messages]
        prompt: list[AnyMessage]

    node = ContextNode(engine, input_messages_key="talk", output_messages_key="prompt")
    assert len(graph_of(node, State).invoke({"talk": chat})["prompt"]) == 4


def test_in_place_by_id(engine, chat):
    node = ContextNode(engine, output_messages_key="messages")
    update = node({"messages": chat})["messages"]
    assert [message.id for message in update] == ["t"]
    out = graph_of(node, MessagesState).invoke({"messages": chat})["messages"]
    assert [message.id for message in out] == ["s", "h", "a", "t"]
    assert len(out[3].content) < len(chat[3].content) / 4


def test_replaced_as_a_whole(engine, chat):
    node = ContextNode(engine, output_messages_key="messages", replace=True)
    update = node({"messages": chat})["messages"]
    assert update[0].id == REMOVE_ALL_MESSAGES
    assert [message.id for message in update[1:]] == ["s", "h", "a", "t"]


def test_a_history_that_fits_is_not_written_to(engine):
    node = ContextNode(engine, output_messages_key="messages")
    assert node({"messages": [HumanMessage("hi", id="h")]})["messages"] == []


@pytest.mark.parametrize("replace", [False, True])
def test_what_leaves_a_history_is_in_the_archive(archive, long_chat, replace):
    node = ContextNode(
        ContextEngine(archive=archive),
        max_tokens=900,
        output_messages_key="messages",
        user_id="user-1",
        replace=replace,
    )
    out = graph_of(node, MessagesState).invoke({"messages": long_chat})["messages"]
    assert_legal_order(out)
    assert len({message.id for message in out}) == len(out)
    gone = {message.id for message in long_chat} - {message.id for message in out}
    assert gone
    assert {turn.id for turn in archive.export("user-1")} == gone


def test_an_empty_state_writes_nothing(engine):
    assert ContextNode(engine)({"messages": []}) == {}
    assert ContextNode(engine)({}) == {}


def test_user_and_graph_root_come_from_context_or_config(archive, long_chat):
    @dataclass
    class Context:
        user_id: str

    node = ContextNode(ContextEngine(archive=archive), max_tokens=900)
    graph = StateGraph(PromptState, context_schema=Context)
    graph.add_node("context", node)
    graph.add_edge(START, "context")
    graph.compile().invoke({"messages": long_chat}, context=Context(user_id="user-1"))
    graph_of(node).invoke({"messages": long_chat}, {"configurable": {"user_id": "user-2", "thread_id": "t9"}})
    assert archive.export("user-1")
    assert {turn.session_id for turn in archive.export("user-2")} == {"t9"}


def test_numbers_are_streamed_as_a_custom_event(engine, chat):
    parts = [*graph_of(ContextNode(engine)).stream({"messages": chat}, stream_mode="custom")]
    assert [*parts[0]] == ["ctx"]
    assert json.loads(json.dumps(parts)) == parts
    assert parts[0]["ctx"]["tokens_after"] < parts[0]["ctx"]["tokens_before"]


@pytest.mark.parametrize("saver", ["memory", "sqlite"])
def test_with_checkpointers(engine, chat, saver, tmp_path):
    if saver == "memory":
        check_thread(engine, chat, InMemorySaver())
    else:
        with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as opened:
            check_thread(engine, chat, opened)


def check_thread(engine, chat, saver):
    graph = graph_of(ContextNode(engine, output_messages_key="messages"), MessagesState, checkpointer=saver)
    config = {"configurable": {"thread_id": "t"}}
    first = graph.invoke({"messages": chat}, config)["messages"]
    second = graph.invoke({"messages": [HumanMessage("And?", id="h2")]}, config)["messages"]
    assert second[:4] == first
    assert graph.get_state(config).values["messages"] == second


def test_in_a_subgraph(engine, chat):
    inner = graph_of(ContextNode(engine))
    assert len(graph_of(inner).invoke({"messages": chat})["llm_input_messages"]) == 4


def test_sent_to_many_at_once(engine, log):
    class State(TypedDict):
        results: Annotated[list[Any], operator.add]

    node = ContextNode(engine, output_messages_key="results")
    graph = StateGraph(State)
    graph.add_node("context", node)
    graph.add_conditional_edges(START, lambda _: [Send("context", {"messages": [("user", f"{n}")]}) for n in range(5)])
    out = graph.compile().invoke({"results": []})["results"]
    assert sorted(message.content for message in out) == list("01234")


async def test_as_a_runnable(engine, chat):
    runnable = ContextNode(engine).as_runnable()
    assert len(runnable.invoke({"messages": chat})["llm_input_messages"]) == 4
    graph = graph_of(runnable)
    assert len((await graph.ainvoke({"messages": chat}))["llm_input_messages"]) == 4


def test_as_the_hook_ahead_of_a_prebuilt_agents_model(engine, chat):
    import warnings

    from langchain_ctx.testing.fakes import FakeChatModel

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from langgraph.prebuilt import create_react_agent

        model = FakeChatModel(script=[AIMessage("The disk is full.")])
        agent = create_react_agent(model, [], pre_model_hook=ContextNode(engine))
    agent.invoke({"messages": chat})
    assert len(model.prompts[0][3].content) < len(chat[3].content) / 4


def test_a_node_without_a_graph_around_it(engine, chat):
    assert len(ContextNode(engine)({"messages": chat})["llm_input_messages"]) == 4


def test_nodes_pickle():
    assert pickle.loads(pickle.dumps(ContextNode(max_tokens=500))).max_tokens == 500
