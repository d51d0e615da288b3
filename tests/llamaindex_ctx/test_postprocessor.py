"""Retrieved nodes get shorter and keep everything else."""

import asyncio
import pickle
import random
import time
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core import MockEmbedding, PromptTemplate, SummaryIndex, VectorStoreIndex
from llama_index.core.callbacks import CallbackManager
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms import MockLLM
from llama_index.core.schema import (
    ImageNode,
    MediaResource,
    MetadataMode,
    Node,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)

from ctx_core import ContextOptimizer, TokenCounter
from llamaindex_ctx import ContextPostprocessor
from llamaindex_ctx.nodes import HASH_KEY

COUNT = TokenCounter().count
WORDS = "pump valve seal motor sensor alarm depot shelf cargo truck route driver invoice order".split()
LOG = "\n".join([*(f"INFO tick {n} ok" for n in range(600)), "ERROR disk full on /data", "INFO bye"])


def log_node(**fields):
    return TextNode(text=LOG, metadata={"file": "run.log"}, **fields)


def found(*nodes):
    return [NodeWithScore(node=node, score=1 - at / 10) for at, node in enumerate(nodes)]


def sent(nodes):
    """Count what a synthesizer sends."""
    return sum(COUNT(node.node.get_content(metadata_mode=MetadataMode.LLM)) for node in nodes)


def test_a_postprocessor_is_one():
    assert "BaseNodePostprocessor" in [cls.__name__ for cls in ContextPostprocessor.__mro__]


def test_text_shrinks_and_the_error_stays():
    (out,) = ContextPostprocessor().postprocess_nodes(found(log_node()), query_str="what failed?")
    assert "ERROR disk full on /data" in out.node.text
    assert sent([out]) < COUNT(LOG) / 10


def test_ids_scores_order_relationships_and_metadata_stay_and_inputs_are_untouched():
    relation = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="doc-1")}
    nodes = found(log_node(id_="a", relationships=relation), TextNode(text="short", id_="b"), log_node(id_="c"))
    before = [node.model_dump_json() for node in nodes]
    out = ContextPostprocessor(max_tokens=400).postprocess_nodes(nodes, query_str="what failed?")
    assert [(node.node_id, node.score) for node in out] == [("a", 1.0), ("b", 0.9), ("c", 0.8)]
    assert out[0].node.relationships == relation
    assert out[0].metadata["file"] == "run.log"
    assert [node.model_dump_json() for node in nodes] == before


def test_nodes_share_no_metadata_after_copying():
    node = log_node()
    (out,) = ContextPostprocessor().postprocess_nodes(found(node))
    out.node.metadata["mine"] = 1
    out.node.relationships["x"] = 1
    assert "mine" not in node.metadata
    assert not node.relationships


@pytest.mark.parametrize("budget", [120, 300, 1000])
def test_the_joint_budget_counts_what_the_synthesizer_sends(budget):
    nodes = found(*(log_node(id_=f"n{n}", excluded_llm_metadata_keys=[]) for n in range(2)))
    assert sent(ContextPostprocessor(max_tokens=budget).postprocess_nodes(nodes)) <= budget


def test_metadata_hidden_from_the_model_does_not_use_up_the_budget():
    hidden = TextNode(text=LOG, metadata={"raw": "x y z " * 800}, excluded_llm_metadata_keys=["raw"])
    shown = TextNode(text=LOG, metadata={"raw": "x y z " * 20})
    (with_hidden,) = ContextPostprocessor(max_tokens_per_node=200).postprocess_nodes(found(hidden))
    assert "ERROR disk full" in with_hidden.node.text
    assert sent(ContextPostprocessor(max_tokens_per_node=200).postprocess_nodes(found(shown))) <= 200


def test_the_reference_is_kept_from_model_and_index_and_gets_the_original_back():
    optimizer = ContextOptimizer()
    (out,) = ContextPostprocessor(optimizer=optimizer, max_tokens=100).postprocess_nodes(found(log_node()))
    reference = out.metadata[HASH_KEY]
    assert f"{HASH_KEY}:" not in out.node.get_content(metadata_mode=MetadataMode.LLM)
    assert f"{HASH_KEY}:" not in out.node.get_content(metadata_mode=MetadataMode.EMBED)
    assert optimizer.retrieve(reference) == LOG


