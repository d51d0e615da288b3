"""Dictionaries that change together: what is done during a failing transaction is undone."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Generator

_ABSENT: Final = object()


class Tables:
    """Named dictionaries under one lock."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._changes = 0
        self._undo: list[tuple[dict[Any, Any], Any, Any]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = threading.RLock()

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Hold the lock, and undo every change if the block fails."""
        with self._lock:
            if self._undo is not None:
                yield
                return
            self._undo = []
            try:
                yield
            except BaseException:
                for table, key, value in reversed(self._undo):
                    if value is _ABSENT:
                        table.pop(key, None)
                    else:
                        table[key] = value
                self._changes += 1
                raise
            finally:
                self._undo = None

    def note_change(self) -> None:
        """Note that what readers see has changed."""
        self._changes += 1

    def state(self) -> str:
        """Return a text that differs after every change that readers see."""
        return str(self._changes)

    def put(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        """Set one entry of a table, so that it can be undone."""
        self._note(table, key)
        table[key] = value

    def remove(self, table: dict[Any, Any], key: Any) -> None:
        """Remove one entry of a table, if it is there, so that it can be undone."""
        if key in table:
            self._note(table, key)
            del table[key]

    def _note(self, table: dict[Any, Any], key: Any) -> None:
        if self._undo is not None:
            self._undo.append((table, key, table.get(key, _ABSENT)))
