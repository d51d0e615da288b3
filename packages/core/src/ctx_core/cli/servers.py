"""Where a kernel's servers are, from arguments; secrets come from files and never from a URL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ctx_core.errors import InvalidSettings
from ctx_core.kernel.projection import CONSUMER, Projection
from ctx_core.stores.address import NO_CREDENTIALS, Credentials
from ctx_core.stores.open import open_graph, open_nats, open_redis

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from contextlib import ExitStack

    from ctx_core.stores.nats.connection import NatsConnection

_WHAT: Final = {
    "events": "the log, such as nats://host:4222",
    "graph": "the graph, such as neo4j+s://host:7687",
    "details": "details and progress, such as rediss://host:6379",
}


def add_server_arguments(parser: ArgumentParser, *names: str) -> None:
    """Add the URL, user and password file of each server."""
    for name in names:
        parser.add_argument(f"--{name}", required=True, metavar="URL", help=f"URL of {_WHAT[name]}")
        parser.add_argument(f"--{name}-user", metavar="NAME", help="user to log in as")
        parser.add_argument(f"--{name}-password-file", metavar="PATH", help="file that holds the password")
    parser.add_argument(
        "--consumer", default=CONSUMER, metavar="NAME", help="name that all workers of a read model share"
    )


def _credentials(args: Namespace, name: str) -> Credentials:
    """Return the credentials that the arguments give for a server."""
    path: str | None = getattr(args, f"{name}_password_file")
    user: str | None = getattr(args, f"{name}_user")
    if path is None:
        return Credentials(user=user) if user else NO_CREDENTIALS
    try:
        return Credentials(user=user, password=Path(path).read_text(encoding="utf-8").strip())
    except OSError as error:
        raise InvalidSettings(f"--{name}-password-file cannot be read: {error}") from None


def connect_nats(args: Namespace, resources: ExitStack) -> NatsConnection:
    """Connect to `--events` for as long as the resources live."""
    nats = open_nats(args.events, credentials=_credentials(args, "events"))
    resources.callback(nats.close)
    return nats


def open_projection(args: Namespace, resources: ExitStack) -> Projection:
    """Open what projects into `--graph` and `--details`, for as long as the resources live."""
    from ctx_core.stores.redis.kernel import RedisDetailStore, RedisProgressStore  # noqa: PLC0415 - needs an extra

    graph: Any = open_graph(args.graph, credentials=_credentials(args, "graph"))
    resources.callback(graph.close)
    redis = open_redis(args.details, credentials=_credentials(args, "details"))
    resources.callback(redis.close)
    return Projection(
        graph=graph, details=RedisDetailStore(redis), progress=RedisProgressStore(redis), consumer=args.consumer
    )
