"""A feed of events in memory, for tests of whatever works one off."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ctx_core.kernel.worker import Delivery, Lag

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class FakeFeed:
    """Hands out bodies in the order given, again after a retry, and remembers what became of each.

    Args:
        bodies: The events as bytes; their places in the list, from 1, are their positions.
        on_empty: Called when nothing is left to hand out; a test stops its worker there.
    """

    def __init__(self, bodies: Iterable[bytes], *, on_empty: object = None) -> None:
        self.queue = [Delivery(position=number, body=body) for number, body in enumerate(bodies, start=1)]
        self.settled: list[int] = []
        self.held: list[int] = []
        self.buried: dict[int, str] = {}
        self.delays: list[float] = []
        self._on_empty = on_empty

    def fetch(self, limit: int, *, timeout_seconds: float) -> list[Delivery]:
        """Return the next events."""
        del timeout_seconds
        taken, self.queue = self.queue[:limit], self.queue[limit:]
        if not taken and callable(self._on_empty):
            self._on_empty()
        return taken

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """Remember that events are through."""
        self.settled += [delivery.position for delivery in deliveries]

    def hold(self, deliveries: Sequence[Delivery]) -> None:
        """Remember that more time was asked for."""
        self.held += [delivery.position for delivery in deliveries]

    def retry(self, delivery: Delivery, *, delay_seconds: float) -> None:
        """Hand the event out again, at once, as one attempt more."""
        self.delays.append(delay_seconds)
        self.queue.append(replace(delivery, attempt=delivery.attempt + 1))

    def bury(self, delivery: Delivery, *, reason: str) -> None:
        """Remember why an event was given up."""
        self.buried[delivery.position] = reason

    def lag(self) -> Lag:
        """Return how much is left."""
        return Lag(waiting=len(self.queue), unsettled=0)
