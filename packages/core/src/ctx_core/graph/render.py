"""A bundle becomes text that says why, under a token budget."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ctx_core.errors import InvalidInput, NodeNotFound
from ctx_core.graph.model import RelationClass
from ctx_core.graph.modes import Endpoint, RehydrationMode, resolve_mode
from ctx_core.graph.page import Page
from ctx_core.graph.plan import Plan
from ctx_core.graph.quality import Quality, measure
from ctx_core.graph.salience import reason
from ctx_core.graph.spine import Spine, find_spine
from ctx_core.graph.text import Head, Slot, Style, Writer
from ctx_core.graph.tiers import Tier, tiers_until
from ctx_core.telemetry import metric, span
from ctx_core.tokens import TokenCounter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ctx_core.graph.model import Bundle
    from ctx_core.graph.page import Text
    from ctx_core.graph.plan import LineKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One line of a render and the fact it shows.

    Args:
        kind: `objective`, `status`, `next`, `blocker`, `node`, `relation` or `detail`.
        node_id: The node the line is about; None for a line about a relation.
        relation_id: The relation the line is about; None for a line about a node.
        start: Where the line begins in the text, in characters; it ends before `end`.
    """

    tier: Tier
    kind: str
    text: str
    node_id: str | None
    relation_id: str | None
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class RenderedContext:
    """A bundle as text, with the facts behind each line and what was left out.

    Args:
        text: Every tier, joined; never more than `max_tokens` tokens.
        tiers: The text of each tier that says something.
        mode: The mode the render was made in; `mode_reason` says why.
        sections: The lines of `text` in order, each with the node or relation it shows.
        omitted: How many relations of each class, `nodes` and `details` the text does not show.
        notice: What is left out, in words; empty when nothing is. The text ends with it where there is room.
        aliases: The short name that the text uses for each node id.
        told: Ids of the relations that the text shows, with their reason where they have one.
        bundle: What was rendered; an audit needs to know what the budget cut.
    """

    text: str
    tiers: Mapping[Tier, str]
    mode: RehydrationMode
    mode_reason: str
    sections: tuple[Section, ...]
    omitted: Mapping[str, int]
    notice: str
    aliases: Mapping[str, str] = field(repr=False)
    told: frozenset[str] = field(repr=False)
    spine: Spine = field(repr=False)
    bundle: Bundle = field(repr=False)
    max_tokens: int | None = None
    counter: TokenCounter = field(default_factory=TokenCounter, repr=False)

    @property
    def revision(self) -> int | None:
        """The revision of the bundle, if it has one."""
        return self.bundle.revision

    @property
    def content_hash(self) -> str:
        """The content hash of the bundle."""
        return self.bundle.content_hash

    @cached_property
    def token_count(self) -> int:
        """How many tokens `text` has, exactly."""
        return self.counter.count(self.text)

    @cached_property
    def quality(self) -> Quality:
        """The numbers of this render, worked out when first asked for."""
        named = {section.node_id for section in self.sections if section.kind in ("objective", "node")}
        return measure(
            self.bundle,
            self.spine,
            rendered_tokens=self.token_count,
            told=self.told,
            named=len(named),
            counter=self.counter,
        )


def render(
    bundle: Bundle,
    *,
    max_tokens: int | None = None,
    mode: RehydrationMode | str = RehydrationMode.AUTO,
    max_tier: Tier | str | None = None,
    focus: str | None = None,
    style: Style | str = Style.LINES,
    endpoint: Endpoint | str = Endpoint.NEIGHBORHOOD,
    counter: TokenCounter | None = None,
) -> RenderedContext:
    """Return the text of a bundle: the explained path first, then all else that fits.

    Args:
        max_tokens: The most tokens the text may have; None shows everything, 0 nothing.
        max_tier: The deepest tier to show.
        focus: The id of the node that the path from the root should lead to.
        endpoint: The kind of question asked; it sets what `auto` takes for pressure.

    Raises:
        InvalidInput: The budget is negative, or a mode, tier, style or endpoint is unknown.
        NodeNotFound: The focus is not in the bundle.
    """
    counter = counter or TokenCounter()
    tiers, style = tiers_until(max_tier), _checked(bundle, max_tokens, focus, style)
    choice = resolve_mode(mode, bundle, max_tokens=max_tokens, focus=focus, endpoint=endpoint)
    if mode == RehydrationMode.RESUME_FOCUSED:
        tiers = tiers[:2]
    with span("ctx.graph.render"):
        spine = find_spine(bundle, focus=focus)
        draft = _drafted(bundle, spine, choice.mode, tiers, style, max_tokens, counter)
        text, omitted = draft.text(), draft.omitted()
    metric("ctx.graph.omitted", sum(omitted.values()), mode=choice.mode)
    return RenderedContext(
        text=text.whole,
        tiers=text.tiers,
        mode=choice.mode,
        mode_reason=choice.reason,
        sections=tuple(_section(line, text.whole[start:end], start, end) for line, start, end in text.spans),
        omitted=omitted,
        notice=_in_words(omitted),
        aliases=draft.page.writer.aliases.by_id,
        told=draft.told(),
        spine=spine,
        bundle=bundle,
        max_tokens=max_tokens,
        counter=counter,
    )


