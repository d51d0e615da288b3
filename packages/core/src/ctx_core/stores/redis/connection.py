"""A client for Redis or Valkey, one server or a cluster, from a URL that holds no secret."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from ctx_core.errors import InvalidSettings, StoreError, StoreUnavailable
from ctx_core.extras import require
from ctx_core.stores.address import NO_CREDENTIALS, Credentials, parse_address

require("redis", extra="redis")

from redis import Redis, RedisCluster, RedisError  # noqa: E402 - says which extra is missing first
from redis.backoff import ExponentialBackoff  # noqa: E402
from redis.exceptions import (  # noqa: E402
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    NoPermissionError,
    ReadOnlyError,
)
from redis.exceptions import ConnectionError as RedisConnectionError  # noqa: E402
from redis.exceptions import TimeoutError as RedisTimeoutError  # noqa: E402
from redis.retry import Retry  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Generator

    from ctx_core.stores.address import Address

SCHEMES: Final = {"redis": False, "valkey": False, "rediss": True, "valkeys": True}
OPTIONS: Final = ("prefix", "cluster")
_TIMEOUT_SECONDS: Final = 5.0
_PREFIX: Final = re.compile(r"[A-Za-z0-9_.:-]+")
_AWAY: Final = (RedisConnectionError, RedisTimeoutError, BusyLoadingError, ClusterDownError, ReadOnlyError)


class RedisConnection:
    """A client and the prefix of its keys; safe to share between threads.

    Args:
        url: `redis://host:6379/0`, `rediss://…`, `valkey://…` or `valkeys://…`; options are `prefix`,
            `cluster=true`, `tls_ca_path`, `tls_cert_path` and `tls_key_path`.
    """

    def __init__(self, url: str, *, credentials: Credentials = NO_CREDENTIALS) -> None:
        self.address = parse_address(url, schemes=SCHEMES, options=OPTIONS, credentials=credentials)
        self.prefix = self.address.options.get("prefix", "ctx")
        if not _PREFIX.fullmatch(self.prefix):
            raise InvalidSettings(f"a prefix is made of letters, digits and ._:-, not {self.prefix!r}")
        self.is_cluster = self.address.options.get("cluster") == "true"
        self.client: Any = _client(self.address, credentials, is_cluster=self.is_cluster)

    def __repr__(self) -> str:
        return f"RedisConnection({str(self.address)!r})"

    @contextmanager
    def calls(self) -> Generator[Any]:
        """Hand out the client, and turn what it raises into errors of ours."""
        try:
            yield self.client
        except (AuthenticationError, NoPermissionError) as error:
            raise StoreUnavailable(f"{self.address} refuses: {type(error).__name__}") from None
        except _AWAY as error:
            raise StoreUnavailable(f"{self.address} cannot be reached: {error}") from error
        except RedisError as error:
            raise StoreError(f"{self.address}: {error}") from error

    def close(self) -> None:
        """Close all connections."""
        if self.is_cluster:
            # A cluster client forgets the pools of its nodes without closing them.
            for node in self.client.get_nodes():
                if node.redis_connection is not None:
                    node.redis_connection.connection_pool.disconnect()
        self.client.close()


def _client(address: Address, credentials: Credentials, *, is_cluster: bool) -> Redis | RedisCluster:
    scheme = "rediss" if SCHEMES[address.scheme] else "redis"
    options: dict[str, Any] = {
        "username": credentials.user,
        "password": credentials.password,
        "decode_responses": True,
        "socket_timeout": _TIMEOUT_SECONDS,
        "socket_connect_timeout": _TIMEOUT_SECONDS,
        # Every call here may be repeated: a second time it changes nothing.
        "retry": Retry(ExponentialBackoff(cap=0.5, base=0.05), 2),
    }
    if SCHEMES[address.scheme]:
        address.tls_context()  # says at once which file cannot be used
        options |= {
            "ssl_cert_reqs": "required",
            "ssl_ca_certs": address.ca_path,
            "ssl_certfile": address.cert_path,
            "ssl_keyfile": address.key_path,
        }
    kind = RedisCluster if is_cluster else Redis
    try:
        return kind.from_url(f"{scheme}://{address.hosts[0]}/{address.path}", **options)
    except (RedisError, ValueError) as error:
        raise StoreUnavailable(f"{address} cannot be used: {error}") from None
