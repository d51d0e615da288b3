"""Whether an answer's reasons come from the context it was given: checked by words, ids and direction, without a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, assert_never

from ctx_core.graph.claims import Claimed, ClaimKind, claims_in, reason_source
from ctx_core.graph.evidence import Evidence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ctx_core.graph.facts import Fact, Match
    from ctx_core.graph.model import Bundle, Relation
    from ctx_core.graph.render import RenderedContext


class Verdict(StrEnum):
    """What the rendered facts say about a claim."""

    SUPPORTED = "supported"
    """The text that the answer was given states it."""
    CONTRADICTED = "contradicted"
    """The bundle states otherwise: another name or number, the opposite, the other direction, another node."""
    CUT = "cut"
    """The bundle states it, but the budget or the tier kept it out of the text."""
    UNFOUNDED = "unfounded"
    """It appears nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One claim of an answer, and what became of it.

    Args:
        start: Where it begins in the answer, in characters; for a mapping, in the value of the field `name`.
        relation_id: The relation it was checked against, if any comes near.
        node_id: The node it was checked against, if any comes near.
        note: The verdict in words.
    """

    kind: ClaimKind
    verdict: Verdict
    text: str
    start: int
    end: int
    name: str = ""
    relation_id: str | None = None
    node_id: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """The claims of an answer with their verdicts.

    Args:
        claims: In the order of the answer.
        cites_what_is_not_there: The answer says that its reason comes from the graph, and no reason was rendered.
    """

    claims: tuple[Claim, ...]
    cites_what_is_not_there: bool = False

    def of(self, verdict: Verdict | str) -> tuple[Claim, ...]:
        """Return the claims that got a verdict."""
        return tuple(claim for claim in self.claims if claim.verdict == verdict)

    @property
    def supported(self) -> tuple[Claim, ...]:
        """The claims that the rendered text states."""
        return self.of(Verdict.SUPPORTED)

    @property
    def contradicted(self) -> tuple[Claim, ...]:
        """The claims that the bundle states otherwise."""
        return self.of(Verdict.CONTRADICTED)

    @property
    def cut(self) -> tuple[Claim, ...]:
        """The claims that are true of the bundle, but were not in the text."""
        return self.of(Verdict.CUT)

    @property
    def unfounded(self) -> tuple[Claim, ...]:
        """The claims that appear nowhere."""
        return self.of(Verdict.UNFOUNDED)

    @property
    def is_fabricated(self) -> bool:
        """Whether the answer states as fact what the bundle does not: something unfounded, contradicted, or cited from nowhere."""
        return self.cites_what_is_not_there or bool(self.unfounded or self.contradicted)

    @property
    def supported_ratio(self) -> float:
        """The share of the claims that are supported; 1 for an answer that claims nothing."""
        return len(self.supported) / len(self.claims) if self.claims else 1.0


def audit(answer: str | Mapping[str, Any], rendered: RenderedContext, *, bundle: Bundle | None = None) -> AuditReport:
    """Return what the rendered facts say about each reason, cause and id in an answer.

    Args:
        answer: Free text, or JSON with `reason`, `reason_source` and ids such as `failure_point`, as text or mapping.
        rendered: What the answer was made from.
        bundle: What is true, if that is more than what was rendered from.
    """
    evidence = Evidence(rendered, bundle or rendered.bundle)
    claims = [
        claim
        for claimed in claims_in(answer, known=evidence.reasons)
        if (claim := _judged(claimed, evidence)) is not None
    ]
    if isinstance(answer, str):
        claims += _ids_in(answer, evidence, claims)
    cites = reason_source(answer) == "graph_metadata" and not evidence.shows_reason
    return AuditReport(claims=tuple(sorted(claims, key=_POSITION)), cites_what_is_not_there=cites)


def _judged(claimed: Claimed, evidence: Evidence) -> Claim | None:
    match claimed.kind:
        case ClaimKind.ID:
            return _id(claimed, evidence)
        case ClaimKind.ABSENCE:
            return _absence(claimed, evidence)
        case ClaimKind.CAUSE:
            return _cause(claimed, evidence)
        case ClaimKind.REASON:
            return _reason(claimed, evidence)
        case _:
            assert_never(claimed.kind)


def _reason(claimed: Claimed, evidence: Evidence) -> Claim | None:
    """Return the verdict on a reason; None for a sentence that only might have been one, and is none."""
    subjects = evidence.nodes_named(claimed.subject)
    near = [match for match in evidence.facts.near(claimed.text, about=subjects) if match.coverage >= _MOSTLY_TOLD]
    same = [match for match in near if match.similarity >= _SAME and not match.is_opposed]
    if same:
        return _on_fact(claimed, _nearest(same, evidence, subjects), evidence, subjects)
    causes = evidence.nodes_named(claimed.text)
    if claimed.is_stated and evidence.is_only_named(claimed.text, causes):
        effects = [node_id for node_id in evidence.nodes_named(claimed.subject) if node_id not in causes]
        return _caused(claimed, evidence, causes, effects or [evidence.bundle.root_node_id])
    opposed = next((match for match in near if match.is_opposed and match.similarity >= _ALIKE), None)
    if opposed is not None and (claimed.is_stated or opposed.similarity >= _SAME):
        return _claim(claimed, Verdict.CONTRADICTED, f"stated is: {opposed.fact.text}", fact=opposed.fact)
    return _claim(claimed, Verdict.UNFOUNDED, "no fact comes near") if claimed.is_stated else None


def _nearest(matches: Sequence[Match], evidence: Evidence, subjects: Sequence[str]) -> Fact:
    """Return the nearest fact; of several as near, one about the subjects, and one that is shown."""

    def rank(match: Match) -> tuple[float, bool, bool]:
        nearness = round(match.similarity + match.coverage, 1)
        return nearness, evidence.is_about(match.fact, subjects), evidence.shows(match.fact)

    return max(matches, key=rank).fact


def _on_fact(claimed: Claimed, fact: Fact, evidence: Evidence, subjects: Sequence[str]) -> Claim:
    if not evidence.is_about(fact, subjects):
        names = " and ".join(repr(evidence.title(node_id)) for node_id in fact.node_ids)
        return _claim(claimed, Verdict.CONTRADICTED, f"this is stated of {names}", fact=fact)
    if evidence.shows(fact):
        return _claim(claimed, Verdict.SUPPORTED, "stated in the text", fact=fact)
    return _claim(claimed, Verdict.CUT, "stated in the bundle, but not in the text", fact=fact)


def _cause(claimed: Claimed, evidence: Evidence) -> Claim | None:
    """Return the verdict on one node having brought about another, or on the reason where no two nodes are named."""
    causes, effects = evidence.nodes_named(claimed.cause), evidence.nodes_named(claimed.effect)
    if causes and effects and causes != effects:
        return _caused(claimed, evidence, causes, effects)
    start = claimed.start + claimed.text.find(claimed.cause)
    reason = replace(claimed, kind=ClaimKind.REASON, text=claimed.cause, start=start, end=start + len(claimed.cause))
    return _reason(reason, evidence)


def _caused(claimed: Claimed, evidence: Evidence, causes: Sequence[str], effects: Sequence[str]) -> Claim:
    """Return the verdict on any of some nodes having brought about any of others."""
    pairs = [(cause, effect) for cause in causes for effect in effects if cause != effect]
    for cause, effect in pairs:
        relation = evidence.leads(cause, effect)
        if relation is not None:
            verdict = Verdict.SUPPORTED if evidence.shows_relation(relation) else Verdict.CUT
            return _claim(claimed, verdict, f"a relation {relation.relation_type} says so", relation=relation)
    for cause, effect in pairs:
        relation = evidence.leads(effect, cause)
        if relation is not None:
            note = f"a relation {relation.relation_type} says the opposite"
            return _claim(claimed, Verdict.CONTRADICTED, note, relation=relation)
    return _claim(claimed, Verdict.UNFOUNDED, "no explained path joins the two")


def _absence(claimed: Claimed, evidence: Evidence) -> Claim:
    """Return the verdict on there being no reason, for the nodes named or at all."""
    reasons = evidence.reasons_of(evidence.nodes_named(claimed.subject))
    shown = next((fact for fact in reasons if evidence.shows(fact)), None)
    if shown is not None:
        return _claim(claimed, Verdict.CONTRADICTED, f"the text states a reason: {shown.text}", fact=shown)
    if reasons:
        return _claim(claimed, Verdict.CUT, "the bundle states a reason that the text does not", fact=reasons[0])
    return _claim(claimed, Verdict.SUPPORTED, "no reason is stated")


def _id(claimed: Claimed, evidence: Evidence) -> Claim:
    node_ids = evidence.nodes_named(claimed.text)
    if claimed.text in evidence.decisions:
        verdict = Verdict.SUPPORTED if claimed.text in evidence.text else Verdict.CUT
        return _claim(claimed, verdict, "a decision of the bundle")
    if not node_ids:
        return _claim(claimed, Verdict.UNFOUNDED, "no node or decision is called so")
    if evidence.shows_node(node_ids[0]):
        return _claim(claimed, Verdict.SUPPORTED, "a node of the text", node_id=node_ids[0])
    return _claim(claimed, Verdict.CUT, "a node of the bundle that the text does not show", node_id=node_ids[0])


def _ids_in(answer: str, evidence: Evidence, claims: Sequence[Claim]) -> Iterator[Claim]:
    """Yield the verdicts on what looks like an id of this bundle, wherever it stands in the answer."""
    taken = [(claim.start, claim.end) for claim in claims if claim.kind is ClaimKind.ID]
    for start, token in evidence.id_like(answer):
        end = start + len(token)
        if not any(begin <= start and end <= stop for begin, stop in taken):
            yield _id(Claimed(kind=ClaimKind.ID, text=token, start=start, end=end), evidence)


def _claim(
    claimed: Claimed,
    verdict: Verdict,
    note: str,
    *,
    fact: Fact | None = None,
    relation: Relation | None = None,
    node_id: str | None = None,
) -> Claim:
    if fact is not None:
        node_id = None if fact.relation_id else fact.node_ids[0]
    return Claim(
        kind=claimed.kind,
        verdict=verdict,
        text=claimed.text,
        start=claimed.start,
        end=claimed.end,
        name=claimed.name,
        relation_id=relation.relation_id if relation else fact.relation_id if fact else None,
        node_id=node_id,
        note=note,
    )


# Found on planted answers: under these, other reasons of the same graph begin to match.
_SAME: Final = 0.6
_MOSTLY_TOLD: Final = 0.35
_ALIKE: Final = 0.45
_POSITION: Final = attrgetter("start")