class _Draft:
    """A page, and the count of what it does not show."""

    def __init__(self, bundle: Bundle, page: Page, *, says_what_is_left_out: bool) -> None:
        self.bundle = bundle
        self.page = page
        self.says_what_is_left_out = says_what_is_left_out

    def text(self) -> Text:
        """Put the page together."""
        return self.page.text(_in_words(self.omitted()) if self.says_what_is_left_out else "")

    def omitted(self) -> dict[str, int]:
        """Count the relations by class, nodes and details that no line shows."""
        shown = {(line.head, line.subject) for line in self.page.lines}
        hidden = Counter(
            str(relation.semantic_class)
            for relation in self.bundle.relations
            if (Head.RELATION, relation.relation_id) not in shown
        )
        hidden["nodes"] = sum(
            (Head.NODE, node_id) not in shown and (Head.OBJECTIVE, node_id) not in shown
            for node_id in self.bundle.nodes_by_id
        )
        hidden["details"] = sum((Head.DETAIL, detail.node_id) not in shown for detail in self.bundle.details)
        order = [*RelationClass, "nodes", "details"]
        return {str(name): hidden[name] for name in order if hidden[name]}

    def told(self) -> frozenset[str]:
        """Return the relations on the page, less those whose reason did not fit."""
        lines = self.page.lines
        by_id = {line.subject: lines[line].parts for line in lines if line.head is Head.RELATION}
        return frozenset(
            relation.relation_id
            for relation in self.bundle.relations
            if (parts := by_id.get(relation.relation_id)) is not None
            and (reason(relation) is None or Slot.WHY in parts or Slot.MOTIVATION in parts)
        )


def _drafted(
    bundle: Bundle,
    spine: Spine,
    mode: RehydrationMode,
    tiers: Sequence[Tier],
    style: Style,
    max_tokens: int | None,
    counter: TokenCounter,
) -> _Draft:
    """Fill a page as if everything fits; if it does not, fill it again with room to say what is left out."""

    def filled(*, with_notice: bool) -> _Draft:
        writer = Writer(style)
        plan = Plan(bundle, spine, writer, mode=mode, tiers=tiers)
        frame = 0 if max_tokens is None else counter.count(writer.frame.around(tiers))
        page = Page(writer, counter, None if max_tokens is None else max_tokens - frame)
        draft = _Draft(bundle, page, says_what_is_left_out=False)
        page.fill(plan.first())
        if with_notice:
            cost = counter.count(writer.frame.notice.format(_in_words(draft.omitted()))) + 1
            draft.says_what_is_left_out = page.reserve(cost)
        page.fill(plan.rest())
        return _fitted(draft, max_tokens, counter)

    if max_tokens is None or len(bundle.relations) * _LEAST_LINE <= max_tokens:
        draft = filled(with_notice=False)
        if not draft.omitted():
            return draft
    return filled(with_notice=True)


def _fitted(draft: _Draft, max_tokens: int | None, counter: TokenCounter) -> _Draft:
    """Use what the estimates left over, and give back what they forgot, by exact counts."""
    if max_tokens is None:
        return draft
    spare = max_tokens - counter.count(draft.text().whole)
    if spare > 0:
        draft.page.use_slack(spare)
    while (over := counter.count(draft.text().whole) - max_tokens) > 0:
        if not draft.page.give_back(over):
            draft.says_what_is_left_out = False
    return draft


def _checked(bundle: Bundle, max_tokens: int | None, focus: str | None, style: Style | str) -> Style:
    if max_tokens is not None and max_tokens < 0:
        raise InvalidInput(f"max_tokens must not be negative, got {max_tokens}")
    if focus is not None and focus not in bundle.nodes_by_id:
        raise NodeNotFound(focus)
    try:
        return Style(style)
    except ValueError:
        raise InvalidInput(f"unknown style {style!r}; known are {', '.join(Style)}") from None


def _section(line: LineKey, text: str, start: int, end: int) -> Section:
    is_relation = line.head in _RELATION_HEADS
    return Section(
        tier=line.tier,
        kind=line.head.name.lower(),
        text=text,
        node_id=None if is_relation else line.subject,
        relation_id=line.subject if is_relation else None,
        start=start,
        end=end,
    )


def _in_words(omitted: Mapping[str, int]) -> str:
    """Say counts in words: `2 causal and 399 structural relations, 398 nodes`."""
    classes = [f"{omitted[name]} {name}" for name in RelationClass if name in omitted]
    others = [f"{omitted[name]} {name}" for name in ("nodes", "details") if name in omitted]
    relations = [" and ".join(classes) + " relations"] if classes else []
    return ", ".join([*relations, *others])


_LEAST_LINE: Final = 4
_RELATION_HEADS: Final = frozenset({Head.RELATION, Head.NEXT, Head.BLOCKER})
