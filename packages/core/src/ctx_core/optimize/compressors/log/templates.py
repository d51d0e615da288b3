"""Which lines say the same thing with other values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

# Begins only where a token begins, and never backs off: a megabyte of dots is read once.
_VALUE: Final = re.compile(r"(?<![\w.:/@%+-])(?:[^\W\d]|[.:/@%+-])*+\d[\w.:/@%+-]*+")
_DIGITS: Final = b"0123456789"


@dataclass(frozen=True, slots=True)
class Templates:
    """The templates of a log.

    Args:
        of: The template of each line, by number; numbers grow in order of first appearance.
        members: The lines of each template, in order.
    """

    of: list[int]
    members: list[list[int]]


def mine(lines: list[str]) -> Templates:
    """Group lines that differ only in values: numbers, ids, addresses.

    Two steps keep it fast: lines equal but for their digits are grouped by one table, and only one line of each such
    group is read by the pattern that masks whole values.
    """
    bare = "\n".join(lines).encode("utf-8", "surrogatepass").translate(None, _DIGITS).split(b"\n")
    shapes: dict[bytes, int] = {}
    masks: dict[str, int] = {}
    of = []
    members: list[list[int]] = []
    for index, shape in enumerate(bare):
        number = shapes.get(shape)
        if number is None:
            mask = _VALUE.sub("#", lines[index])
            number = shapes[shape] = masks.setdefault(mask, len(masks))
            if number == len(members):
                members.append([])
        of.append(number)
        members[number].append(index)
    return Templates(of, members)
