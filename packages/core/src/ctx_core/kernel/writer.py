"""The write side: a command is checked against the log, becomes its next event, and is projected."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ctx_core.errors import ContentHashConflict, IdempotencyConflict, RevisionConflict
from ctx_core.kernel.commands import Accepted, EntityKind, Operation
from ctx_core.kernel.events import Clock, compose
from ctx_core.telemetry import metric, span

if TYPE_CHECKING:
    from ctx_core.kernel.catch_up import CatchUp
    from ctx_core.kernel.commands import UpdateContext
    from ctx_core.kernel.ports import Head, KernelStores, RecordedEvent
    from ctx_core.kernel.projection import Projection

# Eight writers that hammer one aggregate lose a race a few times in a row; a hundred times means something is broken.
_RACES: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Accepts commands, each once per idempotency key.

    Args:
        is_inline: Project each event right after it was appended.
    """

    stores: KernelStores
    projection: Projection
    catch_up: CatchUp
    is_inline: bool = True
    clock: Clock = field(default_factory=Clock, repr=False, compare=False)

    def accept(self, command: UpdateContext) -> Accepted:
        """Append a command's event and project it; where another writer came first, look at the command again."""
        with span("rehydration.update_context"):
            for attempt in range(_RACES):
                try:
                    with self.stores.writing():
                        return self._accept(command)
                except _LostRaceError as lost:
                    if attempt == _RACES - 1:
                        raise lost.conflict from None
                    time.sleep(random.uniform(0, 0.002 * (attempt + 1)))  # noqa: S311 - jitter, not a secret
        raise AssertionError("the last attempt either returns or raises")

    def _accept(self, command: UpdateContext) -> Accepted:
        # The head comes first: a key accepted after it was read moves the head, so that the append is refused.
        head = self.stores.events.head(command.aggregate)
        if command.idempotency_key is not None:
            earlier = self.stores.events.find(command.aggregate, command.idempotency_key)
            if earlier is not None:
                return self._replay(command, earlier)
        _check_expectations(command, head)
        event = compose(command, revision=head.revision + 1, clock=self.clock.tick(after=head.clock))
        try:
            recorded = self.stores.events.append(event)
        except RevisionConflict as conflict:
            raise _LostRaceError(conflict) from None
        self._project(recorded)
        metric("rehydration.commands.accepted", 1)
        return _accepted(recorded, is_projected=self.is_inline, warnings=self._warnings(command))

    def _replay(self, command: UpdateContext, earlier: RecordedEvent) -> Accepted:
        first = earlier.event.data.content_hash
        if command.content_hash != first:
            key = f"idempotency key {command.idempotency_key!r} of {command.aggregate}"
            raise IdempotencyConflict(key, expected=first, actual=command.content_hash)
        # The first attempt may have been cut off between append and projection.
        self._project(earlier)
        return _accepted(earlier, is_projected=self.is_inline, is_replay=True)

    def _project(self, recorded: RecordedEvent) -> None:
        if not self.is_inline:
            return
        aggregate = recorded.event.aggregate
        try:
            self.projection.apply([recorded])
            self.catch_up.after_write(aggregate, recorded.event.data.revision)
        except Exception:
            # The log has the event, so the next read has to bring it into the read model.
            self.catch_up.note(aggregate)
            raise

    def _warnings(self, command: UpdateContext) -> tuple[str, ...]:
        if not command.changes:
            return ("the command changes nothing",)
        updated = [
            change.entity_id
            for change in command.checked_changes
            if change.operation is Operation.UPDATE and change.entity_kind is EntityKind.NODE
        ]
        if not updated or not self.is_inline:
            return ()
        known = self.stores.graph.nodes(updated)
        return tuple(
            f"UPDATE of node {node_id!r} waits: no such node exists yet" for node_id in updated if node_id not in known
        )


class _LostRaceError(Exception):
    """Another writer appended first; the command is to be looked at again."""

    def __init__(self, conflict: RevisionConflict) -> None:
        super().__init__(conflict)
        self.conflict = conflict


def _check_expectations(command: UpdateContext, head: Head) -> None:
    if command.expected_revision is not None and command.expected_revision != head.revision:
        raise RevisionConflict(str(command.aggregate), expected=command.expected_revision, actual=head.revision)
    if command.expected_content_hash is not None and command.expected_content_hash != head.content_hash:
        raise ContentHashConflict(
            str(command.aggregate), expected=command.expected_content_hash, actual=head.content_hash
        )


def _accepted(
    recorded: RecordedEvent, *, is_projected: bool, is_replay: bool = False, warnings: tuple[str, ...] = ()
) -> Accepted:
    event = recorded.event
    return Accepted(
        root_node_id=event.data.root_node_id,
        role=event.data.role,
        revision=event.data.revision,
        content_hash=event.data.content_hash,
        event_id=event.event_id,
        accepted_at=event.recorded_at,
        is_replay=is_replay,
        is_projected=is_projected,
        warnings=warnings,
    )
