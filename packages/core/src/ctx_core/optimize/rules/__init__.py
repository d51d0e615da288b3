"""Structural rules that tell content apart by shape, the most certain first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ctx_core.optimize.rules import code, config, data, found, logs, prose, tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctx_core.optimize.content import Detection
    from ctx_core.optimize.rules.sample import Sample

RULES: Final[tuple[Callable[[Sample], Detection | None], ...]] = (
    data.compact_json,
    data.blob,
    data.json_document,
    data.json_lines,
    found.diff,
    logs.printed,
    found.search,
    tables.table,
    tables.timed,
    logs.stamped,
    tables.listing,
    tables.delimited,
    config.markup,
    config.config,
    code.code,
    logs.repetitive,
    prose.prose,
)
