"""The projection worker: takes events off a feed, and sees each one through or says why not."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from ctx_core.errors import InvalidInput, StoreError, StoreUnavailable
from ctx_core.kernel.events import parse_event
from ctx_core.kernel.ports import RecordedEvent
from ctx_core.telemetry import logger, metric

if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence
    from datetime import datetime

    from ctx_core.kernel.projection import Projection

_BATCH: Final = 200
_FETCH_SECONDS: Final = 1.0
_BACKOFF_SECONDS: Final = (0.1, 0.5, 1.0, 2.0, 5.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One event as a feed hands it out.

    Args:
        attempt: How often it was handed out, this time included.
        handle: What the feed needs to settle it.
    """

    position: int
    body: bytes = field(repr=False)
    attempt: int = 1
    handle: object = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """How far a consumer is behind: events not handed out yet, and handed out but not settled."""

    waiting: int
    unsettled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """An event that nobody could project, and why."""

    letter_id: int
    position: int
    reason: str
    attempts: int
    buried_at: datetime
    body: bytes = field(repr=False)


class Feed(Protocol):
    """Hands out the events of the log to the workers of one consumer, each until it is settled."""

    def fetch(self, limit: int, *, timeout_seconds: float) -> list[Delivery]:
        """Return up to `limit` events, waiting for the first one; empty when none came."""
        ...

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """Note that events are through."""
        ...

    def hold(self, deliveries: Sequence[Delivery]) -> None:
        """Ask for more time before events are handed to someone else."""
        ...

    def retry(self, delivery: Delivery, *, delay_seconds: float) -> None:
        """Hand an event out again, later."""
        ...

    def bury(self, delivery: Delivery, *, reason: str) -> None:
        """Move an event to the dead letters."""
        ...

    def lag(self) -> Lag:
        """Return how far the consumer is behind."""
        ...


class DeadLetters(Protocol):
    """What a consumer could not project."""

    def letters(self) -> list[DeadLetter]:
        """Return all letters, oldest first."""
        ...

    def discard(self, letter: DeadLetter) -> None:
        """Remove a letter."""
        ...


@dataclass(kw_only=True)
class Tally:
    """What a worker did since it started; read by health checks."""

    projected: int = 0
    buried: int = 0
    retried: int = 0
    store_is_away: bool = False
    last_fetch_at: float = 0.0


class ProjectionWorker:
    """Projects what a feed hands out; any number of workers may share a consumer.

    A store that is away is waited for: that is no fault of the event. An event that fails for any other reason is
    tried again up to `max_attempts` times, and then buried with the reason; the rest flows on.
    """

    def __init__(
        self,
        feed: Feed,
        projection: Projection,
        *,
        max_attempts: int = 5,
        batch: int = _BATCH,
        backoff_seconds: Sequence[float] = _BACKOFF_SECONDS,
    ) -> None:
        self._feed = feed
        self._projection = projection
        self._max_attempts = max_attempts
        self._batch = batch
        self._backoff_seconds = backoff_seconds
        self.tally = Tally()

    def run(self, stop: threading.Event) -> None:
        """Work until `stop` is set; what is under way then is finished, or handed to another worker."""
        failures = 0
        while not stop.is_set():
            try:
                deliveries = self._feed.fetch(self._batch, timeout_seconds=_FETCH_SECONDS)
                self._work(deliveries, stop)
                failures = 0
            except StoreError as error:  # a server that recovers may refuse before it answers; a worker outlives both
                self.tally.store_is_away = True
                logger.warning("the feed is away: %s", error)
                stop.wait(self._backoff(failures))
                failures += 1

    def _work(self, deliveries: Sequence[Delivery], stop: threading.Event) -> None:
        self.tally.last_fetch_at = time.time()
        self.tally.store_is_away = False
        readable = [(delivery, event) for delivery in deliveries if (event := self._read(delivery)) is not None]
        if readable:
            self._see_through([delivery for delivery, _ in readable], [event for _, event in readable], stop)

    def _read(self, delivery: Delivery) -> RecordedEvent | None:
        try:
            return RecordedEvent(position=delivery.position, event=parse_event(delivery.body))
        except InvalidInput as error:
            self._bury(delivery, error)
            return None

    def _see_through(
        self, deliveries: Sequence[Delivery], events: Sequence[RecordedEvent], stop: threading.Event
    ) -> None:
        """Project events together; if that fails, each on its own, so that one bad event holds up no other."""
        try:
            if not self._project(deliveries, events, stop):
                return
        except Exception as error:  # noqa: BLE001 - whatever an event provokes must not stop the others
            if len(events) == 1:
                self._failed(deliveries[0], error)
                return
            for delivery, event in zip(deliveries, events, strict=True):
                self._see_through([delivery], [event], stop)
            return
        self.tally.projected += len(events)
        self._feed.settle(deliveries)

    def _project(self, deliveries: Sequence[Delivery], events: Sequence[RecordedEvent], stop: threading.Event) -> bool:
        """Project, waiting for stores that are away; False when told to stop while waiting."""
        failures = 0
        while True:
            try:
                self._projection.apply(events)
            except StoreUnavailable as error:
                if stop.is_set():
                    return False
                self.tally.store_is_away = True
                logger.warning("a store of the read model is away: %s", error)
                self._feed.hold(deliveries)
                stop.wait(self._backoff(failures))
                failures += 1
            else:
                self.tally.store_is_away = False
                return True

    def _failed(self, delivery: Delivery, error: Exception) -> None:
        if isinstance(error, InvalidInput) or delivery.attempt >= self._max_attempts:
            self._bury(delivery, error)
            return
        self.tally.retried += 1
        self._feed.retry(delivery, delay_seconds=self._backoff(delivery.attempt - 1))

    def _bury(self, delivery: Delivery, error: Exception) -> None:
        self._feed.bury(delivery, reason=f"{type(error).__name__}: {error}")
        self.tally.buried += 1
        metric("ctx.projection.buried", 1)

    def _backoff(self, failures: int) -> float:
        return self._backoff_seconds[min(failures, len(self._backoff_seconds) - 1)]
