"""The plan of a prompt: which messages stand as they are, what is told of those that left, and what this step needs beside.

```text
system · task · digest of what left · window, with a note behind each newest message · note for this step
└────────────── stable ────────────┘ └─ grows at its end ─┘                        └─ new ─┘
```

A provider's cache serves a prompt up to its first changed byte, so everything but the last note only grows: messages leave in large
steps, and what they leave behind is added to the end of the digest. The plan is worked out by replaying the conversation, each step
as it was then. So it is the same in any process, and a step that was planned before is looked up instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ctx_core.working_set.selection import Chosen, Rater, Visible, choose_pieces
from ctx_core.working_set.text import render_pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ctx_core.working_set.need import Need
    from ctx_core.working_set.record import Record
    from ctx_core.working_set.selection import Piece


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowShares:
    """How the room of a conversation is shared, each in [0, 1]; what one does not use, the window has.

    Args:
        low_water: Window that stays where messages leave. Small, so that they leave seldom and a cached prefix lasts.
        digest: Digest of what left, at most.
        digest_low: Digest that stays where it has grown to its most and is written anew.
        notes: Notes on what single steps need, at most.
        reserve: Room that must be left for a note; without it, messages leave.
        least_in_digest: Value below which a piece is not told in the digest, room or not.
        least_in_notes: The same for notes, which no cache serves.
    """

    low_water: float = 0.2
    digest: float = 0.4
    digest_low: float = 0.3
    notes: float = 0.25
    reserve: float = 0.05
    least_in_digest: float = 0.45
    least_in_notes: float = 0.7


_LEAST_SHARE_OF_LEFT: Final = 0.15
"""Share of what leaves that its digest should have; with less room, the whole digest is written anew."""

_LEAST_NOTE: Final = 20
"""Tokens of the shortest note that says something, tags included."""

_NOTE_FRAME_TOKENS: Final = 11
"""Tokens of the tags around a note."""

_DIGEST_FRAME_TOKENS: Final = 56
"""Tokens of the tags, lead and count around a digest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What one step needed, behind the message that was the newest then."""

    behind: int
    chosen: tuple[Chosen, ...]
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The plan of one step.

    Args:
        start: First message of the window.
        kept: Messages before the window that stand as they are: the user's latest request.
        left: Whether anything has left.
        digest: What is told of what left; each part was added to the end of those before.
        notes: What single steps of this window needed.
        digest_tokens: Tokens of the digest.
    """

    start: int = 0
    kept: tuple[int, ...] = ()
    has_left: bool = False
    digest: tuple[tuple[Chosen, ...], ...] = ()
    notes: tuple[Note, ...] = ()
    digest_tokens: int = 0

    @property
    def notes_tokens(self) -> int:
        """Tokens of all notes."""
        return sum(note.tokens for note in self.notes)

    @property
    def chosen(self) -> list[Chosen]:
        """Every piece of the digest and the notes."""
        return [each for part in (*self.digest, *(note.chosen for note in self.notes)) for each in part]