def test_images_empty_nodes_and_no_nodes_pass_through():
    image = ImageNode(image="aGVsbG8=")
    nodes = found(image, TextNode(text=""), Node(image_resource=MediaResource(data=b"aGVsbG8=")))
    out = ContextPostprocessor(max_tokens=100).postprocess_nodes(nodes)
    assert [a.node for a in out] == [b.node for b in nodes]
    assert ContextPostprocessor().postprocess_nodes([]) == []


def test_a_multimodal_node_keeps_its_image():
    node = Node(text_resource=MediaResource(text=LOG), image_resource=MediaResource(data=b"aGVsbG8="))
    (out,) = ContextPostprocessor().postprocess_nodes(found(node))
    assert out.node.image_resource == node.image_resource
    assert COUNT(out.node.text_resource.text) < 200
    assert node.text_resource.text == LOG


def test_a_failing_store_leaves_the_nodes_as_they_were():
    class Broken:
        counter = TokenCounter()

        def optimize(self, *_args, **_kwargs):
            raise OSError("no store")

    post = ContextPostprocessor()
    object.__setattr__(post, "optimizer", Broken())
    nodes = found(log_node())
    assert post.postprocess_nodes(nodes)[0].node.text == LOG


def test_it_round_trips_through_dicts_and_pickle():
    post = ContextPostprocessor(max_tokens=500, max_tokens_per_node=100)
    assert "optimizer" not in post.to_dict()
    again = ContextPostprocessor.from_dict(post.to_dict())
    assert (again.max_tokens, again.max_tokens_per_node) == (500, 100)
    copy = pickle.loads(pickle.dumps(post))
    assert "ERROR disk full" in copy.postprocess_nodes(found(log_node()))[0].node.text


async def test_the_async_path_does_not_block_the_loop():
    beats = 0

    async def heart():
        nonlocal beats
        while True:
            beats += 1
            await asyncio.sleep(0.001)

    class Slow(ContextOptimizer):
        def optimize(self, text, **options):
            time.sleep(0.2)
            return super().optimize(text, **options)

    task = asyncio.create_task(heart())
    out = await ContextPostprocessor(optimizer=Slow()).apostprocess_nodes(found(log_node()), QueryBundle("why?"))
    task.cancel()
    assert "ERROR disk full" in out[0].node.text
    assert beats > 20


class Seen(BaseEventHandler):
    events: ClassVar[list[str]] = []

    @classmethod
    def class_name(cls):
        return "Seen"

    def handle(self, event, **_):
        self.events.append(event.class_name())


def test_an_instrumentation_event_says_what_was_saved():
    seen = Seen()
    root = get_dispatcher()
    root.add_event_handler(seen)
    try:
        ContextPostprocessor().postprocess_nodes(found(log_node()))
    finally:
        root.event_handlers.remove(seen)
    assert "ContextOptimizedEvent" in seen.events


@pytest.mark.parametrize("mode", ["query", "aquery", "stream"])
async def test_a_query_engine_sends_fewer_tokens_and_keeps_the_needle(mode):
    index = SummaryIndex([log_node(), TextNode(text="Jobs run at night.")])
    options = {"llm": MockLLM(), "node_postprocessors": [ContextPostprocessor(max_tokens=300)]}
    engine = index.as_query_engine(streaming=mode == "stream", **options)
    answer = await engine.aquery("What failed?") if mode == "aquery" else engine.query("What failed?")
    text = "".join(answer.response_gen) if mode == "stream" else str(answer)
    assert "ERROR disk full on /data" in text
    assert COUNT(text) < 500


async def test_a_chat_engine_uses_it_sync_and_async():
    index = VectorStoreIndex([log_node()], embed_model=MockEmbedding(4))
    options = {"llm": MockLLM(), "node_postprocessors": [ContextPostprocessor(max_tokens=300)], "chat_mode": "context"}
    assert "ERROR disk full" in str(index.as_chat_engine(**options).chat("What failed?"))
    assert "ERROR disk full" in str(await index.as_chat_engine(**options).achat("What failed?"))


