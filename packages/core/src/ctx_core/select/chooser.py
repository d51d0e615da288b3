"""One chooser of units under a budget: the most valuable first, each with what it cannot stand without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

# After so many units in a row that were too large, what is left of the budget is less than any of them.
_MISSES: Final = 48


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a text that is shown whole or left out whole.

    Args:
        text: What is shown.
        tokens: What it costs, its line end included.
        value: How much it says; only the order counts.
        requires: The numbers of the units that it cannot be read without, such as the header of its record.
    """

    text: str
    tokens: int
    value: float = 0.0
    requires: tuple[int, ...] = ()


def fill(
    units: Sequence[Unit], room: int, *, taken: Collection[int] = (), gap: int = 0, misses: int = _MISSES
) -> set[int]:
    """Return the numbers of the units that are shown: the highest value first, as long as there is room.

    A unit brings what it requires, and is skipped where both do not fit; a smaller one behind it may still fit.

    Args:
        units: In the order of the text.
        room: Tokens that may be spent.
        taken: Units that are shown anyway, and that are paid already.
        gap: Tokens of the note where units are missing between two that are shown.
        misses: Stop after so many units in a row that did not fit.
    """
    chosen = {-1, len(units), *taken}
    missed = 0
    for number in sorted(range(len(units)), key=lambda number: (-units[number].value, number)):
        if number in chosen:
            continue
        group = _with_required(units, number, chosen)
        cost = sum([units[each].tokens for each in group]) + gap * _new_gaps(group, chosen)
        if cost <= room:
            chosen.update(group)
            room -= cost
            missed = 0
        elif (missed := missed + 1) >= misses:
            break
    return chosen - {-1, len(units)}


def _with_required(units: Sequence[Unit], number: int, chosen: Collection[int]) -> list[int]:
    """Return a unit and all that it requires and that is not there yet."""
    group, todo = [number], [*units[number].requires]
    while todo:
        each = todo.pop()
        if each not in chosen and each not in group:
            group.append(each)
            todo += units[each].requires
    return group


def _new_gaps(group: Sequence[int], chosen: Collection[int]) -> int:
    """Return how many more notes there will be: one that stands alone parts a gap in two, one that closes a gap saves it."""
    return sum(
        1 - (each - 1 in chosen or each - 1 in group) - (each + 1 in chosen or each + 1 in group) for each in group
    )
