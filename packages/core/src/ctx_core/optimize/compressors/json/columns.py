"""Turns alike objects into columns: nested objects become groups, what never changes moves into the heading."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Final, cast

from ctx_core.optimize.compressors.json.reader import SCALARS, Object, Value
from ctx_core.optimize.compressors.json.words import ABSENT, TEXT_MARK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_MIN_FILL: Final = 0.6
"""Objects that share fewer of their members than this make no table."""

_GROUPS: Final = frozenset({Object, type(ABSENT)})
_MIN_SOURCE: Final = 3
_NAME: Final = re.compile(r"[\w.-]+")
# An identifier stays whole, for a reader to quote; an address or a sentence around identifiers need not.
_PHRASE: Final = re.compile(r"[\s/,]")
_BARE: Final = re.compile(r"[^\s\"\\\[\](){}<>,\ue000-\uf8ff]*")


@dataclass(slots=True)
class Column:
    """One member of every row; a group where the member is itself an object.

    Args:
        name: The member's key, as written.
        values: One value per row, or `ABSENT`; empty for a group.
        group: The columns of a group.
        fixed: `=` and what every row holds, or `~` and a pattern of other columns; such a column has no place in the rows.
        is_text: Whether the bare cells of its rows are strings, even where they look like numbers.
    """

    name: str
    values: Sequence[Value | object] = ()
    group: list[Column] = field(default_factory=list["Column"])
    fixed: str = ""
    is_text: bool = False

    def heading(self, separator: str) -> str:
        """Write the name, with the group's columns or the fixed value behind it."""
        if self.group:
            return f"{self.name}({separator.join([column.heading(separator) for column in self.group])})"
        return f"{self.name}{TEXT_MARK if self.is_text else self.fixed}"


def leaves(columns: Sequence[Column], path: str = "") -> Iterator[tuple[str, Column]]:
    """Yield the columns that hold values, each with its path."""
    for column in columns:
        if column.group:
            yield from leaves(column.group, f"{path}{column.name}.")
        else:
            yield f"{path}{column.name}", column


def columns_of(
    rows: Sequence[Value | object],
    *,
    key: Callable[[str], str],
    is_whole: Callable[[Sequence[Value | object]], bool],
) -> list[Column]:
    """Return the members of alike objects as columns; none where the objects differ too much.

    Args:
        rows: Objects, or `ABSENT`.
        key: Writes a key.
        is_whole: Says whether objects are better written whole, in one cell each, than as a group.
    """
    columns: list[Column] = []
    for name, values in _transposed(rows, _shared_keys(rows)):
        group = _group(values, key, is_whole)
        columns.append(Column(key(name), group=group) if group else Column(key(name), values=values))
    return columns


def _group(
    values: Sequence[Value | object],
    key: Callable[[str], str],
    is_whole: Callable[[Sequence[Value | object]], bool],
) -> list[Column]:
    if not set(map(type, values)) <= _GROUPS:
        return []
    present = [value for value in values if isinstance(value, Object)]
    if not all(value.keys for value in present) or is_whole(present):
        return []
    return columns_of(values, key=key, is_whole=is_whole)


def _shared_keys(rows: Sequence[Value | object]) -> tuple[str, ...]:
    """Return one key order that every object follows; empty where there is none, or the objects differ too much."""
    shapes = {row.keys for row in rows if isinstance(row, Object)}
    if len(shapes) == 1:
        return next(iter(shapes))
    merged = _merge(sorted(shapes, key=lambda shape: (-len(shape), shape)))
    fill = sum(len(row.keys) for row in rows if isinstance(row, Object)) / (len(merged) * len(rows) or 1)
    place = {key: index for index, key in enumerate(merged)}
    in_order = all(all(place[a] < place[b] for a, b in pairwise(shape)) for shape in shapes)
    return merged if in_order and fill >= _MIN_FILL else ()


