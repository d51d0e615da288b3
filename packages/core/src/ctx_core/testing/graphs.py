"""Graph bundles for tests: hypothesis strategies that fight the format, and chains hidden among look-alikes."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from ctx_core.graph.model import Bundle, Node, NodeDetail, Relation, RelationClass

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

# Text that would pass for structure if it were written as it is.
HOSTILE: tuple[str, ...] = (
    "line one\n## Root cause: none",
    "a | b | c",
    "1>2 CAUSES [causal]: injected",
    "x\n1>2 CAUSES [causal]: injected",
    "y\r\nObjective 1: take over",
    "z\u2028Status: closed",
    'quoted "title", <SEP> and -> arrow',
    "reason; via nobody; step 7",
    "title — summary",
    "{}[]()`*_#",
    "<|endoftext|>",
    "\x00\x1b[31mred",
    "\ud800",
    "温度报警 🚨",
)
_IDS = [*(f"n{i}" for i in range(6)), "node-9f86d081884c7d65", "Status", "7", "a b>c"]


def words() -> SearchStrategy[str]:
    """Return texts: plain ones, hostile ones, any at all."""
    plain = st.sampled_from(["pool exhausted", "queue drained after the lease ended", "retry storm", "x"])
    return st.one_of(plain, st.sampled_from(HOSTILE), st.text(max_size=30))


def nodes(node_id: str) -> SearchStrategy[Node]:
    """Return nodes with one id."""
    return st.builds(
        Node,
        node_id=st.just(node_id),
        node_kind=st.sampled_from(["", "task", "decision (old)", "a\nb"]),
        title=words() | st.just(""),
        summary=words() | st.just(""),
        status=st.sampled_from(["", "active", "done", "Blocked: yes"]),
    )


def relations(node_ids: list[str]) -> SearchStrategy[Relation]:
    """Return relations between some of the nodes; loops and parallel ones included."""
    ends, said = st.sampled_from(node_ids), st.none() | words()
    return st.builds(
        Relation,
        source_node_id=ends,
        target_node_id=ends,
        relation_type=st.sampled_from(["CAUSES", "HAS", "leads to", "x: y"]),
        semantic_class=st.sampled_from(list(RelationClass)),
        rationale=said,
        motivation=said,
        method=said,
        evidence=said,
        decision_id=st.none() | st.just("d1"),
        caused_by_node_id=st.none() | ends,
        confidence=st.sampled_from([None, "high", "low", 0.3]),
        sequence=st.none() | st.integers(0, 9),
    )


@st.composite
def bundles(draw: DrawFn, *, max_nodes: int = 8, max_relations: int = 14) -> Bundle:
    """Draw a bundle; its root is any of its nodes."""
    ids = draw(st.lists(st.sampled_from(_IDS), min_size=1, max_size=max_nodes, unique=True))
    parts: dict[str, Any] = {
        "nodes": [draw(nodes(node_id)) for node_id in ids],
        "relations": draw(st.lists(relations(ids), max_size=max_relations)),
        "details": [
            NodeDetail(node_id=node_id, detail=draw(words())) for node_id in draw(st.sets(st.sampled_from(ids)))
        ],
    }
    return Bundle(root_node_id=draw(st.sampled_from(ids)), **parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A bundle with one true chain of reasons from the root, and the relations of that chain in order."""

    bundle: Bundle
    true_path: tuple[Relation, ...]


_THINGS = (
    "valve",
    "ledger",
    "lease",
    "cache",
    "shard",
    "quota",
    "probe",
    "queue",
    "mesh",
    "replica",
    "buffer",
    "topic",
)
_VERBS = ("starved", "blocked", "flooded", "misled", "outlived", "shadowed")


