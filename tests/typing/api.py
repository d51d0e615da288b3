"""Code as users write it: mypy and basedpyright must accept every line, and infer these types."""

from datetime import datetime
from typing import assert_type

from ctx_core import (
    Archive,
    Bundle,
    CacheAligner,
    CompressResult,
    ContentRouter,
    ContextEngine,
    ContextKernel,
    ContextOptimizer,
    CtxSettings,
    Detection,
    Evictor,
    Message,
    Node,
    NodeDetail,
    Prepared,
    Rehydrator,
    RehydratorConfig,
    Relation,
    ScoredTurn,
    TriggerDetector,
    Turn,
    UpdateContext,
    audit,
    render,
)


def optimize(text: str) -> str:
    optimizer = ContextOptimizer()
    result = optimizer.optimize(text, max_tokens=800, query="why did it fail?")
    assert_type(result, CompressResult)
    assert_type(result.original_tokens, int)
    assert_type(ContentRouter().detect(text), Detection)
    return optimizer.retrieve(result.ccr_hash, lines=(1, 10)) if result.ccr_hash else result.compressed


def align(messages: list[Message]) -> list[Message]:
    return list(CacheAligner().align(messages, conversation_id="c1").messages)


def rehydrate(messages: list[Message], now: datetime) -> list[Message]:
    archive = Archive()
    archive.append("user-1", [Turn(id="t1", role="user", content="hello", created_at=now)], session_id=None)
    assert_type(archive.search("user-1", "query", top_k=5), list[ScoredTurn])
    assert_type(TriggerDetector().detect("remember when we met"), str | None)
    window = Evictor().evict(messages, max_tokens=1000).messages
    return Rehydrator(archive, config=RehydratorConfig(max_rehydrated=3)).rehydrate(window, user_id="user-1").messages


def show(budget: int) -> str:
    bundle = Bundle(
        root_node_id="n0",
        nodes=[Node(node_id="n0", node_kind="incident", title="Checkout slow"), Node(node_id="n1")],
        relations=[
            Relation(
                source_node_id="n0",
                target_node_id="n1",
                relation_type="CAUSED_BY",
                semantic_class="causal",
                rationale="why",
            )
        ],
        details=[NodeDetail(node_id="n1", detail="pool of 10")],
    )
    view = render(bundle, max_tokens=budget, mode="auto")
    audit("the pool was exhausted", view)
    return view.text


def keep(kernel: ContextKernel) -> str:
    kernel.update_context(
        UpdateContext(root_node_id="n0", role="agent", changes=[Node(node_id="n0")], idempotency_key="k1")
    )
    return kernel.get_context("n0", max_tokens=500).text


async def prepare(messages: list[Message]) -> list[Message]:
    engine = ContextEngine.from_settings(CtxSettings.load(), strict=True)
    prepared = await engine.aprepare(messages, user_id="user-1", max_tokens=8000, chunks=["…"], graph_root="n0")
    assert_type(prepared, Prepared)
    assert_type(prepared.report.tokens_after, int)
    return prepared.messages
