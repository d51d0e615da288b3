"""A bundle becomes text that says why, under a token budget."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ctx_core.errors import InvalidInput, NodeNotFound
from ctx_core.graph.explained_path import ExplainedPath, find_explained_path
from ctx_core.graph.fit import fill_budget, in_words
from ctx_core.graph.modes import Endpoint, RehydrationMode, resolve_mode
from ctx_core.graph.node_names import NodeNames
from ctx_core.graph.plan import Order
from ctx_core.graph.quality import Quality, measure
from ctx_core.graph.standing import Standing
from ctx_core.graph.text import Head, Style
from ctx_core.graph.tiers import Tier, tiers_until
from ctx_core.graph.validity import parse_moment
from ctx_core.telemetry import metric, span
from ctx_core.tokens import TokenCounter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from ctx_core.graph.model import Bundle
    from ctx_core.graph.plan import LineKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One line of a render and the fact it shows.

    Args:
        kind: `objective`, `status`, `next`, `blocker`, `relation`, `node` or `detail`. A line about a relation names
            its ends where no earlier line does; a `node` line is about a node that no relation names.
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
        tiers: The text of each tier down to `max_tier`; empty where the tier says nothing.
        mode: The mode the render was made in; `mode_reason` says why.
        sections: The lines of `text` in order, each with the node or relation it shows.
        omitted: How many relations of each class, `nodes` and `details` the text does not show.
        notice: What is left out, in words; empty when nothing is. The text ends with it where there is room.
        aliases: The short name that the text uses for each node id.
        named: Ids of the nodes that the text names.
        path: The explained path of the bundle, whole, whether or not all of it fits.
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
    named: frozenset[str] = field(repr=False)
    path: ExplainedPath = field(repr=False)
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

    def nodes_of(self, section: Section) -> tuple[str, ...]:
        """Return the ids of the nodes that a section speaks of: its node, or both ends of its relation."""
        return (section.node_id,) if section.node_id is not None else self._ends.get(section.relation_id or "", ())

    @cached_property
    def _ends(self) -> dict[str, tuple[str, str]]:
        return {r.relation_id: (r.source_node_id, r.target_node_id) for r in self.bundle.relations}

    @cached_property
    def token_count(self) -> int:
        """How many tokens `text` has, exactly."""
        return self.counter.count(self.text)

    @cached_property
    def quality(self) -> Quality:
        """The numbers of this render, worked out when first asked for."""
        return measure(
            self.bundle,
            self.path,
            rendered_tokens=self.token_count,
            told=self.told,
            named=len(self.named),
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
    as_of: datetime | str | None = None,
    query: str | None = None,
    counter: TokenCounter | None = None,
) -> RenderedContext:
    """Return the text of a bundle: the explained path first, then all else that fits.

    Args:
        bundle: What to render.
        max_tokens: The most tokens the text may have; None shows everything, 0 nothing.
        mode: What the render is for; `auto` picks, and says why in the result.
        max_tier: The deepest tier to show.
        focus: The id of the node that the path from the root should lead to.
        style: How the facts are written.
        endpoint: The kind of question asked; it sets what `auto` takes for pressure.
        as_of: The moment to tell of, as a datetime, ISO 8601 text or `now`: what begins later is left out, what has
            ended by then comes last and says so. Without it, whatever states an end comes last.
        query: What is asked. Without a focus, the path leads to the first node that it names by id or title.
        counter: Counts tokens; `cl100k_base` when left out.

    Raises:
        InvalidInput: The budget is negative, or a mode, tier, style or endpoint is unknown.
        NodeNotFound: The focus is not in the bundle.
    """
    counter = counter or TokenCounter()
    if focus is None and query is not None:
        focus = next((n for n in NodeNames(bundle).find(query) if n != bundle.root_node_id), None)
    tiers, style = tiers_until(max_tier), _checked(bundle, max_tokens, focus, style)
    choice = resolve_mode(mode, bundle, max_tokens=max_tokens, focus=focus, endpoint=endpoint)
    written = tiers[:2] if mode == RehydrationMode.RESUME_FOCUSED else tiers
    with span("ctx.graph.render"):
        standing = Standing(bundle, None if as_of is None else parse_moment(as_of))
        path = find_explained_path(bundle, focus=focus, standing=standing)
        order = Order(bundle=bundle, path=path, standing=standing, mode=choice.mode, tiers=written, style=style)
        filled, text = fill_budget(order, max_tokens, counter)
        omitted = filled.omitted()
    metric("ctx.graph.omitted", sum(omitted.values()), mode=choice.mode)
    return RenderedContext(
        text=text.whole,
        tiers={tier: text.tiers.get(tier, "") for tier in tiers},
        mode=choice.mode,
        mode_reason=choice.reason,
        sections=tuple(_section(line, text.whole[start:end], start, end) for line, start, end in text.spans),
        omitted=omitted,
        notice=in_words(omitted),
        aliases=filled.layout.writer.aliases.by_id,
        told=filled.told(),
        named=frozenset(filled.layout.places),
        path=path,
        bundle=bundle,
        max_tokens=max_tokens,
        counter=counter,
    )


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
        kind="relation" if line.head in (Head.STEP, Head.ASIDE) else line.head.name.lower(),
        text=text,
        node_id=None if is_relation else line.subject,
        relation_id=line.subject if is_relation else None,
        start=start,
        end=end,
    )


_RELATION_HEADS: Final = frozenset({Head.STEP, Head.ASIDE, Head.NEXT, Head.BLOCKER})
