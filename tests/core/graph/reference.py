"""The published selection rules of rehydration-kernel, and graphs of the shape it is measured on, in our own words.

The rules: relations in order of class, a fixed cap of 100 and 500 tokens for the first two tiers, whole lines kept or
dropped, and a mode chosen by tokens per node and causal density.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ctx_core.graph.model import Bundle, Node, NodeDetail, Relation, RelationClass
from ctx_core.tokens import TokenCounter

BUDGETS = (96, 128, 192, 256, 512, 4096)
_RANK = {relation_class: rank for rank, relation_class in enumerate(RelationClass)}
_EXPLANATORY = list(RelationClass)[:4]
_DENSE = list(RelationClass)[:3]
_COUNT = TokenCounter()


# ------------------------------------------------------------------------------------------------ the rules
def tier_caps(total: int, *, resume: bool) -> tuple[int, int, int]:
    """Return how many tokens each tier may have."""
    first = min(total, 100)
    second = total - first if resume else min(total - first, 500)
    return first, second, 0 if resume else total - first - second


def resumes(total: int | None, nodes: int, density: float, *, focus: bool = False, session: bool = False) -> bool:
    """Say whether AUTO chooses `resume_focused`."""
    if total is None or nodes == 0:
        return False
    enough = 15 if session else 60 if focus else 30
    return density < (0.2 if total // nodes >= enough else 0.5)


def density(bundle: Bundle) -> float:
    """Return the share of causal, motivational and evidential relations."""
    relations = bundle.relations
    return sum(r.semantic_class in _DENSE for r in relations) / len(relations) if relations else 0.0


def reference_lines(bundle: Bundle) -> list[tuple[int, str, str]]:
    """Return (tier, line, relation id or nothing) in the order in which the rules keep them."""
    relations = sorted(bundle.relations, key=_sequence)
    relations.sort(key=lambda r: _RANK[r.semantic_class])
    lines = [(0, _node_line(bundle.root), "")]
    lines += [(1 if r.semantic_class in _EXPLANATORY else 2, _relation_line(r), r.relation_id) for r in relations]
    lines += [(2, _node_line(node), "") for node in sorted(bundle.nodes[1:], key=lambda n: n.node_id)]
    lines += [(2, f"Detail {d.node_id} [rev {d.revision}]: {d.detail}", "") for d in bundle.details]
    return lines


def reference_keeps(bundle: Bundle, total: int) -> tuple[str, set[str]]:
    """Return the text and the relation ids that the rules keep under a budget."""
    caps = tier_caps(total, resume=resumes(total, len(bundle.nodes), density(bundle)))
    used, kept, ids = [0, 0, 0], [], set[str]()
    for tier, line, relation_id in reference_lines(bundle):
        cost = _COUNT(line)
        if not kept or (used[tier] + cost <= caps[tier] and sum(used) + cost <= total):
            used[tier] += cost
            kept.append(line)
            ids.add(relation_id)
    return "\n\n".join(kept), ids - {""}


def _sequence(relation: Relation) -> tuple[float, str, str, str]:
    step = math.inf if relation.sequence is None else relation.sequence
    return step, relation.source_node_id, relation.target_node_id, relation.relation_type


def _node_line(node: Node) -> str:
    return f"Node {node.title} ({node.node_kind})" + (f": {node.summary}" if node.summary else "")


def _relation_line(relation: Relation) -> str:
    why = relation.rationale or relation.motivation
    parts = [
        f"Relationship {relation.source_node_id} --{relation.relation_type}--> {relation.target_node_id}",
        f"[{relation.semantic_class}]",
        f"because {why}" if why else "",
        f"via {relation.method}" if relation.method else "",
        f"decision={relation.decision_id}" if relation.decision_id else "",
        f"caused_by={relation.caused_by_node_id}" if relation.caused_by_node_id else "",
        f"step={relation.sequence}" if relation.sequence is not None else "",
    ]
    return " ".join(part for part in parts if part)


# ------------------------------------------------------------------------------------------------ the graphs
_SCALES = {"micro": (3, 0, 1.0), "meso": (5, 3, 0.6), "stress": (8, 5, 0.3)}
_DOMAINS = {
    "operations": (
        ("decision", "TRIGGERS", "causal"),
        ("task", "AUTHORIZES", "motivational"),
        ("artifact", "PRODUCES", "procedural"),
        ("evidence", "VERIFIED_BY", "evidential"),
    ),
    "debugging": (
        ("hypothesis", "SUSPECTS", "causal"),
        ("investigation", "INVESTIGATES", "evidential"),
        ("fix", "FIXES", "procedural"),
        ("test", "VALIDATES", "evidential"),
    ),
}
_MIXES = (
    ("explanatory", "clean"),
    ("explanatory", "competing"),
    ("structural", "clean"),
    ("structural", "conflicting"),
    ("mixed", "clean"),
    ("mixed", "restart"),
)


@dataclass(frozen=True)
class Cell:
    """One of the 36 kinds of graph, with a seed that turns its kinds round."""

    scale: str
    domain: str
    mix: str
    noise: str
    seed: int = 0

    @property
    def name(self) -> str:
        return f"{self.scale} {self.domain} {self.mix}/{self.noise}"

    @cached_property
    def bundle(self) -> Bundle:
        hops, branches, detailed = _SCALES[self.scale]
        ids = [f"{self.domain}:case:step-{depth}" for depth in range(hops + 1)]
        nodes = [
            Node(
                node_id=ids[0],
                node_kind="incident",
                title="Case opened",
                summary="The case under review.",
                status="ACTIVE",
            )
        ]
        nodes += [self._chain_node(ids[depth], depth) for depth in range(1, hops + 1)]
        relations = [self._chain_relation(ids, depth) for depth in range(1, hops + 1)]
        for depth in range(1, hops + 1):
            for branch in range(branches):
                node_id = f"{self.domain}:case:aside-{depth}-{branch}"
                nodes.append(
                    Node(
                        node_id=node_id,
                        node_kind="artifact",
                        title=f"Aside {depth}.{branch}",
                        summary="Met on the way.",
                    )
                )
                relations.append(self._aside(ids[depth - 1], node_id, depth, branch))
        first = 0 if detailed >= 1 else 1
        details = [
            NodeDetail(
                node_id=ids[depth], detail=f"Record of step {depth}: readings taken, notes kept, two people present."
            )
            for depth in range(first, hops + 1)
            if depth < hops * detailed
        ]
        return Bundle(root_node_id=ids[0], nodes=nodes, relations=relations, details=details)

    @cached_property
    def chain_ids(self) -> set[str]:
        """The ids of the relations of the main chain."""
        return {r.relation_id for r in self.bundle.relations if "aside" not in r.target_node_id}

    def _kind(self, depth: int) -> tuple[str, str, str]:
        return _DOMAINS[self.domain][(depth + self.seed) % 4]

    def _chain_node(self, node_id: str, depth: int) -> Node:
        kind = self._kind(depth)[0]
        return Node(
            node_id=node_id,
            node_kind=kind,
            title=f"Step {depth} {kind}",
            summary=f"What the {kind} at step {depth} found.",
            status="DONE",
        )

    def _chain_relation(self, ids: list[str], depth: int) -> Relation:
        kind, relation_type, semantic_class = self._kind(depth)
        bare = self.mix == "structural"
        if bare or (self.mix == "mixed" and depth % 2):
            semantic_class = "structural"
        return Relation(
            source_node_id=ids[depth - 1],
            target_node_id=ids[depth],
            relation_type=relation_type,
            semantic_class=semantic_class,
            rationale=None if bare else f"the finding at step {depth} (turn {self.seed}) left only this way to go on",
            method=None if bare else f"{kind} check",
            decision_id=f"decision-{depth}",
            caused_by_node_id=ids[depth - 1],
            sequence=depth,
        )

    def _aside(self, source: str, target: str, depth: int, branch: int) -> Relation:
        _, relation_type, semantic_class = self._kind(depth)
        why = {
            "competing": (
                relation_type,
                semantic_class,
                f"another reading of step {depth} points to way {branch} as well",
            ),
            "conflicting": ("CONTRADICTS", "causal", f"way {branch} would undo what step {depth} found"),
            "restart": ("RECOVERY_CANDIDATE", "motivational", f"one could start again at step {depth} by way {branch}"),
        }.get(self.noise)
        relation_type, semantic_class, rationale = why or ("DISTRACTOR", "structural", None)
        spoken = rationale if self.mix != "structural" else None
        return Relation(
            source_node_id=source,
            target_node_id=target,
            relation_type=relation_type,
            semantic_class=semantic_class,
            rationale=spoken,
            motivation="keep the options open" if spoken and self.noise == "competing" else None,
            sequence=100 + branch,
        )


def cells(*, seed: int = 0) -> Iterator[Cell]:
    """Yield the 36 cells."""
    for scale in _SCALES:
        for domain in _DOMAINS:
            for mix, noise in _MIXES:
                yield Cell(scale, domain, mix, noise, seed)