class Planner:
    """Replays a conversation and plans each step of it.

    Args:
        record: The conversation: what it holds, what it costs, and the pieces it is made of.
        room: Tokens for all but the pinned messages.
        shares: How the room is shared.
    """

    def __init__(self, record: Record, *, room: int, shares: WindowShares) -> None:
        self.record = record
        self.room = room
        self.shares = shares
        self._plans = record.memory.plans
        self._made_for = f"{room}:{shares}:{record.tools_key}"

    def plan(self) -> Plan:
        """Return the plan of the coming step.

        Where messages leave hangs on sizes alone, so notes are worked out only for the steps of the window that is left.
        """
        steps = self.record.steps
        known, plan = len(steps), None
        while plan is None and known:
            known -= 1
            plan = self._plans.get(self._key(steps[known]))
        todo = steps if plan is None else steps[known + 1 :]
        plan, cut = plan or self._first_plan(), 0
        for at, step in enumerate(todo):
            before, plan = plan, self._make_room(plan, step)
            cut = cut if plan is before else at
        for step in todo[cut:] if plan.has_left else ():
            plan = self._plans.put(self._key(step), self._note(plan, step))
        return plan

    def _first_plan(self) -> Plan:
        carried = self.record.carried
        plan = Plan(has_left=self.record.carried_count > 0)
        return self._with_part(plan, (), carried) if carried else plan

    def _key(self, step: int) -> str:
        return f"{self.record.hashes[step]}:{self._made_for}"

    def _make_room(self, plan: Plan, step: int) -> Plan:
        """Return the plan with room for the messages of a step."""
        reserve = int(self.room * self.shares.reserve) if plan.has_left else 0
        return self._cut(plan, step) if self._used(plan, step) + reserve > self.room else plan

    @cached_property
    def _notes_room(self) -> int:
        return int(self.room * self.shares.notes)

    def _used(self, plan: Plan, step: int) -> int:
        record = self.record
        frame = _DIGEST_FRAME_TOKENS if plan.has_left else 0
        return frame + plan.digest_tokens + record.cost(plan.start, step) + sum(record.costs[at] for at in plan.kept)

    # Messages leave.

    def _cut(self, plan: Plan, step: int) -> Plan:
        """Let messages leave down to the low-water mark, and add what they leave behind to the digest."""
        record = self.record
        starts = [at for at in record.starts if plan.start < at < step]
        if not starts:
            return plan
        low = int(self.room * self.shares.low_water)
        start = next((at for at in starts if record.cost(at, step) <= low), starts[-1])
        asked = record.latest_request(step)
        wanted = {*record.opening(step), *(() if asked is None else (asked,))}
        kept = tuple(sorted(at for at in wanted if at < start and at not in record.pinned))
        leaving = [at for at in (*plan.kept, *range(plan.start, start)) if at not in kept and at not in record.pinned]
        taken = record.cost(start, step) + sum(record.costs[at] for at in kept)
        free = self.room - taken - self._notes_room - _DIGEST_FRAME_TOKENS
        most = max(min(int(self.room * self.shares.digest), free), 0)
        plan = replace(plan, start=start, kept=kept, has_left=True, notes=())
        return self._extend_digest(plan, leaving, most, step)

    def _extend_digest(self, plan: Plan, leaving: Sequence[int], most: int, step: int) -> Plan:
        record = self.record
        need = record.need(step)
        visible = Visible(record.texts(plan.start, step, *plan.kept))
        pieces = record.pieces_of(leaving)
        room = most - plan.digest_tokens
        if room >= min(_LEAST_SHARE_OF_LEFT * sum(record.costs[at] for at in leaving), most / 4):
            for part in plan.digest:
                visible.add(render_pieces(part))
            return self._with_part(
                plan, plan.digest, self._choose(pieces, need, visible, room, least=self.shares.least_in_digest)
            )
        earlier = [each.piece for part in plan.digest for each in part]
        pool = sorted((*earlier, *pieces), key=lambda piece: piece.place)
        room = min(most, int(self.room * self.shares.digest_low))
        return self._with_part(plan, (), self._choose(pool, need, visible, room, least=self.shares.least_in_digest))

    def _with_part(self, plan: Plan, digest: tuple[tuple[Chosen, ...], ...], part: tuple[Chosen, ...]) -> Plan:
        parts = (*digest, part) if part else digest
        return replace(plan, digest=parts, digest_tokens=self.record.count("\n".join(map(render_pieces, parts))))

    # What a step needs.

    def _note(self, plan: Plan, step: int) -> Plan:
        """Add what this step needs and the prompt does not show; earlier notes go where there is no room beside them."""
        record = self.record
        need = record.need(step)
        free = self.room - self._used(plan, step)
        if plan.notes_tokens > free:
            plan = replace(plan, notes=())
        room = min(self._notes_room, free) - plan.notes_tokens
        visible = Visible(record.texts(plan.start, step, *plan.kept))
        for part in plan.digest:
            visible.add(render_pieces(part))
        for note in plan.notes:
            visible.add(render_pieces(note.chosen))
        pieces = record.pieces_before(plan.start, without=plan.kept)
        chosen = self._choose(pieces, need, visible, room, least=self.shares.least_in_notes)
        if not chosen:
            return plan
        return replace(plan, notes=(*plan.notes, Note(behind=step - 1, chosen=chosen, tokens=self._cost_of(chosen))))

    def _choose(
        self, pieces: Sequence[Piece], need: Need, visible: Visible, room: int, *, least: float
    ) -> tuple[Chosen, ...]:
        """Return the best pieces whose text takes at most `room` tokens."""
        if room < _LEAST_NOTE:
            return ()
        reading = self.record.reading(need.length)
        chosen = choose_pieces(pieces, Rater(need, visible, reading, least_value=least), room)
        while chosen and self._cost_of(chosen) > room:
            # Sizes were estimated; what serves least makes way.
            keep = sorted(chosen, key=lambda each: -each.value)[: max(len(chosen) * 9 // 10, 0)]
            chosen = [each for each in chosen if each in keep]
        return tuple(chosen)

    def _cost_of(self, chosen: Iterable[Chosen]) -> int:
        return self.record.count(render_pieces([*chosen])) + _NOTE_FRAME_TOKENS
