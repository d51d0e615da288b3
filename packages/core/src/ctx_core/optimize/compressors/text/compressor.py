"""Chooses sentences by what they say, and counts the others where they stood."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.aim import aim
from ctx_core.optimize.compressors.base import Budget, Compressed, Omission
from ctx_core.optimize.compressors.text.units import MIN_PASSAGE, Kind, Unit, units_of
from ctx_core.optimize.compressors.text.worth import ALARM, worths
from ctx_core.tokens import estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MIXED: Final = "parts"
"""What units of several kinds are together."""

_NOTE_OPENS: Final = "[… "
_NOTE: Final = re.compile(rf"\[… (\d+) ({'|'.join(what[:-1] for what in (*Kind, _MIXED))})s?(?: said before)?\]")
_NOTE_COST: Final = 6


class TextCompressor:
    """Keeps whole sentences, list items and lines under their headings; drops none of their words."""

    def compress(self, text: str, budget: Budget, *, query: str | None = None) -> Compressed:
        """Return `text` without what it says twice; over budget, the sentences that are worth most."""
        if budget.max_tokens is not None and budget.fits(text):
            return Compressed(text=text)
        units = units_of(text)
        # Beside a note that counts what was left out, what follows is no longer what followed.
        said_once = range(len(units)) if _NOTE.search(text) else _said_once(units)
        once = _written(units, said_once, why=" said before")
        shorter = once if len(once.text) < len(text) else Compressed(text=text)
        if budget.fits(shorter.text):
            return shorter
        costs = [estimate(unit.text) + 1 for unit in units]
        order, alarms = _order(units, costs, query)

        def draw(room: int) -> Compressed:
            return _written(units, _chosen(units, order, alarms, costs, room))

        return aim(draw, budget, reserve=0) or draw(0)


def _said_once(units: Sequence[Unit]) -> list[int]:
    """Return the numbers of all units but those of long passages in which each was said before; headings and code stay."""
    seen: set[str] = set()
    kept: list[int] = []
    for is_repeated, run in groupby(enumerate(units), key=lambda each: _is_repeated(each[1], seen)):
        passage = [*run]
        if not is_repeated or sum([len(unit.text.strip()) for _, unit in passage]) < MIN_PASSAGE:
            kept += [number for number, _ in passage]
    return kept


def _is_repeated(unit: Unit, seen: set[str]) -> bool:
    """Say whether a unit was seen, and see it."""
    if unit.stays:
        return False
    text = unit.text.strip()
    is_repeated = text in seen
    seen.add(text)
    return is_repeated


def _order(units: Sequence[Unit], costs: Sequence[int], query: str | None) -> tuple[list[int], set[int]]:
    """Order the units by worth per token, and say which of them are alarms.

    A long sentence holds more than a short one, so its length counts by less than all of it.
    """
    value = worths(units, query)
    alarms = {number for number, worth in enumerate(value) if worth >= ALARM}
    density = [worth / (1 if worth >= ALARM else cost**0.5) for worth, cost in zip(value, costs, strict=True)]
    return sorted(range(len(units)), key=lambda number: (-density[number], number)), alarms


def _chosen(units: Sequence[Unit], order: Sequence[int], alarms: set[int], costs: Sequence[int], room: int) -> set[int]:
    """Take units in their order while there is room, with their headings and fences; an alarm does without headings."""
    kept: set[int] = set()
    for number in order:
        unit = units[number]
        if number in kept or costs[number] + _NOTE_COST > room:
            continue
        for heads in (unit.heads, ()) if number in alarms else (unit.heads,):
            wanted = {number, *heads, *unit.fence} - kept
            needed = sum([costs[number] for number in wanted]) + _NOTE_COST
            if needed <= room:
                kept |= wanted
                room -= needed
                break
    return kept


def _written(units: Sequence[Unit], kept: Iterable[int], *, why: str = "") -> Compressed:
    """Return the text of the units in `kept`, with a counted note wherever some are missing, and why they are."""
    out: list[str] = []
    total: Counter[str] = Counter()
    above = -1
    for number in [*sorted(kept), len(units)]:
        if missing := units[above + 1 : number]:
            lost = _lost(missing)
            what, count = next(iter(lost)) if len(lost) == 1 else _MIXED, lost.total()
            out.append(_note(count, what, why, missing[-1].text))
            total[what] += count
        if number < len(units):
            out.append(units[number].text)
        above = number
    omissions = tuple(Omission(what=what, count=count) for what, count in total.items())
    return Compressed(text="".join(out), omissions=omissions)


def _lost(units: Sequence[Unit]) -> Counter[str]:
    """Say what goes with some units: themselves, or what notes in them say was left out before."""
    lost: Counter[str] = Counter([unit.kind.value for unit in units if _NOTE_OPENS not in unit.text])
    for unit in units:
        notes = _NOTE.findall(unit.text) if _NOTE_OPENS in unit.text else ()
        for count, what in notes:
            lost[f"{what}s"] += int(count)
        if _NOTE_OPENS in unit.text and (not notes or _NOTE.sub("", unit.text).strip()):
            lost[unit.kind.value] += 1
    return lost


def _note(count: int, what: str, why: str, last: str) -> str:
    """Say what is missing, and go on with the white space that stood behind it."""
    space = last[len(last.rstrip()) :]
    return f"[… {count} {what if count > 1 else what[:-1]}{why}]" + ("\n" * min(2, space.count("\n")) or space[:1])
