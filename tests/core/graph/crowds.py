"""One numbered story in a crowd of relations that carry more than it does; each kind of crowd misleads in its own way."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Any

from ctx_core.graph.model import Bundle, Node, Relation, RelationClass

THINGS = ("bridge", "harbour", "signal", "turbine", "pump", "barge", "crane", "sluice", "gate", "ferry")
VERBS = ("jammed", "flooded", "misread", "overran", "stalled", "scraped")
CLASSES = list(RelationClass)


@dataclass
class Crowd:
    """A bundle in the making, with the relations of its true story in order."""

    random: Random
    nodes: list[Node] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    story: list[Relation] = field(default_factory=list)

    def reason(self) -> str:
        first, second = (self.random.choice(THINGS) for _ in range(2))
        return f"the {first} {self.random.choice(VERBS)} the {second} in shift {len(self.relations):05d}"

    def node(self, **said: Any) -> str:
        node_id = f"record-{len(self.nodes):05d}"
        title = f"{self.random.choice(THINGS).title()} {self.random.choice(VERBS)} {len(self.nodes)}"
        self.nodes.append(Node(node_id=node_id, node_kind="record", title=title, **said))
        return node_id

    def relate(self, source: str, target: str, **said: Any) -> Relation:
        relation = Relation(
            source_node_id=source,
            target_node_id=target,
            relation_type=said.pop("relation_type", "LED_TO"),
            **{"semantic_class": self.random.choice(CLASSES), "rationale": self.reason(), **said},
        )
        self.relations.append(relation)
        return relation

    def rich(self) -> dict[str, Any]:
        """Return all that a relation can carry beside its reason."""
        return {
            "method": f"{self.random.choice(THINGS)} survey",
            "evidence": f"sheet {self.random.randrange(99)}",
            "confidence": "high",
            "decision_id": f"decision-{self.random.randrange(9)}",
            "semantic_class": "causal",
        }

    def tell(self, numbers: list[int], *, upstream: bool = False) -> list[str]:
        """Add the true story from the root; return the nodes it visits."""
        path = [self.nodes[0].node_id if self.nodes else self.node()]
        for number in numbers:
            path.append(self.node())
            ends = (path[-1], path[-2]) if upstream else (path[-2], path[-1])
            self.story.append(self.relate(*ends, sequence=number, semantic_class=self.random.choice(CLASSES[:4])))
        return path

    def chain(self, start: str, steps: int, first: int | None = None, **said: Any) -> list[str]:
        """Add a path of relations that is not the story."""
        path = [start]
        for step in range(steps):
            path.append(self.node())
            self.relate(*path[-2:], sequence=None if first is None else first + step, **{**self.rich(), **said})
        return path

    def fill(self, count: int, number: Callable[[], int | None] = lambda: None) -> None:
        """Add relations between any nodes until there are five a node."""
        while len(self.nodes) < count:
            self.relate(self.random.choice(self.nodes).node_id, self.node(), sequence=number(), **self.rich())
        while len(self.relations) < 5 * count:
            source, target = self.random.sample(self.nodes, 2)
            said = self.rich() if self.random.random() < 0.6 else {"rationale": None}
            self.relate(source.node_id, target.node_id, sequence=number(), **said)

    def bundle(self) -> Bundle:
        return Bundle(
            root_node_id=self.nodes[0].node_id,
            nodes=self.random.sample(self.nodes, len(self.nodes)),
            relations=self.random.sample(self.relations, len(self.relations)),
        )


def _richer(crowd: Crowd, hops: int, count: int) -> None:
    crowd.tell(list(range(1, hops + 1)))
    crowd.fill(count)


def _longer(crowd: Crowd, hops: int, count: int) -> None:
    for node_id in crowd.tell(list(range(1, hops + 1))):
        for _ in range(2):
            crowd.chain(node_id, 2 * hops)
    crowd.fill(count)


def _from_zero(crowd: Crowd, hops: int, count: int) -> None:
    for node_id in crowd.tell(list(range(hops)))[2:]:
        crowd.chain(node_id, hops, first=1)
    crowd.fill(count)


def _other_ranges(crowd: Crowd, hops: int, count: int) -> None:
    path = crowd.tell(list(range(1, hops + 1)))
    for first in (100, 37, 1000):
        crowd.chain(path[0], 2 * hops, first=first)
    crowd.fill(count)


def _restarting(crowd: Crowd, hops: int, count: int) -> None:
    path = crowd.tell(list(range(1, hops + 1)))
    for node_id in path[1:]:
        crowd.chain(node_id, 2 * hops, first=1)
    crowd.chain(crowd.node(), 3 * hops, first=1)
    crowd.fill(count)


def _sparse(crowd: Crowd, hops: int, count: int) -> None:
    crowd.tell([10 * step for step in range(1, hops + 1)])
    crowd.fill(count, lambda: crowd.random.randrange(120) if crowd.random.random() < 0.5 else None)


def _gaps(crowd: Crowd, hops: int, count: int) -> None:
    crowd.tell(sorted(crowd.random.sample(range(1, 5 * hops), hops)))
    crowd.fill(count)


def _numbers_at_random(crowd: Crowd, hops: int, count: int) -> None:
    crowd.tell(list(range(1, hops + 1)))
    crowd.fill(count, lambda: crowd.random.randrange(40))


def _few_numbers_at_random(crowd: Crowd, hops: int, count: int) -> None:
    crowd.tell(list(range(1, hops + 1)))
    crowd.fill(count, lambda: crowd.random.randrange(2 * hops) if crowd.random.random() < 0.3 else None)


def _cycles(crowd: Crowd, hops: int, count: int) -> None:
    path = crowd.tell(list(range(1, hops + 1)))
    for _ in range(4 * hops):
        source, target = crowd.random.sample(path, 2)
        crowd.relate(source, target, **crowd.rich())
        crowd.relate(crowd.node(), target, **crowd.rich())
    crowd.fill(count)


def _parallel(crowd: Crowd, hops: int, count: int) -> None:
    path = crowd.tell(list(range(1, hops + 1)))
    for source, target in pairwise(path):
        crowd.relate(source, target, relation_type="SEEN_WITH", **crowd.rich())
        crowd.relate(source, target, relation_type="NEAR", sequence=crowd.random.randrange(50, 90), **crowd.rich())
    crowd.fill(count)


def _contradicted(crowd: Crowd, hops: int, count: int) -> None:
    path = crowd.tell(list(range(1, hops + 1)))
    other = crowd.chain(path[0], hops + 2, first=1)
    for node_id in other[1:]:
        crowd.relate(crowd.node(), node_id, relation_type="CONTRADICTS")
    third = crowd.chain(path[0], 1)
    for step in range(hops):
        third.append(crowd.node(status="rejected"))
        crowd.relate(*third[-2:], sequence=step + 2, **crowd.rich())
    crowd.fill(count)


def _outdated(crowd: Crowd, hops: int, count: int) -> None:
    path = crowd.tell(list(range(1, hops + 1)))
    crowd.chain(path[0], hops + 3, first=1, valid_from="2026-01-01", valid_until="2026-02-01")
    crowd.fill(count)


def _upstream(crowd: Crowd, hops: int, count: int) -> None:
    crowd.tell(list(range(hops, 0, -1)), upstream=True)
    crowd.fill(count)


def _upstream_from_the_root(crowd: Crowd, hops: int, count: int) -> None:
    crowd.tell(list(range(1, hops + 1)), upstream=True)
    crowd.fill(count)


def _hub(crowd: Crowd, hops: int, count: int) -> None:
    path = crowd.tell(list(range(1, hops + 1)))
    for number in range(60):
        crowd.relate(path[0], crowd.node(), sequence=number % 7, **crowd.rich())
    crowd.fill(count)


KINDS: dict[str, Callable[[Crowd, int, int], None]] = {
    "richer": _richer,
    "longer": _longer,
    "numbered from zero": _from_zero,
    "numbered in other ranges": _other_ranges,
    "numbered from one elsewhere": _restarting,
    "in tens among random numbers": _sparse,
    "numbered with gaps": _gaps,
    "random numbers": _numbers_at_random,
    "few random numbers": _few_numbers_at_random,
    "cycles": _cycles,
    "parallel": _parallel,
    "contradicted": _contradicted,
    "outdated": _outdated,
    "causes that lead to the root": _upstream,
    "causes numbered from the root": _upstream_from_the_root,
    "a hub of numbers": _hub,
}


def crowd(kind: str, seed: int, *, hops: int = 6, count: int = 120) -> tuple[Bundle, list[Relation]]:
    """Build a crowd of a kind; return the bundle and its true story, nearest to the root first."""
    made = Crowd(Random(f"{kind}/{seed}/{hops}/{count}"))
    KINDS[kind](made, hops, count)
    return made.bundle(), made.story
