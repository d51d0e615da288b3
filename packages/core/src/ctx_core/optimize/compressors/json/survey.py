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
        self._kinds: dict[Hashable, int] = {}
        self._interned: dict[tuple[Value | int, ...], int] = {}
        self._number: dict[int, int] = {}
        self._shapes: dict[tuple[str, ...], list[dict[str, Value]]] = {}
        self._repeated: set[int] = set()
        self.texts: dict[str, int] = {}
        if root is not None:
            self._intern(root, [])
            self._interned.clear()
            self._count(root)

    def number(self, value: Value) -> int | None:
        """Return the number that an object shares with its equals; None for small ones."""
        return self._number.get(id(value))

    def is_repeated(self, value: Value) -> bool:
        """Say whether an object would be written more than once."""
        return self._number.get(id(value)) in self._repeated

    def alike(self, value: dict[str, Value]) -> list[dict[str, Value]]:
        """Return the distinct objects with this one's keys, if there are enough of them, and they hold mostly scalars."""
        return self._shapes.get(tuple(value), [])

    def _intern(self, node: Value, around: list[Value | int]) -> int:
        """Append to `around` what is equal for equal nodes only, of larger objects a number; return the leaves of the node."""
        own: list[Value | int] = [self._kind(node)]
        leaves = 0
        for child in children(node):
            if child.__class__ in SCALARS:
                own.append(child)
                leaves += 1
            else:
                leaves += self._intern(child, own)
        if isinstance(node, dict) and leaves >= _MIN_LEAVES:
            around.append(self._numbered(node, tuple(own), leaves))
        else:
            around += own
        return leaves

    def _kind(self, node: Value) -> int:
        """Return a number below those of objects and truth values; it says how many members follow, and their keys."""
        members: Hashable = len(node) if isinstance(node, list) else ()
        if isinstance(node, dict):
            members = tuple(node)
        elif isinstance(node, Pairs):
            members = tuple([key for key, _ in node])
        return self._kinds.setdefault((node.__class__, members), -1 - len(self._kinds))

    def _numbered(self, node: dict[str, Value], shape: tuple[Value | int, ...], leaves: int) -> int:
        # Numbers begin at 2, because False and True equal 0 and 1.
        new = len(self._interned) + 2
        number = self._number[id(node)] = self._interned.setdefault(shape, new)
        if number == new and len(node) >= _MIN_LEAVES and leaves <= 2 * len(node):
            self._shapes.setdefault(tuple(node), []).append(node)
        return number

    def _count(self, root: Value) -> None:
        """Count what would be written; what stands inside a repetition is not written again."""
        self._shapes = {keys: found for keys, found in self._shapes.items() if len(found) >= _MIN_ALIKE}
        texts: Counter[str] = Counter()
        counted: set[int] = set()
        todo = [root]
        while todo:
            node = todo.pop()
            number = self._number.get(id(node))
            if number in counted:
                self._repeated.add(number)
                continue
            if number is not None:
                counted.add(number)
            for child in children(node):
                if child.__class__ not in SCALARS:
                    todo.append(child)
                elif isinstance(child, str) and len(child) >= _MIN_CHARS:
                    texts[child] += 1
        self.texts = {text: count for text, count in texts.items() if count > 1}
