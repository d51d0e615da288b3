"""A chain's values go in and come out as what they were, and the run can be followed."""

import asyncio
import pickle

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompt_values import ChatPromptValue, StringPromptValue
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import ConfigurableField, RunnableLambda

from ctx_core import ContextEngine, TokenCounter
from ctx_core.errors import InvalidInput
from langchain_ctx import ContextRunnable
from langchain_ctx.testing.fakes import FakeChatModel, calls
from langchain_ctx.testing.order import assert_legal_order


@pytest.fixture
def chat(log):
    return [
        SystemMessage("Be brief."),
        HumanMessage("Why did it stop?"),
        calls(("c1", "read_log", {})),
        ToolMessage(log, tool_call_id="c1", name="read_log", artifact={"lines": 480}),
    ]


@pytest.fixture
def runnable(engine):
    return ContextRunnable(engine=engine, max_tokens=2000)


def test_messages(runnable, chat):
    out = runnable.invoke(chat)
    assert [type(message) for message in out] == [type(message) for message in chat]
    assert all(new is old for new, old in zip(out[:3], chat[:3], strict=True))
    assert "disk full" in out[3].content
    assert len(out[3].content) < len(chat[3].content) / 4
    assert out[3].artifact == {"lines": 480}


def test_text(runnable, log):
    assert TokenCounter().count(runnable.invoke(log)) <= 2000
    assert runnable.invoke("short") == "short"


def test_prompt_values(runnable, chat, log):
    out = runnable.invoke(ChatPromptValue(messages=chat))
    assert isinstance(out, ChatPromptValue)
    assert out.messages[:3] == chat[:3]
    text = runnable.invoke(StringPromptValue(text=log))
    assert isinstance(text, StringPromptValue)
    assert TokenCounter().count(text.text) <= 2000


def test_dicts(engine, chat):
    state = {"messages": chat, "step": 3}
    out = ContextRunnable(engine=engine).invoke(state)
    assert out["step"] == 3
    assert out["messages"][:3] == chat[:3]
    assert state["messages"] is chat
    assert ContextRunnable(engine=engine, messages_key="history").invoke({"history": chat}).keys() == {"history"}
    with pytest.raises(InvalidInput, match="has no 'messages'; it has 'other'"):
        ContextRunnable(engine=engine).invoke({"other": 1})


def test_documents(runnable, log):
    out = runnable.invoke([Document(page_content=log, id="d", metadata={"n": 1})])
    assert (out[0].id, out[0].metadata["n"]) == ("d", 1)
    assert "disk full" in out[0].page_content
    assert runnable.invoke([]) == []


def test_anything_else_is_refused_by_name(runnable):
    with pytest.raises(InvalidInput, match="not a int"):
        runnable.invoke(3)


def test_inputs_are_not_changed(runnable, chat):
    before = [message.model_copy(deep=True) for message in chat]
    runnable.invoke(chat)
    assert chat == before


def test_tuples_and_mappings_are_messages_as_everywhere_in_langchain(runnable):
    assert runnable.invoke([("system", "Be brief."), {"role": "user", "content": "Hi"}]) == [
        SystemMessage("Be brief."),
        HumanMessage("Hi"),
    ]


async def test_every_way_to_run_gives_the_same(runnable, chat, log):
    expected = runnable.invoke(chat)
    assert await runnable.ainvoke(chat) == expected
    assert runnable.batch([chat, chat]) == [expected, expected]
    assert await runnable.abatch([chat]) == [expected]
    assert [*runnable.stream(chat)] == [expected]
    assert [item async for item in runnable.astream(chat)] == [expected]
    assert [*runnable.transform(iter([log[:500], log[500:]]))] == [runnable.invoke(log)]
    assert [*runnable.transform(iter([chat[:2], chat[2:]]))] == [expected]


def test_in_a_chain(engine, log):
    model = FakeChatModel(script=[AIMessage("The disk is full.")])
    prompt = ChatPromptTemplate([("system", "Be brief."), MessagesPlaceholder("history"), ("human", "{question}")])
    chain = prompt | ContextRunnable(engine=engine, max_tokens=1500) | model
    out = chain.invoke({"history": [HumanMessage(f"This is the log:\n{log}"), AIMessage("I see.")], "question": "Why?"})
    assert out.text == "The disk is full."
    assert "disk full" in model.prompts[0][1].text
    assert_legal_order(model.prompts[0])


def test_after_a_retriever_in_a_chain(runnable, log):
    chain = RunnableLambda(lambda query: [Document(page_content=log)]) | runnable
    assert "disk full" in chain.invoke("why")[0].page_content


def test_the_run_is_traced_with_its_numbers(runnable, chat):
    class Heard(BaseCallbackHandler):
        def __init__(self):
            self.runs, self.events = [], []

        def on_chain_start(self, serialized, inputs, *, name=None, **kwargs):
            self.runs.append(name)

        def on_custom_event(self, name, data, **kwargs):
            self.events.append((name, data))

    heard = Heard()
    runnable.invoke(chat, {"callbacks": [heard]})
    assert heard.runs == ["ContextRunnable"]
    ((name, data),) = heard.events
    assert name == "ctx.prepare"
    assert data["tokens_after"] < data["tokens_before"]
    assert data["compressed"] == 1


async def test_the_run_is_traced_in_async_event_streams(runnable, chat):
    events = [event async for event in runnable.astream_events(chat, version="v2")]
    assert "ctx.prepare" in {event["name"] for event in events}


def test_fields_can_be_configured_per_run(engine, chat):
    runnable = ContextRunnable(engine=engine).configurable_fields(max_tokens=ConfigurableField(id="budget"))
    out = runnable.invoke(chat, {"configurable": {"budget": 200}})
    assert len(out[-1].content) < len(runnable.invoke(chat)[-1].content)


def test_user_and_thread_come_from_the_run(archive):
    runnable = ContextRunnable(engine=ContextEngine(archive=archive), max_tokens=300)
    talk = [HumanMessage("The code word is heron."), AIMessage("Noted."), *_small_talk(20)]
    runnable.invoke(talk, {"configurable": {"user_id": "user-1", "thread_id": "t1"}})
    kept = archive.export("user-1")
    assert kept
    assert {turn.session_id for turn in kept} == {"t1"}
    assert {spec.id for spec in runnable.config_specs} >= {"user_id", "session_id"}


def test_schemas_can_be_drawn(runnable):
    assert runnable.get_input_jsonschema()
    assert runnable.get_output_jsonschema()
    assert "user_id" in str(runnable.get_config_jsonschema())


async def test_the_event_loop_is_not_blocked(engine, monkeypatch):
    import time

    prepare = engine.prepare
    monkeypatch.setattr(engine, "prepare", lambda *args, **kw: (time.sleep(0.3), prepare(*args, **kw))[1])
    beats = 0

    async def beat():
        nonlocal beats
        while True:
            await asyncio.sleep(0.01)
            beats += 1

    task = asyncio.create_task(beat())
    await ContextRunnable(engine=engine).ainvoke([HumanMessage("hi")])
    task.cancel()
    assert beats > 5


def test_runnables_pickle(runnable, chat):
    assert pickle.loads(pickle.dumps(ContextRunnable(max_tokens=900))).max_tokens == 900


def _small_talk(pairs):
    pairs = ((HumanMessage(f"And number {n}, what of it?"), AIMessage(f"Number {n} is fine.")) for n in range(pairs))
    return [message for pair in pairs for message in pair]
