"""The Neo4j graph holds what every adapter must hold, against a real Neo4j Community server."""

import contextlib
import socket
import threading
from urllib.parse import urlsplit

import pytest

from ctx_core.errors import InvalidSettings, StoreUnavailable
from ctx_core.stores.neo4j.connection import Neo4jConnection
from ctx_core.stores.neo4j.graph import Neo4jGraphStore
from ctx_core.testing.kernel import GraphStoreSuite


@pytest.fixture
def graph(neo4j_url, prefix):
    store = Neo4jGraphStore(Neo4jConnection(f"{neo4j_url}?prefix={prefix}"))
    yield store
    store.close()


class TestNeo4jGraphStore(GraphStoreSuite):
    """One graph, in a space of its own."""


class _Line:
    """A connection to a server that can fall silent without breaking off."""

    def __init__(self, port):
        self._server = ("127.0.0.1", port)
        self.is_open = threading.Event()
        self.is_open.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads = []
        self._start(self._accept)

    def _start(self, target, *arguments):
        self._threads.append(threading.Thread(target=target, args=arguments, daemon=True))
        self._threads[-1].start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._server)
                self._start(self._carry, near, far)
                self._start(self._carry, far, near)

    def _carry(self, source, sink):
        with contextlib.suppress(OSError), source:
            while data := source.recv(65_536):
                self.is_open.wait()
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def close(self):
        self.is_open.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)


def test_a_server_that_falls_silent_is_given_up_after_the_timeout_of_its_url(neo4j_url, prefix):
    line = _Line(urlsplit(neo4j_url).port)
    store = Neo4jGraphStore(Neo4jConnection(f"bolt://127.0.0.1:{line.port}?prefix={prefix}&timeout=2"))
    line.is_open.clear()
    with pytest.raises(StoreUnavailable, match="did not answer within 2 s"):
        store.nodes(["n"])
    line.is_open.set()
    assert store.nodes(["n"]) == {}
    store.close()
    line.close()


@pytest.mark.parametrize("timeout", ["0", "-1", "soon", "nan"])
def test_a_timeout_that_is_no_time_is_refused(timeout):
    with pytest.raises(InvalidSettings, match="'timeout' is a number of seconds above 0"):
        Neo4jConnection(f"bolt://127.0.0.1:7687?timeout={timeout}")
