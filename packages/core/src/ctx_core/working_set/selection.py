"""Selection: the facts that are worth their tokens under a budget, and never two of the same."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, TypeAlias

from ctx_core.working_set.names import token_set
from ctx_core.working_set.need import WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ctx_core.working_set.facts import Fact
    from ctx_core.working_set.need import Need, Reason
    from ctx_core.working_set.reading import Reading

Place: TypeAlias = tuple[int, int]
"""Where a piece stands: the position of its message, and its place among the facts of that message."""

CLEAR_VALUE: Final = 0.7
"""Value of a piece that clearly serves: an id, a date or a path by its form alone, anything else for a reason beside."""

_SOURCE_TOKENS: Final = 4
"""What naming a fact's message takes: a line end, a role or a tool, a colon."""

_GROUP_TOKENS: Final = 3
"""What opening an object takes: a separator and its label."""

_MISSES: Final = 48
"""Facts in a row that did not fit; what is left then is less than any of them."""

_WHOLE_VALUE: Final = 5
"""Characters from which a value that stands anywhere in the text counts as shown; shorter ones must stand as a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A fact in its place.

    Args:
        source: Position of its message in the conversation.
        order: Its place among the facts of that message.
        fact: What it says.
        role: The role of the message.
        tool: The tool whose result it is; empty for none.
    """

    source: int
    order: int
    fact: Fact
    role: str
    tool: str = ""

    @property
    def place(self) -> Place:
        """Where it stands in the conversation."""
        return self.source, self.order


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A piece that is shown, how much it serves, and why."""

    piece: Piece
    value: float
    reason: Reason


class Visible:
    """What the prompt shows already."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = [*texts]

    def add(self, text: str) -> None:
        """Take in a text that is shown."""
        self._texts.append(text)
        self.__dict__.pop("_text", None)
        self.__dict__.pop("_tokens", None)

    @cached_property
    def _text(self) -> str:
        return "\n".join(self._texts)

    @cached_property
    def _tokens(self) -> frozenset[str]:
        return frozenset[str]().union(*map(token_set, self._texts))

    def has(self, value: str) -> bool:
        """Return True if a value is shown as it is."""
        return value in self._text if len(value) >= _WHOLE_VALUE else value in self._tokens


def choose_pieces(pieces: Sequence[Piece], rater: Rater, room: int) -> list[Chosen]:
    """Return the pieces that serve a step best within `room` tokens, in the order of the conversation.

    Pieces are taken by value per token. A field brings the field that names its object; what is shown already or was chosen before
    is not repeated.
    """
    identities = {(piece.source, piece.fact.group): at for at, piece in enumerate(pieces) if piece.fact.is_identity}
    taken: dict[int, Chosen] = {}
    sources: set[int] = set()
    groups: set[tuple[int, int]] = set()
    shown: set[str] = set()
    missed = 0
    for each in rater.rate(pieces):
        if missed >= _MISSES or each.density <= 0:
            break
        piece = pieces[each.at]
        if each.at in taken:
            continue
        is_too_little = not piece.fact.is_field or each.value * WEIGHTS.shown_elsewhere < rater.least_value
        if is_too_little and _is_shown(piece.fact, shown):
            continue
        group = piece.source, piece.fact.group
        head = identities.get(group) if piece.fact.is_field and not piece.fact.is_identity else None
        bundle = [each.at] if head is None or head in taken else [each.at, head]
        cost = sum(pieces[at].fact.tokens for at in bundle)
        cost += (piece.source not in sources) * _SOURCE_TOKENS + (group not in groups) * _GROUP_TOKENS
        if cost > room:
            missed += 1
            continue
        missed = 0
        room -= cost
        sources.add(piece.source)
        groups.add(group)
        for at in bundle:
            taken[at] = Chosen(piece=pieces[at], value=each.value, reason=each.reason)
            shown.update((pieces[at].fact.text,) if pieces[at].fact.is_field else pieces[at].fact.names)
    return [taken[at] for at in sorted(taken)]


def _is_shown(fact: Fact, shown: set[str]) -> bool:
    if fact.is_field:
        return fact.text in shown
    return bool(fact.names) and shown.issuperset(fact.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """A piece by its number, what it is worth for the coming step, and the strongest reason."""

    at: int
    value: float
    density: float
    reason: Reason


class Rater:
    """Rates pieces for one step.

    Args:
        need: What the step asks for.
        visible: What the prompt shows already.
        reading: What the conversation has said so far.
        least_value: Value below which a piece is of no interest.
    """

    def __init__(self, need: Need, visible: Visible, reading: Reading, *, least_value: float) -> None:
        self.need = need
        self.visible = visible
        self.reading = reading
        self.least_value = least_value

    def rate(self, pieces: Sequence[Piece]) -> list[Rated]:
        """Return every piece that is worth showing, best first. A value that a newer one has replaced is not among them."""
        linked = {
            (piece.source, piece.fact.group)
            for piece in pieces
            if piece.fact.is_field and self.need.mentions(piece.fact)
        }
        rated: list[Rated] = []
        for at, piece in enumerate(pieces):
            if piece.place in self.reading.outdated:
                continue
            if piece.fact.is_field:
                value, reason = self._rate_field(piece, is_linked=(piece.source, piece.fact.group) in linked)
            else:
                value, reason = self._rate_text(piece)
            if value >= self.least_value:
                rated.append(Rated(at=at, value=value, density=value / piece.fact.tokens, reason=reason))
        # What clearly serves comes before what may; within either, the most value for a token, and the newest.
        rated.sort(key=lambda each: (each.value < CLEAR_VALUE, -each.density, -each.at))
        return rated

    def _rate_field(self, piece: Piece, *, is_linked: bool) -> tuple[float, Reason]:
        fact = piece.fact
        is_recurring = fact.weight > 0 and self.reading.results[fact.text] > 1
        value, reason = self.need.value_of_field(fact, piece.source, is_linked=is_linked, is_recurring=is_recurring)
        # Searching the prompt costs most, so it comes last.
        if value >= self.least_value and self.visible.has(fact.text):
            value *= WEIGHTS.shown_elsewhere
        return value, reason

    def _rate_text(self, piece: Piece) -> tuple[float, Reason]:
        fact = piece.fact
        alike = self.reading.wordings[fact.wording]
        rate = partial(self.need.value_of_text, fact, piece.source, is_user=piece.role == "user", alike=alike)
        value, reason = rate(new_names=fact.names)
        if value < self.least_value:
            return value, reason
        if self.visible.has(fact.text):
            return -1.0, reason
        new_names = [name for name in fact.names if not self.visible.has(name)]
        return (value, reason) if len(new_names) == len(fact.names) else rate(new_names=new_names)
