"""Fills a budget by drawing, counting and drawing again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctx_core.optimize.compressors.base import Budget, Compressed

_ROUNDS: Final = 8
_SLACK_TOKENS: Final = 2


def aim(draw: Callable[[int], Compressed], budget: Budget, *, reserve: int) -> Compressed | None:
    """Return the longest result within the budget that a few rounds find; None when none was.

    Args:
        draw: Makes a result out of pieces whose costs sum up to so many tokens.
        budget: Its `max_tokens` is the target.
        reserve: Tokens that the result is likely to need beside its pieces.
    """
    target = budget.max_tokens or 0
    best, best_count, room = None, 0, target - reserve
    for _ in range(_ROUNDS):
        drawn = draw(room)
        count = budget.counter.count(drawn.text)
        if best_count < count <= target:
            best, best_count = drawn, count
        elif best is not None or room < 0:
            break
        room += target - count - _SLACK_TOKENS
    return best
