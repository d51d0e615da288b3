"""Faults that users of this field report again and again, each named after its symptom."""

import asyncio
import json
import threading

import pytest
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ThinkingBlock, ToolCallBlock
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import EntityNode, Relation
from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode

from ctx_core import Archive, Evictor, Message, TokenCounter, render
from ctx_core.messages import message_tokens
from llamaindex_ctx import ArchiveRetriever, ContextPostprocessor, bundle_from_property_graph
from llamaindex_ctx.messages import to_message

COUNTER = TokenCounter()


def tool_loop(steps):
    """A task, then nothing but calls and results, as the last model call of a long agent run sees it."""
    chat = [ChatMessage(role="user", content="Find the crate that holds part P-7919.")]
    for n in range(steps):
        call = ToolCallBlock(tool_call_id=f"c{n}", tool_name="open_crate", tool_kwargs={"crate": n})
        chat.append(ChatMessage(role="assistant", blocks=[call]))
        chat.append(
            ChatMessage(
                role="tool", content=f"crate {n}: " + "packing paper " * 40, additional_kwargs={"tool_call_id": f"c{n}"}
            )
        )
    return chat


def test_tool_calls_and_thinking_are_not_counted_as_nothing():
    call = ToolCallBlock(tool_call_id="c1", tool_name="run", tool_kwargs={"text": "word " * 500})
    assert message_tokens(to_message(ChatMessage(role="assistant", blocks=[call])), COUNTER) > 500
    thought = ThinkingBlock(content="step by step " * 200)
    assert (
        message_tokens(to_message(ChatMessage(role="assistant", blocks=[thought, TextBlock(text="ok")])), COUNTER) > 400
    )


@pytest.mark.parametrize("budget", [64, 200, 800])
def test_a_tool_loop_over_the_limit_keeps_the_task_and_starts_with_no_orphan(budget):
    kept = Evictor(keep_recent=1).evict([to_message(message) for message in tool_loop(12)], max_tokens=budget).messages
    assert kept[0].role == "user"
    assert "P-7919" in kept[0].text
    called = [call.id for message in kept for call in message.tool_calls]
    assert [message.tool_call_id for message in kept if message.role == "tool"] == called


def test_a_prompt_that_is_larger_than_the_limit_to_begin_with_degrades_and_does_not_raise():
    given = [Message(role="system", content="rule " * 900), Message(role="user", content="hello")]
    evicted = Evictor().evict(given, max_tokens=100)
    assert not evicted.fits
    assert evicted.reason
    assert [message.role for message in evicted.messages] == ["system", "user"]


def test_metadata_larger_than_the_budget_degrades_and_does_not_raise():
    node = TextNode(text="ERROR disk full. " + "Nothing else happened. " * 200, metadata={"note": "x y z " * 300})
    (out,) = ContextPostprocessor(max_tokens=100).postprocess_nodes([NodeWithScore(node=node, score=1.0)])
    shown = out.node.get_content(metadata_mode=MetadataMode.LLM)
    assert COUNTER.count(shown) <= 100
    assert "ERROR disk full." in shown


def test_every_fact_that_is_shown_is_one_of_the_graph_and_names_where_it_comes_from():
    store = SimplePropertyGraphStore()
    store.upsert_nodes([EntityNode(name=name) for name in ("A -> B", 'C "quoted"', "D\nE")])
    pairs = [("A -> B", "C  quoted "), ("C  quoted ", "D\nE")]
    ids = {node.id for node in store.get()}
    pairs = [(source, target) for source, target in pairs if {source, target} <= ids]
    store.upsert_relations([Relation(label="TO", source_id=source, target_id=target) for source, target in pairs])
    bundle = bundle_from_property_graph(store, "A -> B", depth=3)
    view = render(bundle)
    known = {relation.relation_id for relation in bundle.relations}
    shown = [section for section in view.sections if section.relation_id]
    assert {section.relation_id for section in shown} <= known
    assert all("\n" not in section.text for section in shown)
    assert {tuple(json.loads(relation.relation_id)[:3]) for relation in bundle.relations} == {
        (s, t, "TO") for s, t in pairs
    }


def test_a_background_thread_with_a_loop_of_its_own_closes_nothing_of_the_callers():
    archive = Archive(embedder=None)
    archive.append("user-1", [{"role": "user", "content": "Crate 4 holds part P-4."}])
    retriever = ArchiveRetriever(archive, "user-1")
    loop = asyncio.new_event_loop()
    try:
        thread = threading.Thread(target=lambda: asyncio.run(retriever.aretrieve("crate 4")))
        loop.run_until_complete(retriever.aretrieve("crate 4"))
        thread.start()
        thread.join()
        assert loop.run_until_complete(retriever.aretrieve("crate 4"))
    finally:
        loop.close()
