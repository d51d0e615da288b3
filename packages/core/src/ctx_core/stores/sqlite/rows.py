"""Registers as rows of SQLite, and back.

A row holds the fields as they stand, so that a read parses nothing else. Its state is the stamp alone where the fields are
those of the last whole write, and the whole register where patches or a removal have to be remembered.
"""

from __future__ import annotations

import json
from typing import Any

from ctx_core.kernel.commands import canonical_json
from ctx_core.kernel.last_writer_wins import Register
from ctx_core.stores.entities import edge_of, validity_of


def node_row(node_id: str, register: Register) -> tuple[Any, ...]:
    """Return a row of `nodes`."""
    return (node_id, register.is_live, *validity_of(register), *_texts(register))


def relation_row(relation_id: str, register: Register) -> tuple[Any, ...]:
    """Return a row of `relations`."""
    return (relation_id, register.is_live, *edge_of(register), *_texts(register))


def detail_row(node_id: str, register: Register) -> tuple[Any, ...]:
    """Return a row of `details`."""
    return (node_id, register.is_live, *_texts(register))


def register_of(said: str, state: str) -> Register:
    """Return the register that a row holds."""
    return Register.from_json(state) if state.startswith("[") else Register(stamp=state, fields=json.loads(said))


def _texts(register: Register) -> tuple[str, str]:
    said = canonical_json(register.values) if register.is_live else "{}"
    is_simple = register.is_live and not register.patches and not register.stamp.startswith("[")
    return said, register.stamp if is_simple else register.to_json()
