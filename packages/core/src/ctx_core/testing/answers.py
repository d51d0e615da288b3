"""Answers with a known truth about a known graph, to measure how well an audit finds it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from ctx_core.graph.audit import Verdict
from ctx_core.graph.model import Bundle, Node, Relation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedAnswer:
    """An answer, how it was made, and the verdicts that would be right for its claims."""

    kind: str
    text: str
    right: frozenset[Verdict]


_PLACES: Final = (
    "north dock", "rail yard", "cold store", "print room", "pump house", "ticket hall", "boiler deck", "mail desk",
    "grain silo", "paint shop", "signal box", "water tower",
)  # fmt: skip
_SUBJECTS: Final = (
    "the night crew", "a worn gasket", "the new timetable", "a mislabelled crate", "the backup generator",
    "an expired permit", "the conveyor belt", "a frozen pipe", "the loading crane", "a double booking",
    "the fire drill", "a stuck float switch",
)  # fmt: skip
_ACTIONS: Final = (
    "delayed the unloading of pallets", "drained the reserve tank", "forced a detour of the trucks",
    "overheated the transformer", "blocked the emergency exit", "hid the overdue inspection",
    "emptied the spare parts shelf", "doubled the waiting time", "flooded the sorting table", "stopped the ventilation fans",
)  # fmt: skip
_OTHER_REASONS: Final = (
    "a software licence had lapsed", "somebody unplugged the router", "the courier lost the manifest",
    "a squirrel chewed the cable", "the invoice was never approved", "an earthquake shook the shelves",
)  # fmt: skip
# Another word for most of the words above: what a free retelling would use.
_SYNONYMS: Final = {
    "crew": "shift", "worn": "old", "gasket": "seal", "timetable": "schedule", "mislabelled": "wrongly tagged",
    "crate": "box", "backup": "standby", "expired": "outdated", "permit": "licence", "conveyor": "transport",
    "frozen": "iced", "pipe": "tube", "loading": "lifting", "booking": "reservation", "drill": "exercise",
    "delayed": "held up", "unloading": "clearing", "drained": "used up", "tank": "cistern", "forced": "made necessary",
    "detour": "diversion", "trucks": "lorries", "overheated": "burnt out", "blocked": "obstructed", "exit": "door",
    "hid": "concealed", "overdue": "late", "emptied": "cleared", "shelf": "rack", "doubled": "lengthened",
    "waiting": "queueing", "flooded": "swamped", "stopped": "halted", "fans": "blowers",
}  # fmt: skip
_LEADS: Final = (
    "because {}.",
    "The reason is that {}.",
    "This was due to the fact that {}.",
    "It stems from this: {}.",
)


def site_graph(seed: int, *, size: int = 12) -> Bundle:
    """Build a graph of places with one reason for each step of a chain, and as many beside it."""
    random = Random(seed)  # noqa: S311 - a repeatable bundle, not a secret
    places = random.sample(_PLACES, k=len(_PLACES))[:size]
    nodes = [Node(node_id=f"site-{random.randrange(16**4):04x}{n}", title=f"{p} {n}") for n, p in enumerate(places)]
    half = size // 2
    said = random.sample([f"{who} {did}" for who in _SUBJECTS for did in _ACTIONS], k=size)
    relations = [
        Relation(
            source_node_id=nodes[n].node_id,
            target_node_id=nodes[n + 1].node_id,
            relation_type="CAUSED_BY",
            semantic_class="causal",
            rationale=f"{said[n]} for {random.randrange(20, 99)} minutes",
            caused_by_node_id=nodes[n].node_id if n < half else None,
            method="walk round" if n < half else None,
            sequence=n + 1 if n < half else None,
        )
        for n in range(size - 1)
        if n != half
    ]
    return Bundle(root_node_id=nodes[0].node_id, nodes=nodes, relations=relations)


def planted_answers(bundle: Bundle, seed: int) -> Iterator[PlantedAnswer]:
    """Yield answers about a bundle of `site_graph`, each true or false in a known way."""
    random = Random(seed)  # noqa: S311
    on_path = [relation for relation in bundle.relations if relation.sequence]
    beside = [relation for relation in bundle.relations if not relation.sequence]
    for relation in on_path:
        for kind, right, change in _CHANGES:
            lead = random.choice(_LEADS)
            yield PlantedAnswer(kind=kind, text=_lead(lead, change(relation.rationale or "", random)), right=right)
    for relation, other in zip(on_path, beside, strict=False):
        subject = bundle.nodes_by_id[relation.target_node_id].title
        text = f"{subject} is affected because {other.rationale}."
        yield PlantedAnswer(kind="reason of another node", text=text, right=frozenset({Verdict.CONTRADICTED}))
    yield from _planted_json(bundle, on_path, random)
    yield PlantedAnswer(
        kind="not available", text="The reason is not available.", right=frozenset({Verdict.CONTRADICTED})
    )


def _planted_json(bundle: Bundle, on_path: Sequence[Relation], random: Random) -> Iterator[PlantedAnswer]:
    for relation in on_path:
        fields = {
            "failure_point": relation.target_node_id,
            "reason": relation.rationale,
            "reason_source": "graph_metadata",
        }
        yield PlantedAnswer(kind="copied into JSON", text=json.dumps(fields), right=frozenset({Verdict.SUPPORTED}))
        invented = f"site-{random.randrange(16**4):04x}99"
        text = f"{bundle.nodes_by_id[relation.source_node_id].title} must wait for {invented}."
        yield PlantedAnswer(kind="invented id", text=text, right=frozenset({Verdict.UNFOUNDED}))


def _lead(lead: str, reason: str) -> str:
    text = lead.format(reason)
    return text[0].upper() + text[1:]


def _as_it_is(text: str, random: Random) -> str:
    del random
    return text


def _edited(text: str, random: Random) -> str:
    """Return the text as a hasty copy: an article gone, a filler put in, a tense changed, or the halves swapped."""
    words = text.split()
    match random.randrange(4):
        case 0:
            return " ".join(word for word in words if word not in ("a", "an", "the"))
        case 1:
            return " ".join([*words[:3], "apparently", *words[3:]])
        case 2:
            return " ".join(["has", "been", *words]) if random.random() < 0.1 else text.replace("ed ", "ing ", 1)
        case _:
            head, _, tail = text.partition(" for ")
            return f"for {tail} {head}"


def _retold(text: str, random: Random) -> str:
    """Return the text in other words, where there are any, in most places."""
    return " ".join(_SYNONYMS.get(word, word) if random.random() < 0.7 else word for word in text.split())


def _renumbered(text: str, random: Random) -> str:
    head, _, tail = text.partition(" for ")
    return f"{head} for {int(tail.split()[0]) + random.randrange(100, 200)} minutes"


def _denied(text: str, random: Random) -> str:
    del random
    words = text.split()
    return " ".join([*words[:3], "never", *words[3:]])


def _made_up(text: str, random: Random) -> str:
    del text
    return random.choice(_OTHER_REASONS)


_TRUE: Final = frozenset({Verdict.SUPPORTED})
_FALSE: Final = frozenset({Verdict.CONTRADICTED, Verdict.UNFOUNDED})
_CHANGES: Final[tuple[tuple[str, frozenset[Verdict], Callable[[str, Random], str]], ...]] = (
    ("copied", _TRUE, _as_it_is),
    ("lightly edited", _TRUE, _edited),
    ("retold in other words", _TRUE, _retold),
    ("another number", _FALSE, _renumbered),
    ("denied", _FALSE, _denied),
    ("made up", _FALSE, _made_up),
)
