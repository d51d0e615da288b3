"""One connection to NATS on an event loop of its own, behind ordinary calls."""

from __future__ import annotations

import asyncio
import ssl
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

import nats.errors
import nats.js.errors
from nats.aio.client import Client
from nats.js.api import DiscardPolicy, StorageType, StreamConfig

from ctx_core.errors import InvalidInput, StoreError, StoreUnavailable
from ctx_core.extras import require
from ctx_core.stores.address import NO_CREDENTIALS, Credentials, parse_address
from ctx_core.stores.nats.subjects import Names

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from nats.js.client import JetStreamContext

    from ctx_core.stores.address import Address

_Result = TypeVar("_Result")

SCHEMES: Final = ("nats", "tls")
OPTIONS: Final = ("prefix", "tls_first", "credentials_file", "replicas")
DUPLICATE_WINDOW_SECONDS: Final = 120
_TIMEOUT_SECONDS: Final = 10.0
# Older servers skip the header that compares sequences over all subjects of an aggregate, and would accept a key twice.
_OLDEST_SERVER: Final = (2, 11)
# What a call in flight meets when the server goes away: a later call may find it back.
_AWAY: Final = (
    nats.errors.NoServersError,
    nats.errors.TimeoutError,
    nats.errors.ConnectionClosedError,
    nats.errors.ConnectionReconnectingError,
    nats.errors.StaleConnectionError,
    nats.errors.NoRespondersError,
    nats.errors.UnexpectedEOF,
    nats.js.errors.NoStreamResponseError,
    nats.js.errors.ServiceUnavailableError,
    nats.js.errors.ServerError,
    OSError,
    TimeoutError,
)


class NatsConnection:
    """Connects on first use, and again after the server was away; safe to share between threads.

    Args:
        url: `nats://host:4222,other:4222` or `tls://…`; options are `prefix`, `replicas`, `tls_first=true`,
            `tls_ca_path`, `tls_cert_path`, `tls_key_path` and `credentials_file`.
    """

    def __init__(self, url: str, *, credentials: Credentials = NO_CREDENTIALS) -> None:
        self.address = parse_address(url, schemes=SCHEMES, options=OPTIONS, credentials=credentials)
        self._credentials = credentials
        self._client: Client | None = None
        self._connecting = asyncio.Lock()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=_serve, args=(self._loop,), name="ctx-nats", daemon=True).start()

    def __repr__(self) -> str:
        return f"NatsConnection({str(self.address)!r})"

    def run(self, work: Callable[[JetStreamContext], Coroutine[Any, Any, _Result]]) -> _Result:
        """Run a coroutine on the connection, and return what it returns."""
        future = asyncio.run_coroutine_threadsafe(self._run(work), self._loop)
        try:
            return future.result(_TIMEOUT_SECONDS * 3)
        except TimeoutError:
            future.cancel()
            raise StoreUnavailable(f"{self.address} does not answer") from None

    def ensure_stream(self, name: str, *, subjects: str) -> None:
        """Create a stream unless it exists; nothing in it is ever dropped."""
        config = StreamConfig(
            name=name,
            subjects=[subjects],
            storage=StorageType.FILE,
            discard=DiscardPolicy.NEW,
            duplicate_window=DUPLICATE_WINDOW_SECONDS,
            num_replicas=int(self.address.options.get("replicas", "1")),
        )

        async def ensure(stream: JetStreamContext) -> None:
            try:
                await stream.stream_info(name)
            except nats.js.errors.NotFoundError:
                await stream.add_stream(config)

        self.run(ensure)

    def close(self) -> None:
        """Close the connection and stop its loop."""
        if self._loop.is_closed():
            return
        if self._client is not None:
            asyncio.run_coroutine_threadsafe(self._client.close(), self._loop).result(_TIMEOUT_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)

    async def _run(self, work: Callable[[JetStreamContext], Coroutine[Any, Any, _Result]]) -> _Result:
        try:
            client = await self._connected()
            return await asyncio.wait_for(work(client.jetstream(timeout=_TIMEOUT_SECONDS)), _TIMEOUT_SECONDS * 2)
        except nats.errors.MaxPayloadError:
            raise InvalidInput("the command is larger than a message of the NATS server may be") from None
        except ssl.SSLError as error:
            raise StoreUnavailable(
                f"{self.address} is not trusted: {error.__class__.__name__}: {error.reason}"
            ) from None
        except (nats.errors.AuthorizationError, nats.errors.InvalidUserCredentialsError):
            raise StoreUnavailable(f"{self.address} refuses the credentials") from None
        except _AWAY as error:
            raise StoreUnavailable(f"{self.address} cannot be reached: {type(error).__name__}") from error
        except nats.errors.Error as error:
            if "authorization" in str(error).lower():
                raise StoreUnavailable(f"{self.address} refuses the credentials") from None
            raise StoreError(f"{self.address}: {error}") from error

    async def _connected(self) -> Client:
        async with self._connecting:
            if self._client is None or self._client.is_closed:
                client = await _connect(**_options(self.address, self._credentials))
                version = client.connected_server_version
                if (version.major, version.minor) < _OLDEST_SERVER:
                    await client.close()
                    raise StoreError(f"{self.address} is nats-server {version}; the log needs 2.11 or later")
                self._client = client
            return self._client


async def _connect(**options: Any) -> Client:
    client = Client()
    try:
        await client.connect(**options)
    except BaseException:
        # What is left of a refused connection must not outlive it, nor keep us waiting.
        with suppress(Exception):
            await asyncio.wait_for(client.close(), 1)
        raise
    return client


def _options(address: Address, credentials: Credentials) -> dict[str, Any]:
    options: dict[str, Any] = {
        "servers": [f"nats://{host}" for host in address.hosts],
        # nats-py takes 0 attempts for "for ever", waits 2 s between them, prints what went wrong, and hides why a
        # server refused behind the attempts that follow. So it tries once, and we connect again when called again.
        "allow_reconnect": False,
        "max_reconnect_attempts": 1,
        "reconnect_time_wait": 0.05,
        "connect_timeout": 5,
        "error_cb": _ignore,
        "user": credentials.user,
        "password": credentials.password,
        "user_credentials": credentials.file or address.options.get("credentials_file"),
    }
    if options["user_credentials"] is not None:
        require("nkeys", extra="nats")
    if address.scheme == "tls" or address.ca_path is not None:
        options["tls"] = address.tls_context()
        options["tls_hostname"] = address.hosts[0].rsplit(":", 1)[0]
        options["tls_handshake_first"] = credentials.tls_first or address.options.get("tls_first") == "true"
    return options


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


async def _ignore(_: Exception) -> None:
    """Take an error that the call in flight reports too."""


def names_of(connection: NatsConnection) -> Names:
    """Return the names below the prefix that the connection's URL gives."""
    return Names(connection.address.options.get("prefix", "ctx"))
