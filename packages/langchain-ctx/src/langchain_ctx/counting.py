"""A counter of one's own, such as that of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctx_core.tokens import RememberingCounter, whole_graphemes

if TYPE_CHECKING:
    from collections.abc import Callable


class CallableCounter(RememberingCounter):
    """Counts with a function, each longer text once.

    Args:
        count: Returns the tokens of a text.
    """

    def __init__(self, count: Callable[[str], int]) -> None:
        super().__init__()
        self._count = count

    def count_anew(self, text: str) -> int:
        """Count the tokens of a text with the function."""
        return self._count(text) if text else 0

    def clip(self, text: str, max_tokens: int) -> str:
        """Return about the longest prefix of at most `max_tokens` tokens."""
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._count(text[:middle]) <= max_tokens else (low, middle - 1)
        return text[: whole_graphemes(text, low)]

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"count": self._count}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["count"])
