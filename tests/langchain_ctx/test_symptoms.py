"""Faults that people met elsewhere; each test is named for what they saw, and shows that it cannot happen here."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import MessagesState, StateGraph

from ctx_core import Archive, ContextEngine, ContextOptimizer, MemoryCcrStore, TokenCounter
from ctx_core.messages import Message, message_tokens
from ctx_core.rehydrate.pairs import repair_tool_pairs
from ctx_core.stores.sqlite.ccr import SqliteCcrStore
from langchain_ctx import (
    ArchivedChatMessageHistory,
    ContextDocumentCompressor,
    ContextMiddleware,
    ContextNode,
    ContextRunnable,
    retrieve_original_tool,
)
from langchain_ctx.messages import all_to_core, all_to_host, to_core
from langchain_ctx.testing.fakes import FakeChatModel, calls
from langchain_ctx.testing.order import assert_legal_order, order_faults
from langchain_ctx.updates import channel_update

COUNTER = TokenCounter()
CONFIG = {"configurable": {"thread_id": "t"}, "recursion_limit": 300}


def engine():
    return ContextEngine(archive=Archive(embedder=None))


def tokens_of(messages):
    return sum(message_tokens(to_core(message), COUNTER) for message in messages)


def prepare(messages, max_tokens, **options):
    return ContextRunnable(engine=engine(), max_tokens=max_tokens, **options).invoke(messages)


def result(call, words=60, **options):
    return ToolMessage(f"result of {call}: " + "word " * words, tool_call_id=call, **options)


def tool_loop(rounds, words=60):
    steps = ([calls((f"c{n}", "f", {"n": n})), result(f"c{n}", words)] for n in range(rounds))
    return [message for step in steps for message in step]


# Pairs of calls and results.


@given(budget=st.integers(64, 900))
def test_trimming_keeps_a_result_whose_call_is_gone(budget):
    chat = [
        SystemMessage("rules"),
        HumanMessage("task"),
        calls(("a", "f", {}), ("b", "f", {})),
        result("a"),
        result("b"),
        AIMessage("so far"),
        HumanMessage("go on"),
        *tool_loop(3),
        AIMessage("done"),
        HumanMessage("and now?"),
    ]
    assert_legal_order(prepare(chat, budget))


@pytest.mark.parametrize("kept", range(2, 12))
def test_a_call_with_two_results_loses_one_of_them(kept):
    chat = [HumanMessage("task"), *tool_loop(4), calls(("a", "f", {}), ("b", "f", {})), result("a"), result("b")]
    out = prepare(chat, 64 + kept * 80)
    answered = {message.tool_call_id for message in out if isinstance(message, ToolMessage)}
    assert answered & {"a", "b"} in (set(), {"a", "b"})
    assert not order_faults(out, "openai")


def test_ten_parallel_calls_are_split_by_keeping_six():
    many = [f"p{n}" for n in range(10)]
    chat = [HumanMessage("task"), calls(*((call, "f", {}) for call in many)), *map(result, many), AIMessage("next")]
    out = prepare([*chat, HumanMessage("go on"), *tool_loop(6)], 700)
    kept = [message for message in out if isinstance(message, ToolMessage) and message.tool_call_id in many]
    assert len(kept) in (0, 10)
    assert not order_faults(out, "openai")


def test_a_history_that_is_not_legal_breaks_the_counter():
    chat = [HumanMessage("task"), calls(("a", "f", {})), HumanMessage("never mind")]
    for order in (chat, chat[::-1]):
        assert prepare(order, 1000)


def test_orphan_results_survive_and_the_provider_refuses():
    chat = [HumanMessage("a"), AIMessage("b"), HumanMessage("c"), result("zzz"), HumanMessage("d"), result("yyy")]
    repaired = all_to_host(repair_tool_pairs(all_to_core(chat)))
    assert not order_faults(repaired, "openai")
    assert repair_tool_pairs(all_to_core(repaired)) == all_to_core(repaired)
    strayed = [HumanMessage("a"), calls(("1", "f", {}), ("2", "f", {})), result("1"), HumanMessage("x"), result("2")]
    assert not order_faults(all_to_host(repair_tool_pairs(all_to_core(strayed))), "openai")


def test_in_a_tool_loop_only_the_system_prompt_is_left():
    out = prepare([SystemMessage("rules"), HumanMessage("the task"), *tool_loop(5, words=200)], 700)
    assert out[0].content == "rules"
    assert "the task" in out[1].content
    assert_legal_order(out)


@pytest.mark.parametrize("chat", [[SystemMessage("s"), HumanMessage("")], [], [SystemMessage("s")], [HumanMessage("")]])
def test_nothing_or_an_empty_message_raises(chat):
    assert prepare(chat, 1000) == chat


def test_without_a_user_message_in_reach_the_history_is_thrown_away():
    chat = [HumanMessage("find the leak"), *tool_loop(12, words=400)]
    box = engine()
    out = ContextRunnable(engine=box, max_tokens=2500, user_id="user-1").invoke(chat)
    assert "find the leak" in out[0].content
    visible = {message.tool_call_id for message in out if isinstance(message, ToolMessage)}
    archived = {turn.tool_call_id for turn in box.archive.export("user-1")}
    assert visible | archived >= {f"c{n}" for n in range(12)}
    assert len(out) > 2


def test_a_failing_step_puts_its_error_text_into_the_history(monkeypatch):
    box = engine()
    chat = [HumanMessage("task"), *tool_loop(20)]
    monkeypatch.setattr("ctx_core.engine.preparation.compose_prompt", lambda *_, **__: 1 / 0)
    out = ContextRunnable(engine=box, max_tokens=400).invoke(chat)
    assert [message.text for message in out] == [message.text for message in chat]


def test_an_early_fact_is_never_seen_again():
    box = engine()
    chat = [HumanMessage("My order id is 8841-X."), AIMessage("Noted.")]
    for n in range(120):
        chat += [HumanMessage(f"Tell me about item {n}. " + "details " * 60), AIMessage(f"Item {n} is in stock.")]
    chat.append(HumanMessage("Remember my order id? I told you earlier what it was."))
    out = ContextRunnable(engine=box, max_tokens=4000, user_id="user-1").invoke(chat)
    assert any("8841-X" in message.text for message in out)


# Counting.


def test_tool_schemas_and_the_system_prompt_are_not_counted():
    @tool
    def busy(text: str) -> str:
        """Do it."""
        return text

    busy.description = "A long description of what it does. " * 120
    chat = [message for n in range(8) for message in (HumanMessage(f"{n} " + "word " * 60), AIMessage("ok"))]
    model = FakeChatModel(script=[AIMessage("done")])
    agent = create_agent(model, [busy], middleware=[ContextMiddleware(engine(), max_tokens=2000)])
    agent.invoke({"messages": [*chat, HumanMessage("now")]}, CONFIG)
    assert tokens_of(model.prompts[0]) < 900


def test_log_probabilities_in_the_metadata_are_sent_or_counted():
    heavy = AIMessage("ok", response_metadata={"logprobs": [{"token": "x", "logprob": -0.1}] * 5000})
    assert tokens_of([heavy]) < 10
    chat = [HumanMessage("hi"), heavy, HumanMessage("and?")]
    out = prepare(chat, 200)
    assert out[1] is heavy


def test_chinese_is_undercounted_by_a_factor_of_four():
    text = "数据库连接失败请检查网络设置然后重试一次" * 70
    assert COUNTER.count(text) <= COUNTER.estimate(text) * 1.6
    out = prepare([HumanMessage("读日志"), calls(("c", "f", {})), ToolMessage(text, tool_call_id="c")], 400)
    assert tokens_of(out) <= 400


def test_base64_is_counted_as_text_or_cut_in_half():
    picture = {"type": "file", "base64": "QUJD" * 25_000, "mime_type": "application/pdf"}
    chat = [HumanMessage([{"type": "text", "text": "see"}, picture]), AIMessage("ok"), HumanMessage("and?")]
    # A document whose pages cannot be counted is one page, by the dearest of the published rules.
    assert tokens_of(chat) < 5000
    assert prepare(chat, 3000)[0] is chat[0]


# Content that is not a string.

SHAPES = [
    [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}],
    ["plain", "text"],
    [],
    [{"type": "image", "base64": "AAAA", "mime_type": "image/png"}],
    "",
]


@pytest.mark.parametrize("content", SHAPES, ids=["mixed", "strings", "none", "image", "empty"])
def test_content_that_is_a_list_raises(content, log):
    chat = [HumanMessage(content), AIMessage(content), HumanMessage(content), calls(("c", "f", {})), ToolMessage(content or log, tool_call_id="c")]  # fmt: skip
    assert prepare(chat, 16_000)[:4] == chat[:4]
    assert ContextNode(engine(), max_tokens=16_000)({"messages": chat})["llm_input_messages"]
    model = FakeChatModel(script=[AIMessage("ok")])
    create_agent(model, [], middleware=[ContextMiddleware(engine(), max_tokens=4000)]).invoke(
        {"messages": chat}, CONFIG
    )
    history = ArchivedChatMessageHistory(Archive(embedder=None), user_id="user-1", session_id="s")
    history.add_messages(chat)
    assert history.messages == chat


def test_content_blocks_of_a_result_are_left_long(log):
    middleware = ContextMiddleware(engine())
    plain = middleware.wrap_tool_call(_request(), lambda _: ToolMessage(log, tool_call_id="c"))
    blocks = middleware.wrap_tool_call(
        _request(), lambda _: ToolMessage([{"type": "text", "text": log}], tool_call_id="c")
    )
    assert blocks.content == [{"type": "text", "text": plain.content}]


def _request(name="f"):
    from types import SimpleNamespace

    return SimpleNamespace(tool=None, tool_call={"name": name, "id": "c", "args": {}}, state={}, runtime=None)


def test_edited_thinking_blocks_lose_their_signature():
    thinking = {"type": "thinking", "thinking": "Let me see. " * 400, "signature": "c2ln"}
    use = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    said = AIMessage(
        [thinking, {"type": "text", "text": "I look."}, use], tool_calls=[{"id": "c", "name": "f", "args": {}}]
    )
    chat = [HumanMessage("task"), said, result("c", 600)]
    before = deepcopy(said)
    out = prepare(chat, 400)
    assert out[1] is said
    assert said == before


@pytest.mark.parametrize("value", [["a", "b"], {"a": 1}, None, 7, ("x", 1), [{"a": 1}], "text"])
def test_a_tool_that_returns_something_else_than_text_is_refused_by_the_provider(value):
    @tool
    def odd() -> object:
        """Return it."""
        return value

    model = FakeChatModel(script=[calls(("c", "odd", {})), AIMessage("done")])
    agent = create_agent(model, [odd], middleware=[ContextMiddleware(engine())])
    (got,) = [m for m in agent.invoke({"messages": [("user", "go")]}, CONFIG)["messages"] if isinstance(m, ToolMessage)]
    assert isinstance(got.content, str) or all(isinstance(block, (str, dict)) for block in got.content)


# Compressing, and getting back.


def test_a_result_is_compressed_again_at_every_turn(log):
    @tool
    def read() -> str:
        """Read."""
        return log

    def script(prompt):
        return AIMessage("ok") if isinstance(prompt[-1], ToolMessage) else calls((f"c{len(prompt)}", "read", {}))

    model = FakeChatModel(script=script)
    agent = create_agent(model, [read], middleware=[ContextMiddleware(engine())], checkpointer=InMemorySaver())
    for question in ("one", "two", "three"):
        agent.invoke({"messages": [HumanMessage(question)]}, CONFIG)
    for before, after in zip(model.prompts, model.prompts[1:], strict=False):
        assert after[: len(before)] == before
    assert model.prompts[-1][2].text.count("CCR:") == 1


def test_reading_back_is_compressed_and_read_back_for_ever():
    wide = "\n".join(chr(ord("a") + n) * 20_000 for n in range(5))

    @tool
    def wide_lines() -> str:
        """Return five very long lines."""
        return wide

    def script(prompt):
        results = [message for message in prompt if isinstance(message, ToolMessage)]
        if not results:
            return calls(("c0", "wide_lines", {}))
        if len(results) < 4:
            ref = results[0].text.split("CCR:")[1][:12]
            return calls((f"c{len(results)}", "retrieve_original", {"ref": ref, "page": len(results)}))
        return AIMessage("done")

    model = FakeChatModel(script=script)
    agent = create_agent(model, [wide_lines], middleware=[ContextMiddleware(engine())])
    out = agent.invoke({"messages": [("user", "read")]}, CONFIG)["messages"]
    pages = [message.text for message in out if isinstance(message, ToolMessage)][1:]
    assert len(pages) == 3
    assert all(3_000 < len(page) < 9_000 and "CCR:" not in page for page in pages)


@pytest.mark.parametrize("call", ["call_x__thought__" + "A" * 1400, "../../etc/passwd", "a/b\\c", "名前 ✓", ""])
def test_an_odd_call_id_makes_the_store_fail_silently(call, tmp_path, log):
    optimizer = ContextOptimizer(SqliteCcrStore(str(tmp_path / "ccr.db")), retrieval_tool="retrieve_original")
    middleware = ContextMiddleware(ContextEngine(archive=Archive(embedder=None), optimizer=optimizer))
    out = middleware.wrap_tool_call(_request(), lambda _: ToolMessage(log, tool_call_id=call))
    assert out.tool_call_id == call
    assert optimizer.retrieve(out.text.split("CCR:")[1][:12]) == log


def test_kept_originals_grow_for_ever_and_reading_one_that_left_raises(rows):
    optimizer = ContextOptimizer(MemoryCcrStore(max_entries=3))
    refs = [optimizer.optimize(rows(start=n * 1000), max_tokens=200).ccr_hash for n in range(10)]
    assert len(optimizer.store) == 3
    out = retrieve_original_tool(optimizer).invoke({"name": "retrieve_original", "args": {"ref": refs[0]}, "id": "c", "type": "tool_call"})  # fmt: skip
    assert (out.status, "expired" in out.text) == ("error", True)


def test_a_notice_names_a_tool_that_is_not_bound(log):
    assert "with the tool" not in prepare([HumanMessage("x"), calls(("c", "f", {})), ToolMessage(log, tool_call_id="c")], 2000)[2].text  # fmt: skip
    bound = ContextMiddleware(engine())
    text = bound.wrap_tool_call(_request(), lambda _: ToolMessage(log, tool_call_id="c")).text
    assert f"with the tool {bound.tools[0].name}" in text


# State and checkpoints.


def test_a_reference_in_an_artifact_comes_back_as_something_else(log):
    box = engine()
    out = ContextMiddleware(box).wrap_tool_call(
        _request(), lambda _: ToolMessage(log, tool_call_id="c", artifact={"n": 1})
    )
    serde = JsonPlusSerializer()
    loaded = serde.loads_typed(serde.dumps_typed(out))
    assert loaded == out
    assert box.optimizer.retrieve(loaded.text.split("CCR:")[1][:12]) == log


@pytest.mark.parametrize("strict", ["true", "false"])
def test_state_cannot_be_serialized_or_changes_its_type(strict, monkeypatch, rows):
    monkeypatch.setenv("LANGGRAPH_STRICT_MSGPACK", strict)

    @tool
    def orders() -> str:
        """List."""
        return rows()

    saver = InMemorySaver()
    model = FakeChatModel(script=[calls(("c", "orders", {})), AIMessage("done")])
    agent = create_agent(model, [orders], middleware=[ContextMiddleware(engine())], checkpointer=saver)
    agent.invoke({"messages": [("user", "go")]}, CONFIG)
    kept = agent.get_state(CONFIG).values["ctx"]
    serde = JsonPlusSerializer()
    assert serde.loads_typed(serde.dumps_typed(kept)) == kept == json.loads(json.dumps(kept))


def test_an_artifact_that_is_no_json_is_lost_without_a_word():
    history = ArchivedChatMessageHistory(Archive(embedder=None), user_id="user-1", session_id="s")
    with pytest.raises(ValueError, match="not plain JSON"):
        history.add_messages([ToolMessage("x", tool_call_id="c", artifact={"deep": [object()]})])


def test_tool_calls_are_lost_on_the_way_through_the_history():
    history = ArchivedChatMessageHistory(Archive(embedder=None), user_id="user-1", session_id="s")
    chat = [
        calls(("c", "f", {"x": 1})).model_copy(update={"id": "a"}),
        result("c", artifact=[1], status="error", name="f", id="t"),
    ]
    history.add_messages(chat)
    assert history.messages == chat


def test_retrieved_documents_pile_up_in_the_checkpoints(log, tmp_path):
    @tool(response_format="content_and_artifact")
    def search(query: str):
        """Search."""
        return log * 2, [{"page_content": log}]

    def script(prompt):
        return (
            AIMessage("ok")
            if isinstance(prompt[-1], ToolMessage)
            else calls((f"c{len(prompt)}", "search", {"query": "x"}))
        )

    with SqliteSaver.from_conn_string(str(tmp_path / "t.db")) as saver:
        model = FakeChatModel(script=script)
        agent = create_agent(
            model, [search], middleware=[ContextMiddleware(engine(), max_tokens=3000)], checkpointer=saver
        )
        for turn in range(20):
            agent.invoke({"messages": [HumanMessage(f"question {turn}")]}, CONFIG)
            assert tokens_of(model.prompts[-1]) <= 3000


def test_a_replaced_history_holds_one_message_twice():
    pairs = ((HumanMessage(f"q{n} " * 40, id=f"q{n}"), AIMessage(f"a{n} " * 40, id=f"a{n}")) for n in range(15))
    chat = [message for pair in pairs for message in pair]
    node = ContextNode(engine(), max_tokens=700, output_messages_key="messages", replace=True)
    update = node({"messages": [*chat, HumanMessage("now", id="now")]})["messages"]
    ids = [message.id for message in update]
    assert len(ids) == len(set(ids))
    twice = [HumanMessage("a", id="1"), HumanMessage("b", id="1")]
    assert channel_update(twice, twice) == []


@pytest.mark.parametrize(
    "chat", [[HumanMessage("hi")], [HumanMessage("x " * 3000)], [SystemMessage("s " * 3000), HumanMessage("hi")]]
)
def test_an_empty_prompt_sends_the_whole_history_instead(chat):
    out = ContextNode(engine(), max_tokens=100)({"messages": chat})["llm_input_messages"]
    assert any(isinstance(message, HumanMessage) for message in out)


def test_what_comes_back_first_breaks_the_order_for_gemini():
    box = engine()
    box.archive.append("user-1", [Message(role="user", content="The key is in locker 12.", id="k")])
    chat = [HumanMessage("hi"), AIMessage("hello"), HumanMessage("Remember the key? Where was it?")]
    out = ContextRunnable(engine=box, user_id="user-1").invoke(chat)
    assert "locker 12" in out[0].text
    assert_legal_order(out)


# Documents.


def test_the_compressor_changes_its_inputs(log):
    documents = [Document(page_content=log, metadata={"n": 1})]
    before = deepcopy(documents)
    compressor = ContextDocumentCompressor(max_tokens=200)
    compressor.compress_documents(documents, "disk")
    compressor.compress_documents(documents, "heartbeat")
    assert documents == before


def test_the_compressor_drops_metadata_and_ids(log):
    (out,) = ContextDocumentCompressor().compress_documents(
        [Document(page_content=log, id="d", metadata={"n": 1})], "x"
    )
    assert (out.id, out.metadata["n"]) == ("d", 1)
    assert all(key.startswith("ctx_") for key in out.metadata.keys() - {"n"})


def test_nothing_passes_and_nothing_is_left(log):
    documents = [Document(page_content=log, id=str(n)) for n in range(3)]
    out = ContextDocumentCompressor(max_tokens=100).compress_documents(documents, "bees and honey")
    assert [document.id for document in out] == ["0", "1", "2"]
    assert all(document.page_content for document in out)


def test_chunks_share_one_metadata_dict(log):
    shared = {"source": "x"}
    documents = [Document(page_content=log, metadata=shared), Document(page_content="short", metadata=shared)]
    out = ContextDocumentCompressor().compress_documents(documents, "x")
    out[0].metadata["mine"] = 1
    out[1].metadata["yours"] = 1
    assert shared == {"source": "x"}
    assert "mine" not in out[1].metadata


# Sync and async, instances, threads.


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
async def test_one_way_to_run_is_not_implemented(way, rows):
    @tool
    def orders() -> str:
        """List."""
        return rows()

    model = FakeChatModel(script=[calls(("c", "orders", {})), AIMessage("done")])
    agent = create_agent(model, [orders], middleware=[ContextMiddleware(engine())])
    asked = {"messages": [HumanMessage("go")]}
    if way == "astream":
        assert [part async for part in agent.astream(asked, CONFIG)]
    elif way == "ainvoke":
        assert (await agent.ainvoke(asked, CONFIG))["messages"][-1].text == "done"
    else:
        assert agent.invoke(asked, CONFIG) if way == "invoke" else [*agent.stream(asked, CONFIG)]


def test_two_instances_are_refused_as_duplicates():
    agent = create_agent(
        FakeChatModel(script=[AIMessage("ok")]),
        [],
        middleware=[ContextMiddleware(engine(), name="a"), ContextMiddleware(engine(), name="b")],
    )
    assert agent.invoke({"messages": [("user", "hi")]}, CONFIG)["messages"][-1].text == "ok"


def test_messages_are_lost_when_two_loops_write_at_once():
    archive = Archive(embedder=None)

    async def write(worker):
        history = ArchivedChatMessageHistory(archive, user_id="user-1", session_id="s")
        for n in range(20):
            await history.aadd_messages([HumanMessage(f"{worker}-{n}", id=f"{worker}-{n}")])
            await history.aget_messages()

    threads = [threading.Thread(target=lambda w=worker: asyncio.run(write(w))) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = ArchivedChatMessageHistory(archive, user_id="user-1", session_id="s").messages
    assert {message.id for message in said} == {f"{worker}-{n}" for worker in range(4) for n in range(20)}


def test_a_loop_of_its_own_closes_the_callers_client(monkeypatch, log):
    def refuse(*args, **kwargs):
        raise AssertionError("no event loop is started on the caller's behalf")

    async def use():
        monkeypatch.setattr(asyncio, "run", refuse)
        monkeypatch.setattr(asyncio, "new_event_loop", refuse)
        box = engine()
        await ContextRunnable(engine=box).ainvoke([HumanMessage("hi")])
        await ContextDocumentCompressor().acompress_documents([Document(page_content=log)], "x")
        await ContextNode(box).acall({"messages": [HumanMessage("hi")]})
        middleware = ContextMiddleware(box)

        async def handler(_):
            return ToolMessage(log, tool_call_id="c")

        await middleware.awrap_tool_call(_request(), handler)

    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(use())
    finally:
        loop.close()


def test_the_database_is_locked_or_used_from_another_thread(tmp_path):
    optimizer = ContextOptimizer(SqliteCcrStore(str(tmp_path / "ccr.db")))

    def write(worker):
        return [(optimizer.store.put(f"{worker}-{n} " * 50), f"{worker}-{n} " * 50) for n in range(100)]

    with ThreadPoolExecutor(8) as pool:
        written = [pair for pairs in pool.map(write, range(8)) for pair in pairs]
    assert all(optimizer.retrieve(ref) == text for ref, text in written)


def test_a_subgraph_sees_the_edited_history(log):
    inner = StateGraph(MessagesState)
    inner.add_node("context", ContextNode(engine(), output_messages_key="messages"))
    inner.set_entry_point("context")
    outer = StateGraph(MessagesState)
    outer.add_node("inner", inner.compile())
    outer.set_entry_point("inner")
    chat = [
        HumanMessage("x", id="h"),
        calls(("c", "f", {})).model_copy(update={"id": "a"}),
        ToolMessage(log, tool_call_id="c", id="t"),
    ]
    out = outer.compile().invoke({"messages": chat})["messages"]
    assert [message.id for message in out] == ["h", "a", "t"]
    assert len(out[2].text) < len(log) / 4
