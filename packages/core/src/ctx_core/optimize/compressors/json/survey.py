"""What a document says more than once: equal objects, equal long strings, and objects of one shape."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.json.reader import SCALARS, Pairs, Value, children

if TYPE_CHECKING:
    from collections.abc import Hashable

_MIN_LEAVES: Final = 4
"""Smaller objects cost no more than a reference to them."""

_MIN_CHARS: Final = 24
"""Shorter strings cost no more than a reference to them."""

_MIN_ALIKE: Final = 3
"""Fewer objects of one shape cost no more than the shape's own line."""


class Survey:
    """The repetitions of one document.

    Args:
        root: The document; None finds no repetition.
    """

    def __init__(self, root: Value = None) -> None:
        self._interned: dict[Hashable, int] = {}
        self._number: dict[int, int] = {}
        self._leaves = [1, 1]  # numbers begin at 2, because False and True equal 0 and 1
        self._shapes: dict[tuple[str, ...], list[dict[str, Value]]] = {}
        self._counts: Counter[int] = Counter()
        self.texts: dict[str, int] = {}
        if root is not None:
            self._intern(root)
            self._interned.clear()
            self._count(root)

    def number(self, value: Value) -> int | None:
        """Return the number that an object shares with its equals; None for small ones."""
        return self._number.get(id(value))

    def is_repeated(self, value: Value) -> bool:
        """Say whether an object would be written more than once."""
        number = self._number.get(id(value))
        return number is not None and self._counts[number] > 1

    def alike(self, value: dict[str, Value]) -> list[dict[str, Value]]:
        """Return the distinct objects with this one's keys, if there are enough of them, and they hold mostly scalars."""
        return self._shapes.get(tuple(value), [])

    def _intern(self, node: Value) -> int:
        parts = [child if child.__class__ in SCALARS else self._intern(child) for child in children(node)]
        keys = tuple(node) if isinstance(node, dict) else ()
        if isinstance(node, Pairs):
            keys = tuple([key for key, _ in node])
        shape = (node.__class__, keys, *parts)
        number = self._interned.setdefault(shape, len(self._leaves))
        is_new = number == len(self._leaves)
        if is_new:
            self._leaves.append(sum(self._leaves[part] if isinstance(part, int) else 1 for part in parts))
        if isinstance(node, dict) and self._leaves[number] >= _MIN_LEAVES:
            self._number[id(node)] = number
            if is_new and len(node) >= _MIN_LEAVES and self._leaves[number] <= 2 * len(node):
                self._shapes.setdefault(keys, []).append(node)
        return number

    def _count(self, root: Value) -> None:
        """Count what would be written; what stands inside a repetition is not written again."""
        self._shapes = {keys: found for keys, found in self._shapes.items() if len(found) >= _MIN_ALIKE}
        texts: Counter[str] = Counter()
        todo = [root]
        while todo:
            node = todo.pop()
            number = self._number.get(id(node))
            if number is not None:
                self._counts[number] += 1
                if self._counts[number] > 1:
                    continue
            for child in children(node):
                if child.__class__ not in SCALARS:
                    todo.append(child)
                elif isinstance(child, str) and len(child) >= _MIN_CHARS:
                    texts[child] += 1
        self.texts = {text: count for text, count in texts.items() if count > 1}
