"""Finds objects that a document states more than once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.json.reader import SCALARS, Pairs, Value, children

if TYPE_CHECKING:
    from collections.abc import Hashable

MIN_MEMBERS: Final = 4
"""Smaller objects cost no more than a reference to them."""


def repeated_objects(root: Value) -> dict[int, int]:
    """Map the `id` of each object that stands in `root` more than once to a number that its equals share."""
    interned: dict[Hashable, int] = {}
    number: dict[int, int] = {}
    weight: list[int] = [1, 1]  # numbers begin at 2, because False and True equal 0 and 1

    def intern(node: Value) -> int:
        parts = [child if child.__class__ in SCALARS else intern(child) for child in children(node)]
        keys = tuple(node) if isinstance(node, dict) else ()
        if isinstance(node, Pairs):
            keys = tuple([key for key, _ in node])
        shape = (node.__class__, keys, *parts)
        same = interned.setdefault(shape, len(weight))
        if same == len(weight):
            weight.append(sum(weight[part] if isinstance(part, int) else 1 for part in parts))
        if node.__class__ is dict and weight[same] >= MIN_MEMBERS:
            number[id(node)] = same
        return same

    intern(root)
    if len(number) == len(set(number.values())):
        return {}
    counts = _written_counts(root, number)
    return {key: same for key, same in number.items() if counts[same] > 1}


def _written_counts(root: Value, number: dict[int, int]) -> Counter[int]:
    """Count how often each object would be written, given that what stands inside a repetition is not written again."""
    counts: Counter[int] = Counter()
    todo = [root]
    while todo:
        node = todo.pop()
        same = number.get(id(node))
        if same is not None:
            counts[same] += 1
            if counts[same] > 1:
                continue
        todo.extend([child for child in children(node) if child.__class__ not in SCALARS])
    return counts
