"""What happened: the versioned envelope in which every accepted command is kept."""

from __future__ import annotations

import threading
import time
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, cast
from urllib.parse import quote

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue, ValidationError

from ctx_core.errors import InvalidInput
from ctx_core.kernel.commands import Aggregate, Change, EntityKind, Operation

if TYPE_CHECKING:
    from ctx_core.kernel.commands import UpdateContext

SCHEMA_VERSION: Final = "1.0"
_NAMESPACE: Final = uuid.UUID("5f0c3a51-8f0e-5a53-9d0c-6a1f4f7b2c11")


class _Model(BaseModel):
    # Fields that a later minor version adds are skipped, so old readers go on.
    model_config = ConfigDict(frozen=True, extra="ignore")


class ChangeRecord(_Model):
    """One change, as the log keeps it."""

    operation: Operation
    entity_kind: EntityKind
    entity_id: str = Field(min_length=1)
    payload: dict[str, JsonValue] = Field(default_factory=dict)
    reason: str | None = None
    scopes: tuple[str, ...] = ()

    def change(self) -> Change:
        """Return the change, checked against the entity it describes."""
        return Change(**{name: getattr(self, name) for name in type(self).model_fields})


class ContextUpdatedData(_Model):
    """What was accepted, by whom it was asked, and which revision it made."""

    root_node_id: str = Field(min_length=1)
    role: str = Field(min_length=1)
    revision: int = Field(ge=1)
    content_hash: str = Field(pattern="^[0-9a-f]{64}$")
    changes: tuple[ChangeRecord, ...] = ()
    idempotency_key: str | None = None
    requested_by: str | None = None


class ContextUpdated(_Model):
    """A command was accepted.

    `clock` orders events of different aggregates: microseconds since 1970, pushed forward where needed so that it
    grows with every revision of an aggregate and with every event of one process.
    """

    event_type: Literal["context.updated"] = "context.updated"
    event_id: str = Field(min_length=1)
    correlation_id: str = Field(min_length=1)
    causation_id: str = Field(min_length=1)
    occurred_at: AwareDatetime
    recorded_at: AwareDatetime
    clock: int = Field(ge=0, lt=10**16)
    aggregate_id: str = Field(min_length=1)
    aggregate_type: Literal["context"] = "context"
    schema_version: str = Field(default=SCHEMA_VERSION, pattern=r"^1\.\d+$")
    data: ContextUpdatedData

    @property
    def aggregate(self) -> Aggregate:
        """What the event is about."""
        return Aggregate(self.data.root_node_id, self.data.role)

    def stamp(self, index: int) -> str:
        """Return the place of the change `index` in the order of all changes."""
        # Events of others may hold more changes than a command of ours: what has more digits sorts behind what has four.
        place = f"{index:04d}" if index < 10_000 else f"~{index:012d}"
        return f"{self.clock:016d}-{self.event_id}-{place}"

    def to_json(self) -> bytes:
        """Return the event as UTF-8 JSON."""
        return self.model_dump_json().encode()


def parse_event(raw: bytes | str) -> ContextUpdated:
    """Read an event; `InvalidInput` says which field is wrong, and never quotes content."""
    try:
        return ContextUpdated.model_validate_json(raw)
    except ValidationError as error:
        raise InvalidInput(f"not a context.updated event: {_first_problem(error)}") from None


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the event'}: {first['msg']}"


class Clock:
    """A hybrid clock: wall time in microseconds, but never twice the same and never backwards."""

    def __init__(self) -> None:
        self._last = 0
        self._lock = threading.Lock()

    def tick(self, *, after: int = 0) -> int:
        """Return a time later than every earlier one and than `after`."""
        with self._lock:
            self._last = max(time.time_ns() // 1000, self._last + 1, after + 1)
            return self._last

    def __reduce__(self) -> tuple[type[Clock], tuple[()]]:
        return Clock, ()


def compose(command: UpdateContext, *, revision: int, clock: int) -> ContextUpdated:
    """Return the event that accepting `command` as `revision` would be."""
    now = datetime.now(UTC)
    event_id = event_id_of(command)
    data: dict[str, Any] = {
        "root_node_id": command.root_node_id,
        "role": command.role,
        "revision": revision,
        "content_hash": command.content_hash,
        "changes": [change.to_dict() for change in command.checked_changes],
        "idempotency_key": command.idempotency_key,
        "requested_by": command.requested_by,
    }
    try:
        return ContextUpdated(
            event_id=event_id,
            correlation_id=command.correlation_id or event_id,
            causation_id=command.causation_id or event_id,
            occurred_at=cast("datetime | None", command.occurred_at) or now,
            recorded_at=now,
            clock=clock,
            aggregate_id=aggregate_id(command.aggregate),
            data=ContextUpdatedData.model_validate(data),
        )
    except ValidationError as error:
        raise InvalidInput(f"the command makes no event: {_first_problem(error)}") from None


def event_id_of(command: UpdateContext) -> str:
    """Return the id of a command's event: the same one every time for the same idempotency key."""
    if command.idempotency_key is None:
        return str(uuid.uuid4())
    return str(uuid.uuid5(_NAMESPACE, f"{aggregate_id(command.aggregate)}/{quote(command.idempotency_key, safe='')}"))


def aggregate_id(aggregate: Aggregate) -> str:
    """Return one text for an aggregate; two aggregates never share it."""
    return f"{quote(aggregate.root_node_id, safe='')}/{quote(aggregate.role, safe='')}"
