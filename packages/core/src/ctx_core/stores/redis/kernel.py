"""Details, progress and snapshots of the kernel in Redis or Valkey, one server or a cluster."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from ctx_core.kernel.events import aggregate_id
from ctx_core.kernel.last_writer_wins import Register, merge_all
from ctx_core.kernel.ports import Checkpoint, Watermark
from ctx_core.stores.entities import as_detail

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from ctx_core.graph.model import NodeDetail
    from ctx_core.kernel.commands import Aggregate
    from ctx_core.kernel.last_writer_wins import Write
    from ctx_core.kernel.ports import RecordedEvent
    from ctx_core.stores.redis.connection import RedisConnection

_PAGE: Final = 500

# A value is its stamp, a newline, and the register: compare and set in one step, so a late write never wins.
_KEEP_NEWEST: Final = """
for i, key in ipairs(KEYS) do
    local old = redis.call('GET', key)
    if not old or string.match(old, '^[^\\n]*') < ARGV[2 * i - 1] then
        redis.call('SET', key, ARGV[2 * i - 1] .. '\\n' .. ARGV[2 * i])
    end
end
"""

# KEYS: projected ids, checkpoint, watermarks, revisions ahead of their watermark; ARGV: now, then five values an event.
_RECORD: Final = """
local done, checkpoint, marks, ahead = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
for i = 2, #ARGV, 5 do
    local id, position, aggregate, revision, hash = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
    if redis.call('SADD', done, id) == 1 then
        redis.call('HINCRBY', checkpoint, 'processed', 1)
        redis.call('HSET', checkpoint, 'updated_at', ARGV[1])
        if tonumber(redis.call('HGET', checkpoint, 'position') or '0') < tonumber(position) then
            redis.call('HSET', checkpoint, 'position', position)
        end
        redis.call('HSET', ahead, aggregate .. ' ' .. revision, hash)
        local mark = redis.call('HGET', marks, aggregate)
        local reached = mark and tonumber(string.match(mark, '^%d+')) or 0
        while true do
            local field = aggregate .. ' ' .. string.format('%.0f', reached + 1)
            local found = redis.call('HGET', ahead, field)
            if not found then break end
            reached = reached + 1
            redis.call('HSET', marks, aggregate, string.format('%.0f', reached) .. ' ' .. found)
            redis.call('HDEL', ahead, field)
        end
    end
end
"""


class RedisDetailStore:
    """Details, each under a key of its own, read many at a time."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection
        self._prefix = f"{connection.prefix}:detail:"

    def write(self, writes: Sequence[Write]) -> None:
        """Merge writes of details; a detail is always written whole."""
        changed = list(merge_all({}, writes).items())
        # Keys of a cluster live on different servers, and a script runs on one.
        size = 1 if self._connection.is_cluster else _PAGE
        with self._connection.calls() as client:
            for page in _pages(changed, size):
                keys = [self._prefix + node_id for node_id, _ in page]
                values = [value for _, state in page for value in (state.stamp, state.to_json())]
                client.eval(_KEEP_NEWEST, len(keys), *keys, *values)

    def details(self, node_ids: Collection[str]) -> dict[str, NodeDetail]:
        """Return those of the details that exist, in one round trip per 500."""
        found: dict[str, NodeDetail] = {}
        with self._connection.calls() as client:
            read = client.mget_nonatomic if self._connection.is_cluster else client.mget
            for page in _pages(node_ids, _PAGE):
                values = read([self._prefix + node_id for node_id in page])
                found.update(_live(zip(page, values, strict=True)))
        return found

    def scan(self) -> Iterator[NodeDetail]:
        """Yield all details."""
        with self._connection.calls() as client:
            keys = [key.removeprefix(self._prefix) for key in client.scan_iter(match=f"{self._prefix}*", count=_PAGE)]
        for page in _pages(sorted(set(keys)), _PAGE):
            yield from self.details(page).values()


class RedisProgressStore:
    """What each consumer has projected; all keys of a consumer share a slot, so one script covers them."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection

    def processed(self, consumer: str, event_ids: Collection[str]) -> set[str]:
        """Return those of the events that a consumer has projected."""
        ids = list(event_ids)
        if not ids:
            return set()
        with self._connection.calls() as client:
            known = client.smismember(self._key(consumer, "done"), ids)
        return {event_id for event_id, is_known in zip(ids, known, strict=True) if is_known}

    def record(self, consumer: str, events: Sequence[RecordedEvent]) -> None:
        """Note that a consumer has projected events."""
        keys = [self._key(consumer, part) for part in ("done", "checkpoint", "watermarks", "ahead")]
        with self._connection.calls() as client:
            for page in _pages(events, _PAGE):
                values = [value for item in page for value in _record_values(item)]
                client.eval(_RECORD, len(keys), *keys, datetime.now(UTC).isoformat(), *values)

    def checkpoint(self, consumer: str) -> Checkpoint:
        """Return how far a consumer has come."""
        with self._connection.calls() as client:
            values: dict[str, str] = client.hgetall(self._key(consumer, "checkpoint"))
        if not values:
            return Checkpoint()
        return Checkpoint(
            position=int(values["position"]),
            processed=int(values["processed"]),
            updated_at=datetime.fromisoformat(values["updated_at"]),
        )

    def watermark(self, consumer: str, aggregate: Aggregate) -> Watermark:
        """Return up to which revision a consumer has projected an aggregate."""
        with self._connection.calls() as client:
            mark: str | None = client.hget(self._key(consumer, "watermarks"), aggregate_id(aggregate))
        if mark is None:
            return Watermark()
        revision, content_hash = mark.split(" ")
        return Watermark(revision=int(revision), content_hash=content_hash)

    def _key(self, consumer: str, part: str) -> str:
        return f"{self._connection.prefix}:{{progress:{consumer}}}:{part}"


class RedisSnapshotStore:
    """Kept sessions, which the server forgets when their time is out."""

    def __init__(self, connection: RedisConnection) -> None:
        self._connection = connection

    def save(self, snapshot_id: str, document: str, *, ttl_seconds: float) -> None:
        """Keep a document for a time."""
        with self._connection.calls() as client:
            client.set(self._key(snapshot_id), document, px=max(1, round(ttl_seconds * 1000)))

    def load(self, snapshot_id: str) -> str | None:
        """Return a document unless its time ran out."""
        with self._connection.calls() as client:
            return client.get(self._key(snapshot_id))

    def _key(self, snapshot_id: str) -> str:
        return f"{self._connection.prefix}:snapshot:{snapshot_id}"


def _record_values(item: RecordedEvent) -> tuple[Any, ...]:
    event, data = item.event, item.event.data
    return event.event_id, item.position, aggregate_id(event.aggregate), data.revision, data.content_hash


def _live(values: Iterable[tuple[str, str | None]]) -> Iterator[tuple[str, NodeDetail]]:
    for node_id, value in values:
        state = Register.from_json(value.partition("\n")[2]) if value else None
        if state is not None and state.is_live:
            yield node_id, as_detail(node_id, state.values)


def _pages(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    rest = iter(items)
    while page := list(islice(rest, size)):
        yield page
