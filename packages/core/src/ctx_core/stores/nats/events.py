"""The event log in a JetStream stream."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

import nats.js.errors
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from ctx_core.errors import InvalidInput, RevisionConflict, StoreCorrupt
from ctx_core.kernel.events import parse_event
from ctx_core.kernel.ports import Head, RecordedEvent
from ctx_core.stores.address import NO_CREDENTIALS, Credentials
from ctx_core.stores.nats.connection import NatsConnection, names_of
from ctx_core.telemetry import degraded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nats.aio.msg import Msg
    from nats.js.client import JetStreamContext

    from ctx_core.kernel.commands import Aggregate
    from ctx_core.kernel.events import ContextUpdated

_WRONG_LAST_SEQUENCE: Final = 10071
_PAGE: Final = 500
_REMEMBERED_HEADS: Final = 1_000


class NatsEventStore:
    """The append-only log; an event's subject carries its aggregate and key, and the server compares sequences.

    Needs nats-server 2.11 or later, which can compare the last sequence of all subjects of an aggregate.
    """

    def __init__(self, connection: NatsConnection) -> None:
        self._connection = connection
        self._names = names_of(connection)
        self._sequences: dict[Aggregate, tuple[int, int]] = {}
        self._lock = threading.Lock()
        connection.ensure_stream(self._names.event_stream, subjects=self._names.all_events)

    def append(self, event: ContextUpdated) -> RecordedEvent:
        """Keep an event as its aggregate's next revision."""
        aggregate, data = event.aggregate, event.data
        revision, sequence = self._last(aggregate)
        if data.revision != revision + 1:
            self._forget(aggregate)
            revision, sequence = self._last(aggregate)
        if data.revision != revision + 1:
            raise RevisionConflict(str(aggregate), expected=data.revision - 1, actual=revision)
        headers = {
            "Nats-Msg-Id": event.event_id,
            "Nats-Expected-Last-Subject-Sequence": str(sequence),
            "Nats-Expected-Last-Subject-Sequence-Subject": self._names.aggregate(aggregate),
        }
        subject = self._names.event(aggregate, data.idempotency_key)
        position = self._publish(subject, event.to_json(), headers)
        self._forget(aggregate)
        if position is None:
            raise RevisionConflict(str(aggregate), expected=data.revision - 1, actual=self.head(aggregate).revision)
        self._remember(aggregate, data.revision, position)
        return RecordedEvent(position=position, event=event)

    def head(self, aggregate: Aggregate) -> Head:
        """Return how far an aggregate has come."""
        last = self._get_last(self._names.aggregate(aggregate))
        if last is None:
            self._remember(aggregate, 0, 0)
            return Head()
        event = last.event
        self._remember(aggregate, event.data.revision, last.position)
        return Head(revision=event.data.revision, content_hash=event.data.content_hash, clock=event.clock)

    def find(self, aggregate: Aggregate, idempotency_key: str) -> RecordedEvent | None:
        """Return the event that an aggregate accepted under a key."""
        return self._get_last(self._names.event(aggregate, idempotency_key))

    def read(self, *, after: int = 0, aggregate: Aggregate | None = None) -> Iterator[RecordedEvent]:
        """Yield every event behind a position, oldest first, up to the newest there is when reading starts."""
        subjects = self._names.all_events if aggregate is None else self._names.aggregate(aggregate)
        newest = None if aggregate is None else self._get_last(subjects)
        last = self.last_position() if aggregate is None else newest.position if newest else 0
        while after < last:
            page = self._connection.run(lambda stream, start=after: self._page(stream, subjects, start))
            for position, body in page:
                after = position
                try:
                    recorded = _recorded(position, body)
                except StoreCorrupt as error:
                    # Anyone may publish below our subjects; what is no event of ours must not stop a rebuild.
                    degraded("reading the log", error)
                else:
                    yield recorded

    def last_position(self) -> int:
        """Return the place of the newest event."""
        info = self._connection.run(lambda stream: stream.stream_info(self._names.event_stream))
        return info.state.last_seq

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _publish(self, subject: str, body: bytes, headers: dict[str, str]) -> int | None:
        """Publish, and return the message's sequence; None when another writer came first."""

        async def publish(stream: JetStreamContext) -> int | None:
            try:
                ack = await stream.publish(subject, body, headers=headers, stream=self._names.event_stream)
            except nats.js.errors.APIError as error:
                if error.err_code == _WRONG_LAST_SEQUENCE:
                    return None
                raise
            return None if ack.duplicate else ack.seq

        return self._connection.run(publish)

    def _get_last(self, subject: str) -> RecordedEvent | None:
        async def get(stream: JetStreamContext) -> tuple[int, bytes] | None:
            try:
                # Not a direct get: replicas may lag behind, and a key must be seen as soon as it is accepted.
                message = await stream.get_last_msg(self._names.event_stream, subject)
            except nats.js.errors.NotFoundError:
                return None
            return message.seq or 0, message.data or b""

        found = self._connection.run(get)
        return None if found is None else _recorded(*found)

    async def _page(self, stream: JetStreamContext, subjects: str, after: int) -> list[tuple[int, bytes]]:
        config = ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=after + 1,
            ack_policy=AckPolicy.NONE,
            inactive_threshold=30,
            mem_storage=True,
        )
        subscription = await stream.pull_subscribe(subjects, stream=self._names.event_stream, config=config)
        try:
            messages: list[Msg] = await subscription.fetch(_PAGE, timeout=5)
        finally:
            await subscription.unsubscribe()
        return [(message.metadata.sequence.stream, message.data) for message in messages]

    def _last(self, aggregate: Aggregate) -> tuple[int, int]:
        """Return revision and sequence of an aggregate's last event, as last seen here."""
        known = self._sequences.get(aggregate)
        if known is None:
            self.head(aggregate)
            known = self._sequences.get(aggregate, (0, 0))
        return known

    def _remember(self, aggregate: Aggregate, revision: int, sequence: int) -> None:
        with self._lock:
            if len(self._sequences) >= _REMEMBERED_HEADS:
                self._sequences.clear()
            self._sequences[aggregate] = (revision, sequence)

    def _forget(self, aggregate: Aggregate) -> None:
        with self._lock:
            self._sequences.pop(aggregate, None)


def _recorded(position: int, body: bytes) -> RecordedEvent:
    try:
        return RecordedEvent(position=position, event=parse_event(body))
    except InvalidInput as error:
        raise StoreCorrupt(f"the event at position {position} cannot be read: {error}") from None


def open_nats_events(url: str, *, credentials: Credentials = NO_CREDENTIALS) -> NatsEventStore:
    """Open the log at `nats://host:4222` or `tls://host:4222`."""
    return NatsEventStore(NatsConnection(url, credentials=credentials))
