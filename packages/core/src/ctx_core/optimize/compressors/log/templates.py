"""Which lines say the same thing with other values, and how new each thing is.

A log is grouped twice. Lines equal but for their digits are one *shape*: that takes one table look-up a line. Shapes equal
but for their values (ids, addresses, quoted names) are one *template*: that takes one pattern a shape.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.log.severity import Severity, counts_nothing, severity, suspicious

if TYPE_CHECKING:
    from collections.abc import Collection

# A value is a word that holds a digit. It begins only where a word begins and never backs off, so a megabyte of dots is
# read once.
_VALUE: Final = re.compile(r"(?<![\w.:@%+-])(?:[^\W\d]|[.:@%+-])*+\d[\w.:@%+-]*+")
_NAME: Final = re.compile(r"""\S*/\S*|(?<!\w)"[^"\n]{1,200}"|(?<!\w)'[^'\n]{1,200}'|(?<!\w)`[^`\n]{1,200}`""")
_DIGITS: Final = b"0123456789"


@dataclass(slots=True)
class Template:
    """Shapes equal but for their values.

    Args:
        severity: How bad its lines are.
        novelty: In (0, 1]: 1 for the first of its kind, 1/k for the k-th that shares most of its words with others.
        shapes: The line numbers of each shape, in order of first appearance.
        count: How many lines there are.
    """

    severity: Severity
    novelty: float
    shapes: list[list[int]] = field(default_factory=list)
    count: int = 0

    @property
    def first(self) -> int:
        """The number of the first line."""
        return self.shapes[0][0]

    @property
    def last(self) -> int:
        """The number of the last line."""
        return max(shape[-1] for shape in self.shapes)


def mine(lines: list[str], echoed: Collection[int] = ()) -> list[Template]:
    """Group lines into templates, in order of first appearance, and rate them.

    Lines in `echoed` are source text that a runner shows: never an alarm.
    """
    templates: dict[tuple[str, Severity], Template] = {}
    crowds: dict[tuple[object, ...], int] = {}
    for shape, rating in _rated(lines, _shapes(lines), echoed):
        mask = _VALUE.sub("#", lines[shape[0]])
        if rating:
            mask = _NAME.sub("#", mask)
        template = templates.get((mask, rating))
        if template is None:
            template = templates[mask, rating] = Template(rating, 1 / _rank(mask.split(), crowds))
        template.shapes.append(shape)
        template.count += len(shape)
    return list(templates.values())


def _shapes(lines: list[str]) -> list[list[int]]:
    shapes: dict[bytes, list[int]] = {}
    bare = "\n".join(lines).encode("utf-8", "surrogatepass").translate(None, _DIGITS).split(b"\n")
    for index, key in enumerate(bare):
        shape = shapes.get(key)
        if shape is None:
            shapes[key] = [index]
        else:
            shape.append(index)
    return list(shapes.values())


def _rated(lines: list[str], shapes: list[list[int]], echoed: Collection[int]) -> list[tuple[list[int], Severity]]:
    rated: list[tuple[list[int], Severity]] = []
    for shape, alarming in zip(shapes, suspicious([lines[shape[0]] for shape in shapes]), strict=True):
        aloud = [index for index in shape if index not in echoed] if alarming else None
        if not aloud:
            rated.append((shape, Severity.CALM))
        elif len(aloud) > 1 and counts_nothing(lines[aloud[0]]):
            rated += _by_rating(lines, aloud)
        else:
            rated.append((aloud, severity(lines[aloud[0]])))
    return rated


def _by_rating(lines: list[str], shape: list[int]) -> list[tuple[list[int], Severity]]:
    """Part lines such as `3 errors` from the `0 errors` that look like them."""
    ratings = {text: severity(text) for text in {lines[index] for index in shape}}
    parts: dict[Severity, list[int]] = {}
    for index in shape:
        parts.setdefault(ratings[lines[index]], []).append(index)
    return [(part, rating) for rating, part in parts.items()]


def _rank(words: list[str], crowds: dict[tuple[object, ...], int]) -> int:
    """Count how many earlier masks share two thirds of the words; masks that differ in one word share two thirds."""
    size = len(words)
    third = (size + 2) // 3
    head, middle, tail = tuple(words[:third]), tuple(words[third : 2 * third]), tuple(words[2 * third :])
    rank = 1
    for key in ((size, head, middle), (size, middle, tail, 0), (size, head, tail, 0, 0)):
        crowd = crowds[key] = crowds.get(key, 0) + 1
        rank = max(rank, crowd)
    return rank
