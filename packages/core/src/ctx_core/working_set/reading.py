"""What a conversation has said up to a message: which values calls used, which states are the latest, what is said more than once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ctx_core.working_set.need import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctx_core.messages import Message
    from ctx_core.working_set.selection import Piece, Place


@dataclass(slots=True, kw_only=True)
class Reading:
    """The state of a conversation after some of its messages; grows message by message.

    Args:
        usage: What calls and answers have used.
        outdated: Places of facts that a newer one has replaced, with the newer value.
        results: How many messages hold a field's value.
        wordings: How many sentences have the same words.
        latest: The newest fact of each entity and field.
        last_result: The last message that holds a field's value.
    """

    usage: Usage = field(default_factory=Usage)
    outdated: dict[Place, str] = field(default_factory=dict["Place", str])
    results: Counter[str] = field(default_factory=Counter[str])
    wordings: Counter[frozenset[str]] = field(default_factory=Counter[frozenset[str]])
    latest: dict[tuple[str, ...], Piece] = field(default_factory=dict[tuple[str, ...], "Piece"])
    last_result: dict[str, int] = field(default_factory=dict[str, int])

    def copy(self) -> Reading:
        """Return a reading that can grow on its own."""
        return Reading(
            usage=replace(self.usage, arguments={*self.usage.arguments}, values={*self.usage.values}),
            outdated={**self.outdated},
            results=Counter(self.results),
            wordings=Counter(self.wordings),
            latest={**self.latest},
            last_result={**self.last_result},
        )

    def add(self, message: Message, pieces: Sequence[Piece]) -> None:
        """Take in the next message."""
        if message.role == "assistant":
            self.usage.add(message, names=(name for piece in pieces for name in piece.fact.names))
        for piece in pieces:
            fact = piece.fact
            if not fact.is_field:
                self.wordings[fact.wording] += 1
            elif self.last_result.get(fact.text) != piece.source:
                self.last_result[fact.text] = piece.source
                self.results[fact.text] += 1
            if fact.entity:
                self._replace_state(piece)

    def _replace_state(self, piece: Piece) -> None:
        entity = piece.fact.entity
        before = self.latest.get(entity)
        if before is not None and before.source < piece.source and before.fact.text != piece.fact.text:
            self.outdated[before.place] = piece.fact.text
        self.latest[entity] = piece
