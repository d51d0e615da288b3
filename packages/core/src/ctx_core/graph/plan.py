"""The order in which the facts of a bundle earn their tokens, and where each of them stands."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, count
from typing import TYPE_CHECKING, Final, NamedTuple

from ctx_core.graph.model import RelationClass
from ctx_core.graph.modes import RehydrationMode
from ctx_core.graph.salience import by_salience, depths, is_explained, reason
from ctx_core.graph.text import FROM, OWN, TO, Head, NodeSlots, Part, Slot, Style, inline_name
from ctx_core.graph.tiers import Tier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ctx_core.graph.explained_path import ExplainedPath
    from ctx_core.graph.layout import Layout
    from ctx_core.graph.model import Bundle, Node, Relation
    from ctx_core.graph.standing import Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be written: which bundle, along which path, for which purpose, how deep, in which style."""

    bundle: Bundle
    path: ExplainedPath
    standing: Standing
    mode: RehydrationMode
    tiers: Sequence[Tier]
    style: Style


class LineKey(NamedTuple):
    """Where a line stands, what it says, and the id of the node or relation it is about."""

    tier: Tier
    position: int
    head: Head
    subject: str


class Piece(NamedTuple):
    """Parts that go on one line.

    `opening` begins the line; a piece without one is left out where the line is not there yet.
    `long` is a value that may be clipped when it does not fit whole, to a `share` of what is left.
    `names` holds the slots that name a node for the first time: the slot, the node, and where its alias goes.
    """

    line: LineKey
    opening: str
    parts: Sequence[Part] = ()
    long: tuple[Slot, str] | None = None
    share: float = 1.0
    names: Sequence[tuple[Slot, str, Slot]] = ()


class Offer(NamedTuple):
    """Builds pieces that go into the layout together or not at all; `otherwise` builds what may go instead.

    They are built when their turn comes: how a line speaks of a node depends on which lines name it already.
    """

    build: Callable[[], Sequence[Piece]]
    otherwise: Callable[[], Sequence[Piece]] | None = None


class _Placed(NamedTuple):
    """A relation with its line, how the line begins, and whether it goes on where the line before it ended."""

    line: LineKey
    relation: Relation
    opening: str
    goes_on: bool = False


# Words that trackers use for work that is next, and for work that is over.
_WAITING: Final = frozenset(("todo", "to do", "next", "ready", "open", "pending", "planned", "queued", "blocked"))
_FINISHED: Final = frozenset(("", "done", "closed", "resolved", "completed", "finished", "cancelled", "rejected"))
# What a step may say, from the most to the least; a path is told in the fullest of these in which all of it fits.
_FORMS: Final = ((True, True), (True, False), (False, False))
# A step takes at least so many tokens: its number, and a word or two of a reason.
_LEAST_STEP: Final = 4
_REASONS, _BARE, _NODES, _DETAILS = (block << 40 for block in range(4))


