"""Eviction: the oldest turns leave a window that has grown too full, and a short note stays in their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ctx_core import telemetry
from ctx_core.errors import InvalidInput
from ctx_core.messages import Message, as_messages, message_tokens
from ctx_core.provider_rules import thinking_opener
from ctx_core.rehydrate.pairs import groups_of, result_ids
from ctx_core.rehydrate.summary import Note, attach, note_on, without_notes
from ctx_core.rehydrate.windows import context_tokens
from ctx_core.tokens import TokenCounter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_SYSTEM: Final = ("system", "developer")
# A note of this size names about eighty turns; an eighth of the budget where that is less.
_NOTE_TOKENS: Final = 2_000
_NOTE_SHARE: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Evicted:
    """A window that fits, and what left it.

    Args:
        messages: What stays, in order, with a note where turns left.
        evicted: What left, oldest first, without notes of earlier evictions; archive it.
        positions: Where each of `evicted` stood among the messages given.
        summary: The notes' text; empty when nothing left.
        fits: Whether `messages` is within the budget.
        reason: Why it does not fit, or None.
        tokens_before: Tokens of the messages given.
        tokens_after: Tokens of `messages`.
        budget: The tokens allowed.
    """

    messages: list[Message]
    evicted: list[Message]
    positions: tuple[int, ...]
    summary: str
    fits: bool
    reason: str | None
    tokens_before: int
    tokens_after: int
    budget: int


class Evictor:
    """Lets the oldest turns leave until the window fits.

    These never leave: system messages, the first user message and the latest one (the task), and the last `keep_recent` messages.
    A tool call and all its results leave or stay together. No two messages of one role come to stand side by side.

    Args:
        target_utilization: Share of the model's window to fill at most, in (0, 1].
        keep_recent: Messages at the end that always stay.
        context_tokens: Size of the model's window; None looks the model up.
        counter: Counts tokens.
    """

    def __init__(
        self,
        *,
        target_utilization: float = 0.75,
        keep_recent: int = 6,
        context_tokens: int | None = None,
        counter: TokenCounter | None = None,
    ) -> None:
        if not 0 < target_utilization <= 1:
            raise InvalidInput(f"target_utilization must be in (0, 1], not {target_utilization}")
        if keep_recent < 0:
            raise InvalidInput(f"keep_recent must not be negative, not {keep_recent}")
        self.target_utilization = target_utilization
        self.keep_recent = keep_recent
        self.context_tokens = context_tokens
        self.counter = counter or TokenCounter()

    def budget(self, model: str | None = None) -> int:
        """Return the tokens that a window of `model` may take."""
        return int((self.context_tokens or context_tokens(model)) * self.target_utilization)

    def evict(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        *,
        max_tokens: int | None = None,
        model: str | None = None,
    ) -> Evicted:
        """Return `messages` within the budget, and what had to leave for it.

        Args:
            messages: The whole window, oldest first.
            max_tokens: The budget; None takes `target_utilization` of the model's window.
            model: The model's name.
        """
        given = as_messages(messages)
        budget = self.budget(model) if max_tokens is None else max_tokens
        cost = _Cost(self.counter)
        before = cost.of(given)
        kept, evicted, positions, summary = given, list[Message](), tuple[int, ...](), ""
        if before > budget:
            window, origins, notes = _lift_notes(given)
            leaving = self._choose(window, budget - _note_tokens(budget), cost, at_least_one=notes.count > 0)
            if leaving and (closed := _close_gaps(window, leaving, notes, budget, cost)):
                kept, summary = closed[0], "\n".join(closed[1])
                evicted = [window[at] for at in sorted(leaving)]
                positions = tuple(origins[at] for at in sorted(leaving))
        after = cost.of(kept)
        telemetry.metric("evictor.evicted", len(evicted))
        return Evicted(
            messages=kept,
            evicted=evicted,
            positions=positions,
            summary=summary,
            fits=after <= budget,
            reason=None if after <= budget else self._reason(after, budget),
            tokens_before=before,
            tokens_after=after,
            budget=budget,
        )

    def _choose(self, window: Sequence[Message], budget: int, cost: _Cost, *, at_least_one: bool) -> set[int]:
        """Choose whole groups, oldest first, until the rest fits; where an earlier note must shrink, at least one."""
        excess = max(cost.of(window) - budget, int(at_least_one))
        protected = _protected(window, self.keep_recent)
        leaving: set[int] = set()
        for group in groups_of(window):
            if excess <= 0:
                break
            if protected.isdisjoint(group):
                leaving.update(group)
                excess -= cost.of(window[at] for at in group)
        return leaving

    def _reason(self, after: int, budget: int) -> str:
        return (
            f"what may not leave (system messages, the task, the last {self.keep_recent} messages and the tool calls they "
            f"belong to) takes {after} of {budget} tokens"
        )


class _Cost:
    """Counts each message once, however often it is asked for."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._known: dict[int, tuple[Message, int]] = {}

    def of(self, messages: Iterable[Message]) -> int:
        return sum(map(self._one, messages))

    def _one(self, message: Message) -> int:
        if id(message) not in self._known:
            # The message is kept with its count, so that its id stays taken.
            self._known[id(message)] = message, message_tokens(message, self._counter)
        return self._known[id(message)][1]


