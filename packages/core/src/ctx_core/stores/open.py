"""One table from the scheme of a URL to the store that speaks it; a technology is imported when its URL comes."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from ctx_core.errors import InvalidSettings
from ctx_core.kernel.ports import KernelStores
from ctx_core.stores.address import NO_CREDENTIALS, Credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ctx_core.kernel.ports import EventStore, GraphStore
    from ctx_core.stores.nats.connection import NatsConnection
    from ctx_core.stores.redis.connection import RedisConnection

_KERNELS: Final[dict[str, str]] = {
    "memory": "ctx_core.stores.memory.kernel:open_memory_stores",
    "sqlite": "ctx_core.stores.sqlite.kernel:open_sqlite_stores",
}
_REDIS_SCHEMES: Final = ("redis", "rediss", "valkey", "valkeys")
_EVENTS: Final[dict[str, str]] = {
    **dict.fromkeys(("nats", "tls"), "ctx_core.stores.nats.events:open_nats_events"),
    **dict.fromkeys(_REDIS_SCHEMES, "ctx_core.stores.redis.events:open_redis_events"),
}
_NATS: Final[dict[str, str]] = dict.fromkeys(("nats", "tls"), "ctx_core.stores.nats.connection:NatsConnection")
_GRAPHS: Final[dict[str, str]] = dict.fromkeys(
    ("neo4j", "neo4j+s", "bolt", "bolt+s"), "ctx_core.stores.neo4j.graph:open_neo4j_graph"
)
_DETAILS: Final[dict[str, str]] = dict.fromkeys(_REDIS_SCHEMES, "ctx_core.stores.redis.connection:RedisConnection")


def open_kernel_stores(url: str) -> KernelStores:
    """Open all stores of a kernel in one place: `sqlite:///context.db` or `memory://`."""
    return _opener(_KERNELS, url, "a whole kernel")(url)


def open_events(url: str, *, credentials: Credentials = NO_CREDENTIALS) -> EventStore:
    """Open an event log: `nats://host:4222` or `tls://host:4222`, or `redis://` and its kin without workers."""
    return _opener(_EVENTS, url, "an event log")(url, credentials=credentials)


def open_graph(url: str, *, credentials: Credentials = NO_CREDENTIALS) -> GraphStore:
    """Open a graph: `neo4j://host:7687/database`, `neo4j+s://`, `bolt://` or `bolt+s://`."""
    return _opener(_GRAPHS, url, "a graph")(url, credentials=credentials)


def open_redis(url: str, *, credentials: Credentials = NO_CREDENTIALS) -> RedisConnection:
    """Open what holds details, progress and snapshots: `redis://`, `rediss://`, `valkey://` or `valkeys://`."""
    return _opener(_DETAILS, url, "details")(url, credentials=credentials)


def open_nats(url: str, *, credentials: Credentials = NO_CREDENTIALS) -> NatsConnection:
    """Open what feeds workers: `nats://` or `tls://`."""
    return _opener(_NATS, url, "a feed")(url, credentials=credentials)


def open_stores(
    url: str = "memory://",
    *,
    events: str | None = None,
    graph: str | None = None,
    details: str | None = None,
    credentials: Mapping[str, Credentials] | None = None,
) -> KernelStores:
    """Open everything at `url`, but for the parts that have a URL of their own.

    Progress and snapshots go where the details are. `credentials` are by the name of the argument they are for.
    """
    base = open_kernel_stores(url)
    if events is graph is details is None:
        return base
    known = {name: (credentials or {}).get(name, NO_CREDENTIALS) for name in ("events", "graph", "details")}
    parts: dict[str, Any] = {
        name: getattr(base, name) for name in ("events", "graph", "details", "progress", "snapshots")
    }
    closers = [base.close]
    if events is not None:
        parts["events"] = open_events(events, credentials=known["events"])
    if graph is not None:
        parts["graph"] = open_graph(graph, credentials=known["graph"])
    if details is not None:
        redis = open_redis(details, credentials=known["details"])
        parts |= _on_redis(redis)
        closers.append(redis.close)
    closers += [part.close for part in parts.values() if hasattr(part, "close")]
    # Parts that live apart share no transaction: an event is appended first, and projected then.
    return KernelStores(**parts, close=partial(_call_all, closers))


def _call_all(calls: Iterable[Callable[[], None]]) -> None:
    for call in calls:
        call()


def _on_redis(redis: RedisConnection) -> dict[str, Any]:
    from ctx_core.stores.redis import kernel  # noqa: PLC0415 - needs an extra

    return {
        "details": kernel.RedisDetailStore(redis),
        "progress": kernel.RedisProgressStore(redis),
        "snapshots": kernel.RedisSnapshotStore(redis),
    }


def _opener(table: Mapping[str, str], url: str, what: str) -> Any:
    scheme = urlsplit(url).scheme.lower()
    if scheme not in table:
        raise InvalidSettings(f"no store of {what} answers to the scheme {scheme!r}; known are {', '.join(table)}")
    module, _, name = table[scheme].partition(":")
    return getattr(import_module(module), name)