class Plan:
    """Offers the facts of a bundle in the order of their worth, so that a budget can be filled from the front."""

    def __init__(self, order: Order, layout: Layout) -> None:
        self.bundle = order.bundle
        self.path = order.path
        self.standing = order.standing
        self.mode = order.mode
        self.tiers = order.tiers
        self.layout = layout
        self.writer = layout.writer
        self.relations: dict[str, Relation] = {}
        self._counter = count()
        self._steps = list(self._place_steps())
        self._told: set[str] = set()
        self._name_parts: dict[tuple[str, Slot], list[Part]] = {}

    def first(self, reserved: int) -> Iterator[Offer]:
        """Offer what outlives everything else: the objective, and the steps of the explained path.

        The steps are told with names and types if all of them fit so beside `reserved` tokens, else with names, else by
        their reasons alone; if not even those fit, as many as do, from the root on, each with its names.
        """
        root = self.bundle.root
        line = LineKey(Tier.L0, 0, Head.OBJECTIVE, root.node_id)
        opening = self.writer.opening(Head.OBJECTIVE)
        title = Slot.TITLE, name_of(root)
        names = [(Slot.TITLE, root.node_id, Slot.ALIAS)]
        yield Offer(lambda: [Piece(line, opening, long=title, names=names)])
        if Tier.L1 in self.tiers:
            with_ends, with_type = self._fitting_form(reserved)
            for placed in self._steps:
                if with_ends or reason(placed.relation) is not None or placed.relation.valid_until is not None:
                    full = partial(self._tell, placed, with_ends=with_ends, with_type=with_type)
                    bare = partial(self._tell, placed, with_ends=True, with_type=True, with_reason=False)
                    yield Offer(full, bare)

    def rest(self) -> Iterator[Offer]:
        """Offer all else; a path that is resumed is told in full before anything beside it."""
        root = self.bundle.root
        if Tier.L1 not in self.tiers:
            yield from self._summary()
            yield from self._node_in_full(root.node_id)
            return
        for placed in self._steps:
            yield Offer(partial(self._tell, placed, with_ends=True, with_type=True, with_reason=False))
        yield from self._name_focus()
        yield from map(self._class_offer, self._steps)
        yield from self._summary()
        if Tier.L2 not in self.tiers:
            yield from self._in_full(self._steps)
            return
        path_in_full = (self._in_full(self._steps), self._details(self.path.node_ids))
        is_resumed = self.mode is RehydrationMode.RESUME_FOCUSED
        beside = (self._tell_asides(self._explained),)
        yield from chain(*path_in_full, *beside) if is_resumed else chain(*beside, *path_in_full)
        yield from self._in_full([*self._asides(self._explained)])
        yield from self._tell_asides(self._unexplained)
        yield from self._in_full([*self._asides(self._unexplained)])
        yield from self._neighbours()
        yield from self._details(node_id for node_id in self.bundle.nodes_by_id if node_id not in self._on_path)

    # ---------------------------------------------------------------------------------------------- the path
    def _place_steps(self) -> Iterator[_Placed]:
        near = self.bundle.root_node_id
        for position, relation in enumerate(self.path.relations):
            self.relations[relation.relation_id] = relation
            line = LineKey(Tier.L1, position, Head.STEP, relation.relation_id)
            label = "" if relation.sequence is None or not self.path.is_numbered else str(relation.sequence)
            # A record of JSON is read by itself; a line goes on where the one above it ended.
            goes_on = relation.source_node_id == near and self.writer.style is not Style.JSON
            yield _Placed(line, relation, self.writer.opening(Head.STEP, label), goes_on)
            near = relation.target_node_id if relation.target_node_id != near else relation.source_node_id

    def _fitting_form(self, reserved: int) -> tuple[bool, bool]:
        left = self.layout.left
        if left is None or _LEAST_STEP * len(self._steps) > left:
            return _FORMS[0]
        for with_ends, with_type in _FORMS:
            room = left - reserved if with_ends else left
            spent = 0
            for placed in self._steps:
                if with_ends or reason(placed.relation) is not None:
                    spent += self.layout.cost(self._tell(placed, with_ends=with_ends, with_type=with_type))
                if spent > room:
                    break
            else:
                return with_ends, with_type
        return _FORMS[0]

    def _name_focus(self) -> Iterator[Offer]:
        """Offer the name of a focus that no path reaches."""
        focus = self.path.node_ids[-1]
        if focus != self.bundle.root_node_id and not any(focus in _ends(placed.relation) for placed in self._steps):
            yield Offer(partial(self._name_apart, focus, LineKey(Tier.L1, len(self._steps), Head.NODE, focus)))
            yield from self._node_in_full(focus)

    # ---------------------------------------------------------------------------------------------- the summary
    def _summary(self) -> Iterator[Offer]:
        """Offer the lines of L0 under the objective."""
        root = self.bundle.root
        if root.status.strip():
            yield self._summary_line(Head.STATUS, root.node_id, root.status)
        step = self._next_action()
        if step is not None:
            yield self._summary_line(Head.NEXT, step.relation_id, name_of(self.bundle.nodes_by_id[step.target_node_id]))
        blocker = self._blocker()
        if blocker is not None:
            # The reason stands in a tier below; at the top of the text it would pass for the answer to everything.
            other = next((end for end in _ends(blocker)[::-1] if end != root.node_id), root.node_id)
            named = name_of(self.bundle.nodes_by_id[other])
            said = named if Tier.L1 in self.tiers else reason(blocker) or named
            yield self._summary_line(Head.BLOCKER, blocker.relation_id, said)

    def _summary_line(self, head: Head, subject: str, text: str) -> Offer:
        line = LineKey(Tier.L0, 0, head, subject)
        return Offer(lambda: [Piece(line, self.writer.opening(head), [self.writer.part(Slot.TEXT, text)])])

    def _next_action(self) -> Relation | None:
        """Return the first step of the path that leads to waiting work, or else to anything unfinished."""
        steps = self.path.relations
        statuses = [self.bundle.nodes_by_id[step.target_node_id].status.strip().lower() for step in steps]
        waiting = (step for step, status in zip(steps, statuses, strict=True) if status in _WAITING)
        unfinished = (step for step, status in zip(steps, statuses, strict=True) if status not in _FINISHED)
        return next(chain(waiting, unfinished), None)

    def _blocker(self) -> Relation | None:
        """Return a constraint that gives its reason and still stands: one on the path, or at the root, or for L0 alone any."""
        root = self.bundle.root_node_id
        anywhere = self.bundle.relations if Tier.L1 not in self.tiers else ()
        near = (r for r in self.bundle.relations if r.semantic_class is RelationClass.CONSTRAINT and root in _ends(r))
        found = chain(self.path.relations, near, anywhere)
        return next((r for r in found if _blocks(r) and r.relation_id not in self.standing.fallen), None)

    # ---------------------------------------------------------------------------------------------- beside the path
    @cached_property
    def _on_path(self) -> frozenset[str]:
        return frozenset(self.path.node_ids)

    @cached_property
    def _beside(self) -> list[Relation]:
        """The relations that are not on the path and have begun, those that still stand first."""
        on_path = {relation.relation_id for relation in self.path.relations}
        begun = self.bundle.relations
        if self.standing.as_of is not None:
            begun = filter(self.standing.has_begun, begun)
        beside = by_salience((r for r in begun if r.relation_id not in on_path), self._depths)
        fallen = self.standing.fallen
        return sorted(beside, key=lambda r: r.relation_id in fallen) if fallen else beside

    @cached_property
    def _explained(self) -> list[Relation]:
        return list(filter(is_explained, self._beside))

    @cached_property
    def _unexplained(self) -> list[Relation]:
        return [relation for relation in self._beside if not is_explained(relation)]

    @cached_property
    def _depths(self) -> dict[str, int]:
        return depths(self.bundle, self.path.node_ids)

    def _tell_asides(self, relations: Iterable[Relation]) -> Iterator[Offer]:
        for placed in self._asides(relations):
            yield Offer(partial(self._tell, placed, with_ends=True, with_type=True))

    def _asides(self, relations: Iterable[Relation]) -> Iterator[_Placed]:
        """Give relations their lines one by one: most budgets are full long before the last."""
        for position, relation in enumerate(relations, _REASONS if relations is self._explained else _BARE):
            self.relations[relation.relation_id] = relation
            line = LineKey(Tier.L2, position, Head.ASIDE, relation.relation_id)
            yield _Placed(line, relation, self.writer.opening(Head.ASIDE, self._label(relation)))

    def _label(self, relation: Relation) -> str:
        """Return what an aside is: of the past, ruled out, beside the path, or of another story."""
        if relation.relation_id in self.standing.fallen:
            if self.standing.as_of is not None and self.standing.has_ended(relation):
                return "Ended"
            if not self.standing.is_opposing(relation) and any(map(self.standing.is_refuted, _ends(relation))):
                return "Ruled out"
        return "Elsewhere" if self._on_path.isdisjoint(_ends(relation)) else "Aside"

    def _neighbours(self) -> Iterator[Offer]:
        """Offer nodes that no line mentioned so far."""
        for position, node_id in enumerate(self.bundle.nodes_by_id, start=_NODES):
            if node_id not in self.layout.places and self.standing.has_begun(self.bundle.nodes_by_id[node_id]):
                yield Offer(partial(self._name_apart, node_id, LineKey(Tier.L2, position, Head.NODE, node_id)))
                yield from self._node_in_full(node_id)

    def _details(self, node_ids: Iterable[str]) -> Iterator[Offer]:
        """Offer details, each clipped to half of what is left."""
        details = {detail.node_id: detail.detail for detail in self.bundle.details}
        for node_id in node_ids:
            if node_id in details:
                yield Offer(partial(self._tell_detail, node_id, details[node_id]))

    def _tell_detail(self, node_id: str, text: str) -> Sequence[Piece]:
        line = LineKey(Tier.L2, _DETAILS + next(self._counter), Head.DETAIL, node_id)
        if node_id in self.layout.places:
            name, others = self.writer.reference(node_id), self._give_alias(node_id)
        else:
            name, others = inline_name(name_of(self.bundle.nodes_by_id[node_id])), []
        return [*others, Piece(line, self.writer.opening(Head.DETAIL, name), long=(Slot.TEXT, text), share=0.5)]

    # ---------------------------------------------------------------------------------------------- lines
    def _tell(self, placed: _Placed, *, with_ends: bool, with_type: bool, with_reason: bool = True) -> Sequence[Piece]:
        """Return the line of a relation, and the aliases that it needs of other lines. Its end in time is never left out."""
        line, relation = placed.line, placed.relation
        parts: list[Part] = []
        others: list[Piece] = []
        names: list[tuple[Slot, str, Slot]] = []
        if with_ends and not self._has(line, Slot.TO):
            ends = [(relation.target_node_id, TO)]
            if not (placed.goes_on and self._follows(line)):
                ends.insert(0, (relation.source_node_id, FROM))
            for node_id, slots in ends:
                self._name_end(node_id, slots, parts, others, names)
        if with_type:
            parts.append(self.writer.part(Slot.TYPE, relation.relation_type))
        if relation.valid_until is not None:
            parts += self.writer.parts([(Slot.VALID_UNTIL, relation.valid_until)])
        why = reason(relation) if with_reason else None
        if why is not None and is_step(line):
            slot = Slot.WHY if relation.rationale is not None else Slot.MOTIVATION
            return [*others, Piece(line, placed.opening, parts, long=(slot, why), names=names)]
        if why is not None:
            parts.append(self.writer.part(Slot.WHY if relation.rationale is not None else Slot.MOTIVATION, why))
        elif with_reason and relation.evidence is not None:
            parts.append(self.writer.part(Slot.EVIDENCE, relation.evidence))
        return [*others, Piece(line, placed.opening if parts else "", parts, names=names)]

    def _name_end(
        self,
        node_id: str,
        slots: NodeSlots,
        parts: list[Part],
        others: list[Piece],
        names: list[tuple[Slot, str, Slot]],
    ) -> None:
        """Name an end of a relation, or refer to the line that names it."""
        named_here = next((alias for _, other, alias in names if other == node_id), None)
        if named_here is not None:
            parts.append(self.writer.part(named_here, self.writer.aliases.of(node_id)))
        elif node_id in self.layout.places:
            others += self._give_alias(node_id)
        else:
            parts += self._name(node_id, slots)
            names.append((slots.name, node_id, slots.alias))
            return
        parts.append(self.writer.reference_part(slots.name, node_id))

    def _name(self, node_id: str, slots: NodeSlots) -> list[Part]:
        """Return a node's name with what must not be missing beside it: its end in time, and that it was rejected."""
        known = self._name_parts.get((node_id, slots.name))
        if known is not None:
            return known
        node = self.bundle.nodes_by_id[node_id]
        called = name_of(node)
        parts = [self.writer.part(slots.name, called)]
        if node.valid_until is not None:
            parts += self.writer.parts([(slots.until, node.valid_until)])
        if self.standing.is_refuted(node_id):
            parts += self.writer.parts([(slots.status, node.status or "refuted")])
        if self._titles[called] > 1:
            parts.append(self.writer.part(slots.alias, self.writer.aliases.of(node_id)))
        self._name_parts[node_id, slots.name] = parts
        return parts

    @cached_property
    def _titles(self) -> Counter[str]:
        return Counter(map(name_of, self.bundle.nodes))

    def _give_alias(self, node_id: str) -> list[Piece]:
        """Return the alias of a node for the line that names it, unless its name is that alias."""
        line, slot = self.layout.places[node_id]
        alias = self.writer.aliases.of(node_id)
        if self._has(line, slot) or alias == name_of(self.bundle.nodes_by_id[node_id]):
            return []
        return [Piece(line, "", [self.writer.part(slot, alias)])]

    def _name_apart(self, node_id: str, line: LineKey) -> Sequence[Piece]:
        """Return a line for a node that no relation names."""
        if node_id in self.layout.places:
            return []
        names = [(OWN.name, node_id, OWN.alias)]
        return [Piece(line, self.writer.opening(Head.NODE), self._name(node_id, OWN), names=names)]

    def _class_offer(self, placed: _Placed) -> Offer:
        part = self.writer.part(Slot.CLASS, placed.relation.semantic_class)
        return Offer(lambda: [Piece(placed.line, "", [part])])

    def _in_full(self, relations: Sequence[_Placed]) -> Iterator[Offer]:
        """Offer all else that relations and the nodes on them state."""
        if not is_step(relations[0].line) if relations else False:
            yield from map(self._class_offer, relations)
        for placed in relations:
            yield from self._part_offers(placed.line, self.writer.statements(placed.relation))
        for placed in relations:
            for node_id in _ends(placed.relation):
                yield from self._node_in_full(node_id)
        for placed in relations:
            cause = placed.relation.caused_by_node_id
            said = cause and (self.writer.reference(cause) if cause in self.layout.places else cause)
            is_counted = is_step(placed.line) and self.path.is_numbered
            links = self.writer.links(placed.relation, said, with_step=not is_counted)
            for part in links:
                others = self._give_alias(cause) if part[0] is Slot.CAUSED_BY and cause in self.layout.places else []
                yield Offer(partial(_pieces, [*others, Piece(placed.line, "", [part])]))

    def _node_in_full(self, node_id: str) -> Iterator[Offer]:
        if node_id in self._told or node_id not in self.layout.places:
            return
        self._told.add(node_id)
        line, alias = self.layout.places[node_id]
        slots = next(slots for slots in (OWN, FROM, TO) if slots.alias is alias)
        is_root = node_id == self.bundle.root_node_id
        yield from self._part_offers(
            line, self.writer.about(self.bundle.nodes_by_id[node_id], slots, with_status=not is_root)
        )

    def _part_offers(self, line: LineKey, parts: Iterable[Part]) -> Iterator[Offer]:
        for part in parts:
            yield Offer(partial(_pieces, [Piece(line, "", [part])]))

    def _has(self, line: LineKey, slot: Slot) -> bool:
        return line in self.layout.lines and slot in self.layout.lines[line].parts

    def _follows(self, line: LineKey) -> bool:
        """Return True if the line that a step goes on from is there."""
        if line.position == 0:
            return self.bundle.root_node_id in self.layout.places
        return self._steps[line.position - 1].line in self.layout.lines


def is_step(line: LineKey) -> bool:
    """Return True for a line of the explained path."""
    return line.head is Head.STEP


def name_of(node: Node) -> str:
    """Return what a text calls a node: its title, or its id where that is blank."""
    return node.title if node.title.strip() else node.node_id


def _pieces(pieces: Sequence[Piece]) -> Sequence[Piece]:
    return pieces


def _ends(relation: Relation) -> tuple[str, str]:
    return relation.source_node_id, relation.target_node_id


def _blocks(relation: Relation) -> bool:
    return relation.semantic_class is RelationClass.CONSTRAINT and reason(relation) is not None
