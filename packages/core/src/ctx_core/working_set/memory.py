"""What the working set remembers between calls, so that a conversation that grows is read and planned once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ctx_core.cache import RecentCache

if TYPE_CHECKING:
    from ctx_core.working_set.planner import Plan
    from ctx_core.working_set.reading import Reading
    from ctx_core.working_set.selection import Piece


def _remember_pieces() -> RecentCache[tuple[Any, ...], tuple[Piece, ...]]:
    return RecentCache(2048)


def _remember_readings() -> RecentCache[str, Reading]:
    # Each holds the names of a whole conversation; one is asked for again at the next step alone.
    return RecentCache(64)


def _remember_plans() -> RecentCache[str, Plan]:
    return RecentCache(2048)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingSetMemory:
    """Caches, bounded and never pickled; all that is in them can be worked out again.

    Args:
        pieces: Pieces of a message, by its place and content.
        readings: What a conversation has said, by the hash of its messages.
        plans: Plans, by the hash of the conversation up to their step and the room.
    """

    pieces: RecentCache[tuple[Any, ...], tuple[Piece, ...]] = field(default_factory=_remember_pieces)
    readings: RecentCache[str, Reading] = field(default_factory=_remember_readings)
    plans: RecentCache[str, Plan] = field(default_factory=_remember_plans)
