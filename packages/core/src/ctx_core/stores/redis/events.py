"""The event log in Redis or Valkey, for kernels that project inline and need no NATS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ctx_core.errors import InvalidInput, RevisionConflict, StoreCorrupt
from ctx_core.kernel.events import aggregate_id, parse_event
from ctx_core.kernel.ports import Head, RecordedEvent
from ctx_core.stores.address import NO_CREDENTIALS, Credentials
from ctx_core.stores.redis.connection import RedisConnection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctx_core.kernel.commands import Aggregate
    from ctx_core.kernel.events import ContextUpdated

_PAGE: Final = 500

# KEYS: stream, heads, idempotency keys. ARGV: aggregate, revision, content hash, clock, field of the key, event.
# Answers the event's place, or minus the revision that the aggregate is at, less one.
_APPEND: Final = """
local head = redis.call('HGET', KEYS[2], ARGV[1])
local at = head and tonumber(string.match(head, '^%d+')) or 0
if at + 1 ~= tonumber(ARGV[2]) or (ARGV[5] ~= '' and redis.call('HEXISTS', KEYS[3], ARGV[5]) == 1) then
    return -at - 1
end
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
local place = 1
if last[1] then place = tonumber(string.match(last[1][1], '^%d+')) + 1 end
place = string.format('%.0f', place)
redis.call('XADD', KEYS[1], place .. '-1', 'event', ARGV[6])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. ARGV[4])
if ARGV[5] ~= '' then redis.call('HSET', KEYS[3], ARGV[5], place) end
return tonumber(place)
"""


class RedisEventStore:
    """The append-only log as a stream; one script appends and keeps the key, on one slot of a cluster."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection
        self._stream, self._heads, self._keys = (
            f"{connection.prefix}:{{log}}:{part}" for part in ("events", "heads", "keys")
        )

    def append(self, event: ContextUpdated) -> RecordedEvent:
        """Keep an event as its aggregate's next revision."""
        data, name = event.data, aggregate_id(event.aggregate)
        field = "" if data.idempotency_key is None else f"{name} {data.idempotency_key}"
        values = (name, data.revision, data.content_hash, event.clock, field, event.to_json())
        with self._connection.calls() as client:
            place: int = client.eval(_APPEND, 3, self._stream, self._heads, self._keys, *values)
        if place < 0:
            raise RevisionConflict(str(event.aggregate), expected=data.revision - 1, actual=-place - 1)
        return RecordedEvent(position=place, event=event)

    def head(self, aggregate: Aggregate) -> Head:
        """Return how far an aggregate has come."""
        with self._connection.calls() as client:
            head: str | None = client.hget(self._heads, aggregate_id(aggregate))
        if head is None:
            return Head()
        revision, content_hash, clock = head.split(" ")
        return Head(revision=int(revision), content_hash=content_hash, clock=int(clock))

    def find(self, aggregate: Aggregate, idempotency_key: str) -> RecordedEvent | None:
        """Return the event that an aggregate accepted under a key."""
        with self._connection.calls() as client:
            place: str | None = client.hget(self._keys, f"{aggregate_id(aggregate)} {idempotency_key}")
            rows: list[Any] = client.xrange(self._stream, f"{place}-1", f"{place}-1") if place else []
        return _recorded(rows[0]) if rows else None

    def read(self, *, after: int = 0, aggregate: Aggregate | None = None) -> Iterator[RecordedEvent]:
        """Yield every event behind a position, oldest first, a page at a time."""
        while True:
            with self._connection.calls() as client:
                rows: list[Any] = client.xrange(self._stream, f"({after}-1", "+", count=_PAGE)
            for row in rows:
                recorded = _recorded(row)
                after = recorded.position
                if aggregate is None or recorded.event.aggregate == aggregate:
                    yield recorded
            if len(rows) < _PAGE:
                return

    def last_position(self) -> int:
        """Return the place of the newest event."""
        with self._connection.calls() as client:
            rows: list[Any] = client.xrevrange(self._stream, count=1)
        return _place(rows[0]) if rows else 0

    def close(self) -> None:
        """Close all connections."""
        self._connection.close()


def _place(row: tuple[str, dict[str, str]]) -> int:
    return int(row[0].partition("-")[0])


def _recorded(row: tuple[str, dict[str, str]]) -> RecordedEvent:
    try:
        return RecordedEvent(position=_place(row), event=parse_event(row[1]["event"]))
    except InvalidInput as error:
        raise StoreCorrupt(f"the event at position {_place(row)} cannot be read: {error}") from None


def open_redis_events(url: str, *, credentials: Credentials = NO_CREDENTIALS) -> RedisEventStore:
    """Open the log at `redis://host:6379`, `rediss://`, `valkey://` or `valkeys://`."""
    return RedisEventStore(RedisConnection(url, credentials=credentials))
