"""Brings what an inline projection missed into the read model before the next read."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final

from ctx_core.errors import StoreError
from ctx_core.telemetry import degraded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctx_core.kernel.commands import Aggregate
    from ctx_core.kernel.ports import KernelStores
    from ctx_core.kernel.projection import Projection

# A log that is away answers after a timeout of some seconds; reads must not wait for it every time.
_SECONDS_UNTIL_ASKING_AGAIN: Final = 10.0


class CatchUp:
    """Notices that the log is ahead of the read model, and projects what is missing.

    An append and its projection are two steps where the stores share no transaction, and the second may fail. Where they
    share one, or where workers project, there is nothing to do.
    """

    def __init__(self, stores: KernelStores, projection: Projection, *, is_inline: bool) -> None:
        self._stores = stores
        self._projection = projection
        self._is_needed = is_inline and stores.writing is nullcontext
        self._behind: set[Aggregate] = set()
        self._given_up: dict[Aggregate, int] = {}
        self._ask_again_at = 0.0

    def note(self, aggregate: Aggregate) -> None:
        """Remember that an event of an aggregate was accepted but not projected."""
        self._behind.add(aggregate)

    def after_write(self, aggregate: Aggregate, revision: int) -> None:
        """Project earlier events of an aggregate whose newest one was just projected, if any are missing."""
        if self._is_needed and self._watermark(aggregate) < revision:
            self._projection.catch_up(self._stores.events, aggregate=aggregate)

    def before_read(self, aggregates: Iterable[Aggregate]) -> tuple[str, ...]:
        """Project what is missing of aggregates, and of those that were noted; return what could not be done."""
        if not self._is_needed:
            return ()
        warnings: list[str] = []
        for aggregate in sorted({*self._behind, *aggregates}):
            try:
                self._bring_up(aggregate)
            except StoreError as error:
                warnings.append(degraded(f"bringing {aggregate} up to date", error))
        return tuple(warnings)

    def _bring_up(self, aggregate: Aggregate) -> None:
        if time.monotonic() < self._ask_again_at:
            return
        try:
            newest = self._stores.events.head(aggregate).revision
        except StoreError:
            self._ask_again_at = time.monotonic() + _SECONDS_UNTIL_ASKING_AGAIN
            raise
        if newest > self._watermark(aggregate) and self._given_up.get(aggregate) != newest:
            self._projection.catch_up(self._stores.events, aggregate=aggregate)
            if self._watermark(aggregate) < newest:
                # One of the events cannot be projected at all: a later read would find the same.
                self._given_up[aggregate] = newest
        self._behind.discard(aggregate)

    def _watermark(self, aggregate: Aggregate) -> int:
        return self._stores.progress.watermark(self._projection.consumer, aggregate).revision
