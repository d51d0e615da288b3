"""Work that may finish later: one background thread per archive embeds what was appended."""

from __future__ import annotations

import atexit
import weakref
from collections import deque
from threading import Condition, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from ctx_core import telemetry

if TYPE_CHECKING:
    from collections.abc import Callable, Container

# A job that failed is not offered again before this many seconds, so that an embedder that is down is not hammered.
_REST_SECONDS: Final = 30.0
_IDLE_SECONDS: Final = 5.0
# A model's native threads abort the process when it ends under them; loading one takes a second or three.
_LAST_JOB_SECONDS: Final = 30.0


class Backlog:
    """Runs jobs one after another in a daemon thread that ends when there is nothing to do.

    A job is known by its key: offering one that waits or runs already is a no-op.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._jobs: deque[tuple[str, Callable[[], object]]] = deque()
        self._open: set[str] = set()
        self._resting: dict[str, float] = {}
        self._thread: Thread | None = None
        self._is_closed = False

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        del state
        self.__init__()

    def offer(self, key: str, job: Callable[[], object]) -> None:
        """Run `job` soon, unless it is waiting already or failed a moment ago."""
        with self._changed:
            if self._is_closed or key in self._open or self._resting.get(key, 0.0) > monotonic():
                return
            self._open.add(key)
            self._jobs.append((key, job))
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._work, name="ctx-archive", daemon=True)
                self._thread.start()
                _open_backlogs.add(self)
            self._changed.notify_all()

    def has(self, key: str) -> bool:
        """Say whether a job waits or runs."""
        with self._changed:
            return key in self._open

    def wait(self, *, seconds: float | None = None, among: Container[str] | None = None) -> bool:
        """Wait until no job (of those `among`) is left, at most `seconds`; say whether that came true."""
        with self._changed:
            return self._changed.wait_for(
                lambda: not any(among is None or key in among for key in self._open), timeout=seconds
            )

    def close(self) -> None:
        """Forget the jobs that wait, and let the one that runs finish; what was not embedded is embedded when next asked for."""
        with self._changed:
            self._open.difference_update(key for key, _ in self._jobs)
            self._jobs.clear()
            thread, self._is_closed = self._thread, True
            self._changed.notify_all()
        if thread is not None:
            thread.join(_LAST_JOB_SECONDS)

    def _work(self) -> None:
        while (job := self._next()) is not None:
            key, run = job
            try:
                run()
            except Exception as error:  # noqa: BLE001 - whatever an embedder or store raises, the next job runs
                telemetry.degraded("embedding archived turns", error)
                with self._changed:
                    self._resting[key] = monotonic() + _REST_SECONDS
            with self._changed:
                self._open.discard(key)
                self._changed.notify_all()

    def _next(self) -> tuple[str, Callable[[], object]] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._is_closed, timeout=_IDLE_SECONDS)
            if not self._jobs:
                self._thread = None
                return None
            return self._jobs.popleft()


_open_backlogs: weakref.WeakSet[Backlog] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for backlog in tuple(_open_backlogs):
        backlog.close()