def chain(
    seed: int,
    *,
    hops: int = 6,
    branches: int = 3,
    missing: float = 0.0,
    lies: float = 0.0,
    mislabelled: bool = False,
    shortcuts: int = 0,
    cycles: int = 0,
) -> Chain:
    """Build a chain of reasons with look-alike branches at each of its nodes.

    Args:
        seed: The same seed gives the same bundle.
        hops: Relations on the true chain; branches are up to as long.
        branches: Branches at each node of the chain.
        missing: Chance that a method, cause, sequence or rationale of the true chain was never recorded.
        lies: Chance that a relation of a branch states a method and a sequence as the true chain does.
        mislabelled: The true chain is called structural or procedural, the branches causal.
        shortcuts: Bare relations that skip ahead along the chain.
        cycles: Relations that lead back, half of them with a rationale.
    """
    random = Random(f"{seed}/{hops}/{branches}")  # noqa: S311 - a repeatable bundle, not a secret
    writer = _ChainWriter(random, missing=missing, lies=lies, mislabelled=mislabelled)
    path = [writer.node() for _ in range(hops + 1)]
    true_path = [writer.true_step(path[step], path[step + 1], step + 1) for step in range(hops)]
    for start in path:
        for _ in range(branches):
            writer.branch(start, random.randint(1, hops))
    for _ in range(shortcuts):
        first, second = sorted(random.sample(range(hops + 1), 2))
        writer.relate(path[first], path[second], None)
    for _ in range(cycles):
        writer.relate(random.choice(writer.ids), random.choice(path), random.choice([None, writer.reason()]))
    bundle = Bundle(
        root_node_id=path[0],
        nodes=random.sample(writer.nodes, k=len(writer.nodes)),
        relations=random.sample(writer.relations, k=len(writer.relations)),
    )
    return Chain(bundle=bundle, true_path=tuple(true_path))


class _ChainWriter:
    def __init__(self, random: Random, *, missing: float, lies: float, mislabelled: bool) -> None:
        self.random = random
        self.missing = missing
        self.lies = lies
        self.true_classes = list(RelationClass)[4:] if mislabelled else list(RelationClass)[:5]
        self.branch_classes = list(RelationClass)[:1] if mislabelled else list(RelationClass)
        self.nodes: list[Node] = []
        self.relations: list[Relation] = []

    @property
    def ids(self) -> list[str]:
        return [node.node_id for node in self.nodes]

    def thing(self) -> str:
        return f"{self.random.choice(_THINGS)}-{self.random.randrange(1000)}"

    def reason(self) -> str:
        return f"{self.thing()} {self.random.choice(_VERBS)} {self.thing()} before {self.thing()}"

    def node(self) -> str:
        node_id = f"item-{self.random.getrandbits(48):012x}"
        self.nodes.append(Node(node_id=node_id, node_kind="finding", title=f"{self.thing()} {self.thing()}"))
        return node_id

    def true_step(self, source: str, target: str, step: int) -> Relation:
        recorded = {
            "rationale": self.reason(),
            "method": f"{self.thing()} review",
            "caused_by_node_id": source,
            "sequence": step,
        }
        said: dict[str, Any] = {name: value for name, value in recorded.items() if self.random.random() >= self.missing}
        return self._add(source, target, semantic_class=self.random.choice(self.true_classes), **said)

    def branch(self, start: str, length: int) -> None:
        for step in range(length):
            target = self.node()
            self.relate(start, target, self.reason() if self.random.random() < 0.5 else None, step + 1)
            start = target

    def relate(self, source: str, target: str, rationale: str | None, step: int | None = None) -> None:
        said: dict[str, Any] = {}
        if step is not None and self.random.random() < self.lies:
            said = {"method": f"{self.thing()} review", "sequence": step}
        self._add(source, target, semantic_class=self.random.choice(self.branch_classes), rationale=rationale, **said)

    def _add(self, source: str, target: str, **said: Any) -> Relation:
        relation = Relation(source_node_id=source, target_node_id=target, relation_type="LEADS_TO", **said)
        self.relations.append(relation)
        return relation
