"""Fills a budget by drawing, counting and drawing again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctx_core.optimize.compressors.base import Budget, Compressed

_ROUNDS: Final = 8
_SLACK_TOKENS: Final = 2
# The last hundredth of a budget took two thirds of the rounds on 32 KB of prose, search results and tables.
_ENOUGH: Final = 0.01


def aim(draw: Callable[[int], Compressed], budget: Budget, *, reserve: int) -> Compressed | None:
    """Return the longest result within the budget that a few rounds find, to a hundredth of it; None when none was.

    Args:
        draw: Makes a result out of pieces whose costs sum up to so many tokens.
        budget: Its `max_tokens` is the target.
        reserve: Tokens that the result is likely to need beside its pieces.
    """
    target = budget.max_tokens or 0
    slack = max(_SLACK_TOKENS, int(_ENOUGH * target))
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
        if 0 <= target - count <= slack or (high is not None and high - low <= _SLACK_TOKENS):
            break
        room = _next(room, target - slack // 2 - count, low, high)
    return best


def _next(room: int, missing: int, low: int, high: int | None) -> int:
    """Go as far as tokens are missing, but stay between what fitted and what did not."""
    room += missing
    if high is None:
        return max(room, low + _SLACK_TOKENS)
    return room if low < room < high else (low + high) // 2
