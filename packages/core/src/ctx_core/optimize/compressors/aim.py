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
    best, best_count = None, 0
    low, high, room = 0, None, target - reserve
    for _ in range(_ROUNDS):
        drawn = draw(room)
        count = budget.counter.count(drawn.text)
        if count > target:
            high = room
        else:
            low = room
            if count > best_count:
                best, best_count = drawn, count
        if high is not None and (high <= 0 or high - low <= _SLACK_TOKENS):
            break
        room = _next(room, target - count, low, high)
    return best


def _next(room: int, missing: int, low: int, high: int | None) -> int:
    """Go as far as tokens are missing, but stay between what fitted and what did not."""
    room += missing - _SLACK_TOKENS
    if high is None:
        return max(room, low + _SLACK_TOKENS)
    return room if low < room < high else (low + high) // 2
