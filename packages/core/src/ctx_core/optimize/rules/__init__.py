"""Structural rules that tell content apart by shape, the most certain first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ctx_core.optimize.rules import data, logs, written

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctx_core.optimize.content import Detection
    from ctx_core.optimize.rules.sample import Sample

RULES: Final[tuple[Callable[[Sample], Detection | None], ...]] = (
    data.compact_json,
    data.blob,
    data.json_document,
    data.json_lines,
    logs.diff,
    logs.printed,
    logs.search,
    data.table,
    logs.stamped,
    data.delimited,
    data.markup,
    data.config,
    written.code,
    written.prose,
)