def test_the_engine_may_set_a_callback_manager():
    post = ContextPostprocessor()
    post.callback_manager = CallbackManager([])
    assert post.postprocess_nodes(found(log_node()))
    assert PromptTemplate("{x}")


def prose_nodes(count, *, words=60, **metadata):
    return found(
        *(
            TextNode(
                text=f"Shelf {n} was counted. " + " ".join(f"crate {n * 31 + w} is dry" for w in range(words // 4)),
                metadata={"file": f"shelf{n}.txt", "page": n, **metadata},
            )
            for n in range(count)
        )
    )


@settings(max_examples=15, deadline=None)
@given(
    count=st.integers(1, 30),
    budget=st.integers(48, 900),
    each=st.none() | st.integers(60, 300),
    long=st.booleans(),
)
def test_all_that_is_sent_is_within_the_joint_budget_and_every_node_stays_in_its_place(count, budget, each, long):
    nodes = prose_nodes(count, **({"summary": "The hall is cold today. " * 40} if long else {}))
    out = ContextPostprocessor(max_tokens=budget, max_tokens_per_node=each).postprocess_nodes(
        nodes, query_str="shelf 3?"
    )
    texts = [node.node.get_content(metadata_mode=MetadataMode.LLM) for node in out]
    assert COUNT("\n\n".join(text for text in texts if text)) <= budget
    assert [(node.node_id, node.score) for node in out] == [(node.node_id, node.score) for node in nodes]
    assert all(after.metadata.items() >= before.metadata.items() for before, after in zip(nodes, out, strict=True))
    assert each is None or all(COUNT(text) <= each for text in texts)


def test_what_there_is_no_room_for_is_named_in_one_note_that_gets_all_of_it_back():
    optimizer = ContextOptimizer()
    nodes = prose_nodes(40)
    out = ContextPostprocessor(max_tokens=300, optimizer=optimizer).postprocess_nodes(
        nodes, query_str="Is shelf 0 dry?"
    )
    texts = [node.node.get_content(metadata_mode=MetadataMode.LLM) for node in out]
    (note,) = [text for text in texts if text.startswith("[… ")]
    gone = [before for before, text in zip(nodes, texts, strict=True) if not text or text is note]
    original = optimizer.retrieve(note.split("CCR:")[1][:12])
    assert f"{len(gone)} chunks" in note
    assert all(node.node.text in original for node in gone)
    assert all(optimizer.retrieve(node.metadata[HASH_KEY]) for node, text in zip(out, texts, strict=True) if not text)


def test_the_node_that_answers_stays_though_its_score_is_the_lowest():
    answer = TextNode(text="The blue seal from Norr stands 140 degrees.")
    nodes = [*prose_nodes(40), NodeWithScore(node=answer, score=-9.0)]
    out = ContextPostprocessor(max_tokens=300).postprocess_nodes(nodes, query_str="Who makes the blue seal?")
    assert "Norr" in out[-1].node.text


def test_metadata_longer_than_the_limit_of_a_node_is_hidden_from_the_model_and_stays_in_the_node():
    (out,) = ContextPostprocessor(max_tokens_per_node=100).postprocess_nodes(
        prose_nodes(1, summary="The hall is cold today. " * 40)
    )
    assert sent([out]) <= 100
    assert "file: shelf0.txt" in out.node.get_content(metadata_mode=MetadataMode.LLM)
    assert out.metadata["summary"].startswith("The hall is cold")


def test_a_note_that_points_at_another_node_names_one_that_the_prompt_numbers():
    words = random.Random(1)
    text = "\n".join(f"line {n}: " + " ".join(words.choices(WORDS, k=6)) for n in range(40))
    first, *others = ContextPostprocessor(max_tokens=1200).postprocess_nodes(
        found(*(TextNode(text=text) for _ in range(6)))
    )
    assert first.node.text.startswith("[chunk 1]\n")
    assert {node.node.text for node in others} == {"[same as chunk 1]"}
