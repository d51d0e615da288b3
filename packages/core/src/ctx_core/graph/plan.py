"""The order in which the facts of a bundle earn their tokens, and where each of them stands."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, filterfalse
from typing import TYPE_CHECKING, Final, NamedTuple

from ctx_core.graph.model import RelationClass
from ctx_core.graph.modes import RehydrationMode
from ctx_core.graph.salience import by_salience, depths, is_explained, reason
from ctx_core.graph.text import Head, Part, Slot
from ctx_core.graph.tiers import Tier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ctx_core.graph.explained_path import ExplainedPath
    from ctx_core.graph.model import Bundle, Node, Relation
    from ctx_core.graph.text import Style, Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be written: which bundle, along which spine, for which purpose, how deep, in which style."""

    bundle: Bundle
    spine: ExplainedPath
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
    """

    line: LineKey
    opening: str
    parts: Sequence[Part] = ()
    long: tuple[Slot, str] | None = None
    share: float = 1.0


class Offer(NamedTuple):
    """Pieces that go onto the page together or not at all; `otherwise` is what may go instead."""

    pieces: Sequence[Piece]
    otherwise: Callable[[], Sequence[Piece]] | None = None


class _Placed(NamedTuple):
    """A relation with the place of its line."""

    line: LineKey
    relation: Relation


# Words that trackers use for work that is next, and for work that is over.
_WAITING: Final = frozenset(("todo", "to do", "next", "ready", "open", "pending", "planned", "queued", "blocked"))
_FINISHED: Final = frozenset(("done", "closed", "resolved", "completed", "finished", "cancelled", "rejected"))
_AFTER_ALL: Final = 1 << 40


class Plan:
    """Offers the facts of a bundle in the order of their worth, so that a budget can be filled from the front."""

    def __init__(self, order: Order, writer: Writer) -> None:
        self.bundle = order.bundle
        self.spine = order.spine
        self.mode = order.mode
        self.tiers = order.tiers
        self.writer = writer
        self.relations: dict[str, Relation] = {}
        self._path = list(self._lines(self.spine.relations, tier=Tier.L1))
        root = self.bundle.root_node_id
        self._places = {root: LineKey(Tier.L0, 0, Head.OBJECTIVE, root)}
        for placed in self._path:
            self._place_ends(placed)
        self._named: set[str] = set()
        self._told: set[str] = set()

    def first(self) -> Iterator[Offer]:
        """Offer what outlives everything else: the objective, and why each step of the spine follows."""
        root = self.bundle.root
        yield Offer([self._about(root, long=(Slot.TITLE, _called(root)))])
        if Tier.L1 in self.tiers:
            yield from map(self._core, self._path)

    def rest(self) -> Iterator[Offer]:
        """Offer all else; a spine that is resumed is told in full before anything beside it."""
        if Tier.L1 not in self.tiers:
            yield from self._summary()
            yield from self._node_in_full(self.bundle.root)
            return
        yield from self._names(self._path)
        yield from self._focus()
        yield from self._natures(self._path)
        yield from self._summary()
        if Tier.L2 not in self.tiers:
            yield from self._in_full(self._path)
            return
        spine_in_full = (self._in_full(self._path), self._details(self.spine.node_ids))
        is_resumed = self.mode is RehydrationMode.RESUME_FOCUSED
        yield from chain(*spine_in_full, self._explained()) if is_resumed else chain(self._explained(), *spine_in_full)
        yield from self._unexplained()
        yield from self._neighbours()
        yield from self._details(node_id for node_id in self.bundle.nodes_by_id if node_id not in self._on_spine)

    @cached_property
    def _on_spine(self) -> frozenset[str]:
        return frozenset(self.spine.node_ids)

    @cached_property
    def _beside(self) -> list[Relation]:
        on_path = {relation.relation_id for relation in self.spine.relations}
        return [relation for relation in self.bundle.relations if relation.relation_id not in on_path]

    @cached_property
    def _reasons(self) -> list[Relation]:
        return by_salience(filter(is_explained, self._beside), self._depths)

    @cached_property
    def _structure(self) -> list[Relation]:
        return by_salience(filterfalse(is_explained, self._beside), self._depths)

    @cached_property
    def _depths(self) -> dict[str, int]:
        return depths(self.bundle, self.spine.node_ids)

    def _summary(self) -> Iterator[Offer]:
        """Offer the lines of L0 under the objective."""
        root = self.bundle.root
        if root.status.strip():
            yield self._summary_line(Head.STATUS, root.node_id, root.status, (root.node_id,))
        step = self._next_action()
        if step is not None:
            target = self.bundle.nodes_by_id[step.target_node_id]
            yield self._summary_line(Head.NEXT, step.relation_id, _called(target), _ends(step))
        blocker = self._blocker()
        if blocker is not None:
            yield self._summary_line(Head.BLOCKER, blocker.relation_id, reason(blocker) or "", _ends(blocker))

    def _summary_line(self, head: Head, subject: str, text: str, node_ids: Sequence[str]) -> Offer:
        line = LineKey(Tier.L0, 0, head, subject)
        return Offer([Piece(line, self.writer.head(head, *node_ids), [self.writer.part(Slot.TEXT, text)])])

    def _next_action(self) -> Relation | None:
        """Return the first step of the spine that leads to waiting work, or to anything unfinished, or else anywhere."""
        steps = self.spine.relations
        statuses = [self.bundle.nodes_by_id[step.target_node_id].status.strip().lower() for step in steps]
        waiting = (step for step, status in zip(steps, statuses, strict=True) if status in _WAITING)
        unfinished = (step for step, status in zip(steps, statuses, strict=True) if status not in _FINISHED)
        return next(chain(waiting, unfinished, steps), None)

    def _blocker(self) -> Relation | None:
        """Return a constraint that gives its reason: one on the spine, or touching it, or else any."""
        spine, touched = self.spine.relations, self._on_spine
        touching = (relation for relation in self.bundle.relations if not touched.isdisjoint(_ends(relation)))
        return next(filter(_blocks, chain(spine, touching, self.bundle.relations)), None)

    def _explained(self) -> Iterator[Offer]:
        """Offer the reasons beside the spine, then what they are about."""
        yield from map(self._core, self._lines(self._reasons))
        yield from self._names(self._lines(self._reasons))
        yield from self._natures(self._lines(self._reasons))

    def _unexplained(self) -> Iterator[Offer]:
        """Offer what else the reasons state, then relations without a reason, each with its ends named."""
        yield from self._in_full(list(self._lines(self._reasons)))
        structure = partial(self._lines, self._structure, first=len(self._reasons))
        for placed in structure():
            self._place_ends(placed)
            names = [self._name(node_id) for node_id in _ends(placed.relation)]
            yield Offer([self._says(placed, self.writer.nature(placed.relation)), *names])
        yield from self._in_full(list(structure()))

    def _neighbours(self) -> Iterator[Offer]:
        """Offer nodes that no line mentioned so far."""
        for position, node in enumerate(self.bundle.nodes, start=_AFTER_ALL):
            if node.node_id not in self._places:
                self._places[node.node_id] = LineKey(Tier.L2, position, Head.NODE, node.node_id)
                yield Offer([self._name(node.node_id)])
                yield from self._node_in_full(node)

    def _details(self, node_ids: Iterable[str]) -> Iterator[Offer]:
        """Offer details, each clipped to half of what is left."""
        details = {detail.node_id: detail for detail in self.bundle.details}
        for position, node_id in enumerate(node_ids, start=2 * _AFTER_ALL):
            if node_id in details:
                line = LineKey(Tier.L2, position, Head.DETAIL, node_id)
                opening = self.writer.head(Head.DETAIL, node_id)
                yield Offer([Piece(line, opening, long=(Slot.TEXT, details[node_id].detail), share=0.5)])

    def _core(self, placed: _Placed) -> Offer:
        """Offer why a relation is; a step of the spine whose reason does not fit is still shown by its type."""
        relation = placed.relation
        is_step = placed.line.tier is Tier.L1
        if relation.rationale is not None:
            long = Slot.WHY, relation.rationale
        elif relation.motivation is not None:
            long = Slot.MOTIVATION, relation.motivation
        else:
            return Offer(self._bare(placed))
        return Offer([self._says(placed, long=long)], partial(self._bare, placed) if is_step else None)

    def _bare(self, placed: _Placed) -> Sequence[Piece]:
        return [self._says(placed, [self.writer.part(Slot.TYPE, placed.relation.relation_type)])]

    def _names(self, relations: Iterable[_Placed]) -> Iterator[Offer]:
        """Offer the titles of the nodes that relations join."""
        for placed in relations:
            self._place_ends(placed)
            for node_id in _ends(placed.relation):
                if node_id not in self._named:
                    self._named.add(node_id)
                    yield Offer([self._name(node_id)])

    def _focus(self) -> Iterator[Offer]:
        """Offer the title of a focus that no path reaches."""
        focus = self.spine.node_ids[-1]
        if focus not in self._places:
            self._places[focus] = LineKey(Tier.L1, len(self._path), Head.NODE, focus)
            yield Offer([self._name(focus)])
            yield from self._node_in_full(self.bundle.nodes_by_id[focus])

    def _natures(self, relations: Iterable[_Placed]) -> Iterator[Offer]:
        """Offer the types and classes of relations."""
        for placed in relations:
            for part in self.writer.nature(placed.relation):
                yield Offer([Piece(placed.line, "", [part])])

    def _in_full(self, relations: Sequence[_Placed]) -> Iterator[Offer]:
        """Offer all else that relations and the nodes on them state."""
        for placed in relations:
            for part in self.writer.statements(placed.relation):
                yield Offer([Piece(placed.line, "", [part])])
        for placed in relations:
            for node_id in _ends(placed.relation):
                yield from self._node_in_full(self.bundle.nodes_by_id[node_id])
        for placed in relations:
            for part in self.writer.links(placed.relation):
                yield Offer([Piece(placed.line, "", [part])])

    def _node_in_full(self, node: Node) -> Iterator[Offer]:
        if node.node_id in self._told:
            return
        self._told.add(node.node_id)
        for part in self.writer.about(node, with_status=node.node_id != self.bundle.root_node_id):
            yield Offer([Piece(self._places[node.node_id], "", [part])])

    def _name(self, node_id: str) -> Piece:
        node = self.bundle.nodes_by_id[node_id]
        return self._about(node, [self.writer.part(Slot.TITLE, _called(node))])

    def _about(self, node: Node, parts: Sequence[Part] = (), long: tuple[Slot, str] | None = None) -> Piece:
        line = self._places[node.node_id]
        return Piece(line, self.writer.head(line.head, node.node_id), parts, long)

    def _says(self, placed: _Placed, parts: Sequence[Part] = (), long: tuple[Slot, str] | None = None) -> Piece:
        return Piece(placed.line, self.writer.head(Head.RELATION, *_ends(placed.relation)), parts, long)

    def _lines(self, relations: Iterable[Relation], *, tier: Tier = Tier.L2, first: int = 0) -> Iterator[_Placed]:
        """Give relations the places of their lines, one by one: most budgets are full long before the last."""
        for position, relation in enumerate(relations, first):
            self.relations[relation.relation_id] = relation
            yield _Placed(LineKey(tier, position, Head.RELATION, relation.relation_id), relation)

    def _place_ends(self, placed: _Placed) -> None:
        """Give each end of a relation that has no line yet its place right above the relation."""
        for node_id in _ends(placed.relation):
            line = LineKey(placed.line.tier, placed.line.position, Head.NODE, node_id)
            self._places.setdefault(node_id, line)


def _ends(relation: Relation) -> tuple[str, str]:
    return relation.source_node_id, relation.target_node_id


def _blocks(relation: Relation) -> bool:
    return relation.semantic_class is RelationClass.CONSTRAINT and reason(relation) is not None


def _called(node: Node) -> str:
    return node.title if node.title.strip() else node.node_id
