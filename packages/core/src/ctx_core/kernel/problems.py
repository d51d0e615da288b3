"""What could not be read as it was stored: collected during a read, so that the answer can say so and go on."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from ctx_core.telemetry import logger

if TYPE_CHECKING:
    from collections.abc import Generator

_found: ContextVar[list[str] | None] = ContextVar("ctx_kernel_problems", default=None)


@contextmanager
def collect_problems() -> Generator[list[str]]:
    """Collect what `report_problem` is told until the block ends; an inner block reports to the outer one too."""
    outer, found = _found.get(), list[str]()
    token = _found.set(found)
    try:
        yield found
    finally:
        _found.reset(token)
        if outer is not None:
            outer.extend(problem for problem in found if problem not in outer)


def report_problem(problem: str) -> None:
    """Log what could not be read, and add it to the answer that is being made."""
    logger.warning("%s", problem)
    found = _found.get()
    if found is not None and problem not in found:
        found.append(problem)
