"""Fills a budget by drawing, counting and drawing again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

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
    best, best_tokens = None, 0
    low, high = _Shot(0, reserve), None
    room = target - reserve
    for _ in range(_ROUNDS):
        drawn = draw(room)
        shot = _Shot(room, budget.counter.count(drawn.text))
        if shot.tokens > target:
            high = shot
        else:
            low = shot
            if shot.tokens > best_tokens:
                best, best_tokens = drawn, shot.tokens
        if 0 <= target - shot.tokens <= slack or (high is not None and high.room - low.room <= _SLACK_TOKENS):
            break
        room = _next(low, high, _Shot(0, reserve), target - slack // 2)
    return best


class _Shot(NamedTuple):
    """What room was given, and how many tokens came of it."""

    room: int
    tokens: int


def _next(low: _Shot, high: _Shot | None, start: _Shot, wanted: int) -> int:
    """Return the room that would give what is wanted if every bit of it cost the same, between what fitted and what did not."""
    one, other = (start, low) if high is None else (low, high)
    price = (other.tokens - one.tokens) / (other.room - one.room) if other.room > one.room else 0.0
    room = one.room + int((wanted - one.tokens) / price) if price > 0 else low.room + wanted - low.tokens
    if high is None:
        return max(room, low.room + _SLACK_TOKENS)
    return room if low.room < room < high.room else (low.room + high.room) // 2