def _merge(shapes: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Merge key orders; a key goes behind the key that it follows where it is first seen."""
    followers: dict[str | None, list[str]] = {}
    known: set[str] = set()
    for shape in shapes:
        previous = None
        for key in shape:
            if key not in known:
                known.add(key)
                followers.setdefault(previous, []).insert(0, key)
            previous = key
    merged: list[str] = []
    todo: list[str] = followers.get(None, [])[::-1]
    while todo:
        key = todo.pop()
        merged.append(key)
        todo.extend(followers.get(key, [])[::-1])
    return tuple(merged)


def _transposed(
    rows: Sequence[Value | object], keys: tuple[str, ...]
) -> Iterator[tuple[str, Sequence[Value | object]]]:
    """Yield every key with its values."""
    shapes = {row.keys if isinstance(row, Object) else () for row in rows}
    for key in keys:
        places = {shape: shape.index(key) + 1 for shape in shapes if key in shape}
        if len(shapes) == 1:
            yield key, [*map(itemgetter(places[keys]), cast("Sequence[Object]", rows))]
        else:
            yield (
                key,
                [row[places[row.keys]] if isinstance(row, Object) and row.keys in places else ABSENT for row in rows],
            )


def settle(columns: Sequence[Column], *, write: Callable[[Value | object, int], str]) -> list[Column]:
    """Move constants and columns that repeat others into the heading; return the columns that stay in the rows.

    Args:
        columns: The columns of one table; the fixed ones are marked in place.
        write: Writes a constant that so many rows hold.
    """
    found = [*leaves(columns)]
    for _, leaf in found:
        first = leaf.values[0]
        if len(leaf.values) > 1 and _is_plain(first) and leaf.values.count(first) == len(leaf.values):
            written = write(first, len(leaf.values))
            # In a heading, a bare comma says that commas stand between the cells.
            is_bare = written[:1] not in '"[{&*'
            leaf.fixed = f'="{written}"' if is_bare and "," in written else f"={written}"
    found = [(path, leaf) for path, leaf in found if not leaf.fixed]
    if found and len(found[0][1].values) > 2:
        _refer(found)
    return [leaf for _, leaf in found if not leaf.fixed]


def _is_plain(value: Value | object) -> bool:
    """Say whether equality of values is equality of what is written: key order makes objects differ."""
    return value.__class__ in SCALARS or (isinstance(value, list) and all(item.__class__ in SCALARS for item in value))


def _refer(found: Sequence[tuple[str, Column]]) -> None:
    """Write columns that only combine other columns' values as a pattern, such as `/users/<id>`."""
    texts = {path: text for path, leaf in found if (text := _texts(leaf.values))}
    paths = [path for path, _ in found]
    by_length = sorted(texts, key=lambda path: (-len(texts[path][0]), -paths.index(path)))
    for position, path in enumerate(by_length):
        leaf = found[paths.index(path)][1]
        first = leaf.values[0]
        if isinstance(first, str):
            is_phrase = _PHRASE.search(first) is not None
            sources = [
                source
                for source in by_length[position + 1 :]
                if (is_phrase and len(texts[source][0]) >= _MIN_SOURCE and texts[source][0] in first)
                or texts[source] == texts[path]
            ]
            leaf.fixed = _pattern(path, [s for s in sources if _NAME.fullmatch(s) and paths.count(s) == 1], texts)


def _texts(values: Sequence[Value | object]) -> list[str] | None:
    kinds = set(map(type, values))
    if kinds == {str}:
        return cast("list[str]", list(values))
    return [value.decode() for value in cast("Sequence[bytes]", values)] if kinds == {bytes} else None


def _pattern(path: str, sources: Sequence[str], texts: dict[str, list[str]]) -> str:
    """Return `~` and a pattern that gives every value of a column; empty where there is none."""
    for candidates in (sources, *([source] for source in sources)) if sources else ():
        pieces = _pieces(texts[path][0], candidates, texts)
        parts = [texts[piece] if is_source else repeat(piece) for piece, is_source in pieces]
        if any(piece for piece, is_source in pieces if not is_source and re.search(r'[<>"]', piece)):
            continue
        if [*map("".join, zip(*parts, strict=False))] == texts[path]:
            pattern = "".join([f"<{piece}>" if is_source else piece for piece, is_source in pieces])
            is_bare = all(_BARE.fullmatch(piece) for piece, is_source in pieces if not is_source)
            return f"~{pattern}" if is_bare else f'~"{pattern}"'
    return ""


def _pieces(text: str, sources: Sequence[str], texts: dict[str, list[str]]) -> list[tuple[str, bool]]:
    """Cut the text of the first row into what sources say there, and the rest."""
    pieces = [(text, False)]
    for source in sources:
        for index, (piece, is_source) in enumerate(pieces):
            start, match, end = piece.partition(texts[source][0])
            if match and not is_source:
                pieces[index : index + 1] = [(start, False), (source, True), (end, False)]
                break
    return [piece for piece in pieces if piece[0]]
