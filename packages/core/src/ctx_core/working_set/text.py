"""The text of chosen pieces: one line a message, objects as `label: key=value`, alike objects as a small table."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from ctx_core.markers import escape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ctx_core.working_set.facts import Fact
    from ctx_core.working_set.selection import Chosen, Piece, Place

_QUOTED = frozenset(' ,;:=()"\n\t')


def render_pieces(chosen: Sequence[Chosen], outdated: Mapping[Place, str] | None = None) -> str:
    """Return pieces as text, in the order of the conversation; a value that a newer one has replaced says so.

    Example of one line: `get_user_details: payment_methods (id, last_four): credit_card_1, 7334; gift_card_2, 0002`.
    """
    lines = []
    for _, own in groupby(chosen, key=lambda each: each.piece.source):
        facts = [*own]
        piece = facts[0].piece
        said = escape("; ".join(_render_source([_current(each.piece, outdated or {}) for each in facts])))
        who = piece.tool or piece.role
        lines.append(f"{who}: {said}" if who else said)
    return "\n".join(lines)


def _current(piece: Piece, outdated: Mapping[Place, str]) -> Fact:
    newer = outdated.get(piece.place)
    if newer is None:
        return piece.fact
    return replace(piece.fact, text=f"{newer} (was {piece.fact.text})")


def _render_source(facts: Sequence[Fact]) -> Iterator[str]:
    for is_field, run in groupby(facts, key=lambda fact: fact.is_field):
        if is_field:
            objects = [[*own] for _, own in groupby(run, key=lambda fact: fact.group)]
            for _, alike in groupby(objects, key=_shape):
                yield _render_objects([*alike])
        else:
            yield " ".join(" ".join(fact.text.split()) for fact in run)


def _shape(own: Sequence[Fact]) -> tuple[str, ...]:
    return own[0].label, *(fact.key for fact in own)


def _render_objects(objects: Sequence[Sequence[Fact]]) -> str:
    label, *keys = _shape(objects[0])
    if len(objects) == 1:
        fields = groupby(objects[0], key=lambda fact: fact.key)
        body = " ".join(f"{key}={','.join(quote(fact.text) for fact in own)}" for key, own in fields)
        return f"{label}: {body}" if label else body
    rows = "; ".join(" ".join(quote(fact.text) for fact in own) for own in objects)
    return f"{label}({' '.join(keys)}): {rows}".lstrip()


def quote(value: str) -> str:
    """Return a value as it is, in quotation marks where a reader could not tell its end."""
    return f'"{" ".join(value.split())}"' if not _QUOTED.isdisjoint(value) else value