def _note_tokens(budget: int) -> int:
    return min(_NOTE_TOKENS, budget // _NOTE_SHARE)


def _lift_notes(messages: Sequence[Message]) -> tuple[list[Message], list[int], Note]:
    """Take earlier notes out, so that one new note says it all and none is taken for a turn; say where each message stood."""
    window: list[Message] = []
    origins: list[int] = []
    notes = Note()
    for at, message in enumerate(messages):
        rest, said = without_notes(message)
        notes += said
        if rest is not None:
            window.append(rest)
            origins.append(at)
    return window, origins, notes


def _protected(window: Sequence[Message], keep_recent: int) -> set[int]:
    asked = [at for at, message in enumerate(window) if message.role == "user" and not result_ids(message)]
    system = (at for at, message in enumerate(window) if message.role in _SYSTEM)
    opener = thinking_opener(window)
    opening = () if opener is None else (opener,)
    return {*system, *asked[:1], *asked[-1:], *opening, *range(max(0, len(window) - keep_recent), len(window))}


def _close_gaps(
    window: Sequence[Message], leaving: set[int], notes: Note, budget: int, cost: _Cost
) -> tuple[list[Message], list[str]] | None:
    """Put a note into each gap, the longest that fits, else the shortest; None if even that takes more than what left."""
    room = budget - cost.of(message for at, message in enumerate(window) if at not in leaving)
    # Half of a room that is larger than planned: the next turns need some of it, or each of them would evict again.
    closed = _with_notes(window, leaving, notes, min(room, max(_note_tokens(budget), min(_NOTE_TOKENS, room // 2))))
    for smaller in (1, 0):
        if cost.of(closed[0]) <= budget:
            return closed
        closed = _with_notes(window, leaving, notes, smaller)
    return closed if cost.of(closed[0]) < cost.of(window) else None


def _with_notes(
    window: Sequence[Message], leaving: set[int], earlier: Note, room: int
) -> tuple[list[Message], list[str]]:
    gaps = _gaps(window, leaving)
    out: list[Message] = []
    texts: list[str] = []
    before_next: list[str] = []
    opener = thinking_opener(window)
    for at, message in enumerate(window):
        if at in gaps:
            note = note_on(window[i] for i in gaps[at])
            texts.append((note if texts else earlier + note).render(room * len(gaps[at]) // len(leaving)))
            if opener is not None and at > opener and (asked := _asked_in(out)) is not None:
                # Nobody may speak up within the turn, so the note stands with what the user asked.
                out[asked] = attach(texts[-1], out[asked], before=False)
            else:
                before_next += _place(texts[-1], out, _next_talk(window, leaving, at))
        if at in leaving:
            continue
        if message.role not in _SYSTEM:
            for text in reversed(before_next):
                message = attach(text, message, before=True)  # noqa: PLW2901 - notes in front of it are part of it now
            before_next = []
        out.append(message)
    return out, texts


def _gaps(window: Sequence[Message], leaving: set[int]) -> dict[int, list[int]]:
    """Return runs of leaving positions by their first one; system messages do not end a run, as providers lift them out."""
    gaps: dict[int, list[int]] = {}
    start: int | None = None
    for at, message in enumerate(window):
        if at in leaving:
            start = at if start is None else start
            gaps.setdefault(start, []).append(at)
        elif message.role not in _SYSTEM:
            start = None
    return gaps


def _next_talk(window: Sequence[Message], leaving: set[int], start: int) -> Message | None:
    later = range(start, len(window))
    return next((window[at] for at in later if at not in leaving and window[at].role not in _SYSTEM), None)


def _asked_in(messages: Sequence[Message]) -> int | None:
    return next((at for at in reversed(range(len(messages))) if messages[at].role == "user"), None)


def _place(note: str, out: list[Message], following: Message | None) -> list[str]:
    """Put a note at the end of `out` so that roles still alternate; return it where it must go into the message that follows."""
    last = next((at for at in reversed(range(len(out))) if out[at].role not in _SYSTEM), None)
    after_user = last is not None and out[last].role == "user"
    before_user = following is not None and following.role == "user"
    if after_user and before_user:
        out.append(Message(role="assistant", content=note))
    elif before_user:
        return [note]
    elif after_user and last is not None:
        out[last] = attach(note, out[last], before=False)
    else:
        out.append(Message(role="user", content=note))
    return []
