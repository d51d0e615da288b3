"""Erasing nodes for good: what the log says of them is replaced by their deletion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ctx_core.kernel.commands import Change, EntityKind, Operation
from ctx_core.kernel.ports import RecordedEvent

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from ctx_core.kernel.events import ChangeRecord, ContextUpdated


@runtime_checkable
class RewritableLog(Protocol):
    """A log whose events can be replaced in place."""

    def rewrite(self, recorded: Sequence[RecordedEvent]) -> None:
        """Replace the bodies of events, and keep their places."""
        ...

    def purge(self) -> None:
        """Remove what replacing left behind in files."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """What is to be forgotten: nodes, with their details, and every relation that ever had one of them as an end."""

    node_ids: frozenset[str]
    relation_ids: frozenset[str]

    @classmethod
    def of_nodes(cls, node_ids: Collection[str], log: Iterable[RecordedEvent]) -> Erasure:
        """Find in the log which relations go with the nodes."""
        nodes = frozenset(node_ids)
        changes = (change for item in log for change in item.event.data.changes)
        relations = {
            change.entity_id
            for change in changes
            if change.entity_kind is EntityKind.RELATION
            and not nodes.isdisjoint(str(change.payload.get(end)) for end in ("source_node_id", "target_node_id"))
        }
        return cls(node_ids=nodes, relation_ids=frozenset(relations))

    def changes(self) -> list[Change]:
        """Return the changes that remove everything from the read model."""
        kinds = (
            (EntityKind.RELATION, self.relation_ids),
            (EntityKind.DETAIL, self.node_ids),
            (EntityKind.NODE, self.node_ids),
        )
        return [
            Change(operation=Operation.DELETE, entity_kind=kind, entity_id=entity_id, reason="erased")
            for kind, ids in kinds
            for entity_id in sorted(ids)
        ]

    def apply_to(self, log: Iterable[RecordedEvent]) -> Iterator[RecordedEvent]:
        """Yield the events that say something of what is to be forgotten, without it."""
        for item in log:
            changes = tuple(self._without(change) for change in item.event.data.changes)
            if changes != item.event.data.changes:
                yield RecordedEvent(position=item.position, event=_with_changes(item.event, changes))

    def _without(self, change: ChangeRecord) -> ChangeRecord:
        ids = self.relation_ids if change.entity_kind is EntityKind.RELATION else self.node_ids
        if change.entity_id not in ids:
            return change
        return change.model_copy(update={"operation": Operation.DELETE, "payload": {}, "reason": "erased"})


def _with_changes(event: ContextUpdated, changes: tuple[ChangeRecord, ...]) -> ContextUpdated:
    # The content hash stays that of what was accepted, so that revisions, hashes and repeated keys still fit.
    return event.model_copy(update={"data": event.data.model_copy(update={"changes": changes})})
