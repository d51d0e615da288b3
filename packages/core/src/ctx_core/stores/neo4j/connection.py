"""A driver for Neo4j from a URL that holds no secret."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final, TypeVar

from neo4j import GraphDatabase, unit_of_work
from neo4j.exceptions import (
    AuthError,
    ConstraintError,
    DriverError,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
    TransientError,
)

from ctx_core.errors import InvalidSettings, StoreError, StoreUnavailable
from ctx_core.stores.address import NO_CREDENTIALS, Credentials, parse_address

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from neo4j import Driver, ManagedTransaction

_Result = TypeVar("_Result")

# Scheme: does it encrypt?
SCHEMES: Final = {"neo4j": False, "neo4j+s": True, "bolt": False, "bolt+s": True}
OPTIONS: Final = ("prefix", "timeout")
# Until a connection stands. How long an answer may take is the option `timeout`.
_TIMEOUT_SECONDS: Final = 5.0
_ANSWER_SECONDS: Final = "30"
_LONGEST_TIMEOUT_SECONDS: Final = 86_400.0
_CONSTRAINT_RACES: Final = 20
_AWAY: Final = (ServiceUnavailable, SessionExpired, TransientError, OSError)


class Neo4jConnection:
    """A driver and the database it works in; safe to share between threads.

    Args:
        url: `neo4j+s://host:7687/database`, `neo4j://`, `bolt+s://` or `bolt://`; options are `prefix`, which keeps
            several graphs in one database apart, `timeout`, the seconds after which a read or write is given up (30),
            `tls_ca_path`, `tls_cert_path` and `tls_key_path`.
    """

    def __init__(self, url: str, *, credentials: Credentials = NO_CREDENTIALS) -> None:
        self.address = parse_address(url, schemes=SCHEMES, options=OPTIONS, credentials=credentials)
        self.prefix = self.address.options.get("prefix", "ctx")
        self.timeout_seconds = _positive(self.address.options.get("timeout", _ANSWER_SECONDS))
        scheme = self.address.scheme.removesuffix("+s")
        # The driver takes a context of ours only beside the plain schemes; it then encrypts all the same.
        tls = {"ssl_context": self.address.tls_context()} if SCHEMES[self.address.scheme] else {}
        with self._translated():
            self._driver: Driver = GraphDatabase.driver(
                f"{scheme}://{self.address.hosts[0]}",
                auth=(credentials.user, credentials.password or "") if credentials.user else None,
                connection_timeout=_TIMEOUT_SECONDS,
                connection_acquisition_timeout=2 * _TIMEOUT_SECONDS,
                max_transaction_retry_time=_TIMEOUT_SECONDS,
                notifications_min_severity="OFF",
                **tls,
            )

    def __repr__(self) -> str:
        return f"Neo4jConnection({str(self.address)!r})"

    def execute(self, *statements: str) -> None:
        """Run statements that change the schema."""
        with self._translated(), self._session() as session:
            for statement in statements:
                session.run(statement).consume()

    def write(self, work: Callable[[ManagedTransaction], _Result]) -> _Result:
        """Run work in a transaction, again where another one got in between."""
        with self._translated():
            for _ in range(_CONSTRAINT_RACES):
                try:
                    return self._run_in_time(work, is_write=True)
                except ConstraintError:
                    # Two transactions created one node at once; the next try finds it. Drivers do not retry this.
                    continue
        raise StoreUnavailable(f"{self.address}: {_CONSTRAINT_RACES} transactions in a row lost a race")

    def read(self, work: Callable[[ManagedTransaction], _Result]) -> _Result:
        """Run work in a transaction that only reads."""
        with self._translated():
            return self._run_in_time(work, is_write=False)

    def close(self) -> None:
        """Close all connections."""
        self._driver.close()

    def _run_in_time(self, work: Callable[[ManagedTransaction], _Result], *, is_write: bool) -> _Result:
        """Run work in a transaction, and stop waiting for it when its time is up.

        The server ends a slow transaction by itself. One that has stalled ends nothing, and the driver would wait for it as
        long as the operating system keeps the connection; so the waiting is done in a thread that can be left behind.
        """

        def run() -> _Result:
            with self._session() as session:
                execute = session.execute_write if is_write else session.execute_read
                return execute(unit_of_work(timeout=self.timeout_seconds)(work))

        answer: Future[_Result] = Future()
        threading.Thread(target=copy_context().run, args=(_answer, answer, run), name="ctx-neo4j", daemon=True).start()
        try:
            return answer.result(self.timeout_seconds)
        except FutureTimeoutError:
            if answer.done():
                raise
            raise StoreUnavailable(
                f"{self.address} did not answer within {self.timeout_seconds:g} s; the option `timeout` of its URL allows more"
            ) from None

    def _session(self) -> Any:
        return self._driver.session(database=self.address.path or None)

    @contextmanager
    def _translated(self) -> Generator[None]:
        try:
            yield
        except AuthError:
            raise StoreUnavailable(f"{self.address} refuses the credentials") from None
        except _AWAY as error:
            raise StoreUnavailable(f"{self.address} cannot be reached: {error}") from error
        except (DriverError, Neo4jError) as error:
            raise StoreError(f"{self.address}: {error}") from error


def _answer(answer: Future[_Result], run: Callable[[], _Result]) -> None:
    try:
        answer.set_result(run())
    except BaseException as error:  # noqa: BLE001 - whoever waits for the answer raises it
        answer.set_exception(error)


def _positive(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < _LONGEST_TIMEOUT_SECONDS:
        raise InvalidSettings(f"the option 'timeout' is a number of seconds above 0, not {text!r}")
    return seconds
