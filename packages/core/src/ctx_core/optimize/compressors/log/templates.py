"""Which lines say the same thing with other values, and how new each thing is.

A log is grouped twice. Lines equal but for their digits are one *shape*: that takes one table look-up a line. Shapes equal
but for their values (ids, addresses) are one *template*: that takes one table look-up a word.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Final

from ctx_core.signals.severity import Severity, counts_nothing, of_status, severity
from ctx_core.signals.vocabulary import Sign, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_DIGITS_TO_ZERO: Final = bytes(0x30 if 0x30 <= byte <= 0x39 else byte for byte in range(256))
_TROUBLE: Final = int(Sign.STRONG | Sign.WEAK | Sign.WARNING | Sign.PHRASE)
_NAMED: Final = b"'\"`/"


@dataclass(slots=True)
class Template:
    """Shapes equal but for their values.

    Args:
        severity: How bad its lines are.
        mask: Its words, values masked.
        shapes: The line numbers of each shape, in order of first appearance.
        count: How many lines there are.
    """

    severity: Severity
    mask: list[bytes]
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
    templates: dict[tuple[object, ...], Template] = {}
    vocabulary = Vocabulary()
    for shape, members in _shapes(lines).items():
        words = [vocabulary[word] for word in shape.split()]
        mask = [word.mask for word in words]
        signs = reduce(or_, (word.signs for word in words), 0)
        for rating, part in _rated(lines, members, signs, echoed):
            key = (rating, *map(_unnamed, mask)) if rating else tuple(mask)
            template = templates.get(key)
            if template is None:
                template = templates[key] = Template(rating, mask)
            template.shapes.append(part)
            template.count += len(part)
    return list(templates.values())


def _shapes(lines: list[str]) -> dict[bytes, list[int]]:
    text = "\n".join(lines).encode("utf-8", "surrogatepass").translate(_DIGITS_TO_ZERO)
    for run in (b"0000", b"00", b"00", b"00"):
        text = text.replace(run, b"0")
    shapes: dict[bytes, list[int]] = {}
    for index, key in enumerate(text.split(b"\n")):
        shape = shapes.get(key)
        if shape is None:
            shapes[key] = [index]
        else:
            shape.append(index)
    return shapes


def _rated(
    lines: list[str], members: list[int], signs: int, echoed: Collection[int]
) -> Iterator[tuple[Severity, list[int]]]:
    aloud = [index for index in members if index not in echoed] if signs & _TROUBLE else None
    if aloud and len(aloud) > 1 and counts_nothing(lines[aloud[0]]):
        yield from _by_rating({text: severity(text, signs) for text in {lines[index] for index in aloud}}, lines, aloud)
    elif aloud and (rating := severity(lines[aloud[0]], signs)):
        yield rating, aloud
    elif signs & Sign.STATUS:
        yield from _by_rating({text: of_status(text) for text in {lines[index] for index in members}}, lines, members)
    else:
        yield Severity.CALM, members


def _by_rating(
    ratings: dict[str, Severity], lines: list[str], members: list[int]
) -> Iterator[tuple[Severity, list[int]]]:
    """Part lines such as `3 errors` from the `0 errors` that look like them, and `status 500` from `status 200`."""
    parts: dict[Severity, list[int]] = {}
    for index in members:
        parts.setdefault(ratings[lines[index]], []).append(index)
    yield from parts.items()


def _unnamed(word: bytes) -> bytes:
    """Mask paths and quoted names, which tell one error from the next of its kind."""
    return b"#" if b"/" in word or word[:1] in _NAMED else word


def novelties(templates: Sequence[Template]) -> list[float]:
    """Say how new each template is: 1 for the first of its kind, 1/k for the k-th that shares two thirds of its words."""
    crowds: dict[tuple[object, ...], int] = {}
    return [1 / _rank(template.mask, crowds) for template in templates]


def _rank(mask: Sequence[bytes], crowds: dict[tuple[object, ...], int]) -> int:
    # Masks that differ in one word share two of their three thirds.
    size = len(mask)
    third = (size + 2) // 3
    head, middle, tail = tuple(mask[:third]), tuple(mask[third : 2 * third]), tuple(mask[2 * third :])
    rank = 1
    for key in ((size, head, middle), (size, middle, tail, 0), (size, head, tail, 0, 0)):
        crowd = crowds[key] = crowds.get(key, 0) + 1
        rank = max(rank, crowd)
    return rank
