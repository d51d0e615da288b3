"""What a document says more than once: equal objects, equal long strings, and objects of one shape."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import count
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.json.reader import SCALARS, Embedded, Members, Object, Value, children

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterator

_MIN_LEAVES: Final = 4
"""Smaller objects cost no more than a reference to them."""

_MIN_CHARS: Final = 24
"""Shorter strings cost no more than a reference to them."""

_MIN_ALIKE: Final = 3
"""Fewer objects of one shape cost no more than the shape's own line."""


_SLICE: Final = 128


class Survey:
    """The repetitions of one document.

    `texts` counts the uses of strings, `repeated` holds the numbers of the objects that would be written more than once, and
    `shapes` the distinct objects with the same keys, if there are enough of them, and they hold mostly scalars.

    Args:
        root: The document; None finds no repetition.
    """

    def __init__(self, root: Value = None) -> None:
        # What says how many members of a node follow, and their keys, is below the numbers of objects and truth values.
        self._kinds: defaultdict[Hashable, int] = defaultdict(count(-1, -1).__next__)
        self._interned: dict[tuple[Value | int, ...], int] = {}
        self._number: dict[int, int] = {}
        self._alike: dict[tuple[str, ...], list[Object]] = {}
        self._again: list[int] = []
        self._long: list[str] = []
        for node in _slices(root) if isinstance(root, list) else [root] if isinstance(root, Object) else ():
            self._intern(node, [])
        self._interned.clear()
        self.repeated = frozenset(self._again)
        self.shapes = {keys: found for keys, found in self._alike.items() if len(found) >= _MIN_ALIKE}
        self.texts = {text: uses for text, uses in Counter(self._long).items() if uses > 1}
        self._long.clear()
        self._alike.clear()

    def number(self, value: Value) -> int | None:
        """Return the number that an object shares with its equals; None for small ones."""
        return self._number.get(id(value))

    def _intern(self, node: Value, around: list[Value | int]) -> int:
        """Append to `around` what is equal for equal nodes only, of larger objects a number; return the leaves of the node."""
        kind, members = _parted(node)
        own: list[Value | int] = [self._kinds[kind]]
        leaves, texts_before, repeats_before = 0, len(self._long), len(self._again)
        for child in members:
            if child.__class__ not in SCALARS:
                leaves += self._intern(child, own)
                continue
            leaves += 1
            own.append(child)
            if isinstance(child, str) and len(child) >= _MIN_CHARS:
                self._long.append(child)
        if leaves < _MIN_LEAVES or not isinstance(node, Object):
            around += own
            return leaves
        number = self._number[id(node)] = self._interned.setdefault(tuple(own), id(node))
        if number != id(node):
            # What stands inside a repetition is not written again.
            self._long[texts_before:] = ()
            self._again[repeats_before:] = (number,)
        elif len(members) >= _MIN_LEAVES and leaves <= 2 * len(members):
            self._alike.setdefault(node.keys, []).append(node)
        around.append(number)
        return leaves


NO_REPETITION: Final = Survey()


def _slices(items: list[Value]) -> Iterator[list[Value]]:
    """Yield the outermost array piece by piece: what tells its equals apart would be as long as itself."""
    for start in range(0, len(items), _SLICE):
        yield items[start : start + _SLICE]


def _parted(node: Value) -> tuple[Hashable, Collection[Value]]:
    """Return what tells the node's kind, number of members and keys from others, and its members."""
    if isinstance(node, Members):
        return node.keys, node.values
    return len(node) if isinstance(node, list) else Embedded, children(node)
