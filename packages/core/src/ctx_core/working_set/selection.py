"""Selection: the facts that are worth their tokens under a budget, and never two of the same."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, TypeAlias

from ctx_core.working_set.names import token_set
from ctx_core.working_set.need import WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

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


def choose_pieces(
    pieces: Sequence[Piece],
    need: Need,
    visible: Visible,
    room: int,
    *,
    reading: Reading,
    least_value: float = 0.0,
) -> list[Chosen]:
    """Return the pieces that serve `need` best within `room` tokens, in the order of the conversation.

    Pieces are taken by value per token. A field brings the field that names its object; what is shown already or was chosen before
    is not repeated; a value that a newer one has replaced stays out.
    """
    rated = _rate(pieces, need, visible, reading, least_value)
    identities = {(piece.source, piece.fact.group): at for at, piece in enumerate(pieces) if piece.fact.is_identity}
    taken: dict[int, Chosen] = {}
    sources: set[int] = set()
    groups: set[tuple[int, int]] = set()
    shown: set[str] = set()
    missed = 0
    for density, value, at, reason in rated:
        if missed >= _MISSES or density <= 0:
            break
        piece = pieces[at]
        if at in taken:
            continue
        is_too_little = not piece.fact.is_field or value * WEIGHTS.shown_elsewhere < least_value
        if is_too_little and _is_shown(piece.fact, shown):
            continue
        bundle = [at]
        group = piece.source, piece.fact.group
        if (
            piece.fact.is_field
            and not piece.fact.is_identity
            and (head := identities.get(group)) is not None
            and head not in taken
        ):
            bundle.append(head)
        cost = sum(pieces[each].fact.tokens for each in bundle)
        cost += (piece.source not in sources) * _SOURCE_TOKENS + (group not in groups) * _GROUP_TOKENS
        if cost > room:
            missed += 1
            continue
        missed = 0
        room -= cost
        sources.add(piece.source)
        groups.add(group)
        for each in bundle:
            taken[each] = Chosen(piece=pieces[each], value=value, reason=reason)
            shown.update((pieces[each].fact.text,) if pieces[each].fact.is_field else pieces[each].fact.names)
    return [taken[at] for at in sorted(taken)]


def _is_shown(fact: Fact, shown: set[str]) -> bool:
    if fact.is_field:
        return fact.text in shown
    return bool(fact.names) and shown.issuperset(fact.names)


def _rate(
    pieces: Sequence[Piece], need: Need, visible: Visible, reading: Reading, least_value: float
) -> list[tuple[float, float, int, Reason]]:
    """Return value per token, value, number and reason of every piece that is not shown, best first."""
    linked = {(piece.source, piece.fact.group) for piece in pieces if piece.fact.is_field and need.mentions(piece.fact)}
    rated: list[tuple[float, float, int, Reason]] = []
    for at, piece in enumerate(pieces):
        if piece.place in reading.outdated:
            continue
        if piece.fact.is_field:
            value, reason = _rate_field(piece, need, visible, reading, linked, least_value)
        else:
            value, reason = _rate_text(piece, need, visible, reading, least_value)
        if value >= least_value:
            rated.append((value / piece.fact.tokens, value, at, reason))
    # What clearly serves comes before what may; within either, the most value for a token, and the newest.
    rated.sort(key=lambda each: (each[1] < CLEAR_VALUE, -each[0], -each[2]))
    return rated


def _rate_field(
    piece: Piece, need: Need, visible: Visible, reading: Reading, linked: Container[Place], least_value: float
) -> tuple[float, Reason]:
    fact = piece.fact
    value, reason = need.value_of_field(
        fact,
        piece.source,
        is_linked=(piece.source, fact.group) in linked,
        is_recurring=fact.weight > 0 and reading.results[fact.text] > 1,
    )
    # Searching the prompt costs most, so it comes last.
    if value >= least_value and visible.has(fact.text):
        value *= WEIGHTS.shown_elsewhere
    return value, reason


def _rate_text(
    piece: Piece, need: Need, visible: Visible, reading: Reading, least_value: float
) -> tuple[float, Reason]:
    fact = piece.fact
    rate = partial(
        need.value_of_text, fact, piece.source, is_user=piece.role == "user", alike=reading.wordings[fact.wording]
    )
    value, reason = rate(new_names=fact.names)
    if value < least_value:
        return value, reason
    if visible.has(fact.text):
        return -1.0, reason
    new_names = [name for name in fact.names if not visible.has(name)]
    return (value, reason) if len(new_names) == len(fact.names) else rate(new_names=new_names)
