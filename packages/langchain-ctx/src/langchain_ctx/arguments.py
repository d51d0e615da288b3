"""Mistakes in a call, refused in one line that names the nearest right one."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from ctx_core.engine.engine import ContextEngine
from ctx_core.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable


def refuse_unknown(where: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise `InvalidInput` for the first of `given` that is not among `known`."""
    names = sorted(known)
    for name in given:
        if name not in names:
            near = get_close_matches(name, names, n=1)
            advice = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(names)}"
            raise InvalidInput(f"{where} takes no {name!r}; {advice}")


def check_engine(where: str, engine: Any) -> None:
    """Raise `InvalidInput` for what was given as an engine and is none."""
    if engine is None or isinstance(engine, ContextEngine):
        return
    advice = f"; did you mean max_tokens={engine}?" if isinstance(engine, int | float) else ""
    raise InvalidInput(f"{where} takes a ContextEngine first, not a {type(engine).__name__}{advice}")
