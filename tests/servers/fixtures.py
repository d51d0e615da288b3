"""The servers that tests share for a whole run; a test takes a prefix of its own and meets no other's data."""

import os
import uuid

import pytest

from servers import certificates, processes


@pytest.fixture(scope="session")
def nats_url():
    for server in processes.running(processes.nats_server()):
        yield f"nats://127.0.0.1:{server.port}"


@pytest.fixture(scope="session")
def valkey_url():
    for server in processes.running(processes.valkey_server("--save", "", "--appendonly", "no")):
        yield f"valkey://127.0.0.1:{server.port}"


@pytest.fixture(scope="session")
def valkey_cluster_url():
    options = ("--save", "", "--appendonly", "no", "--cluster-enabled", "yes")
    for server in processes.running(processes.valkey_server(*options)):
        processes.make_cluster(server.port)
        yield f"valkey://127.0.0.1:{server.port}?cluster=true"


@pytest.fixture(scope="session")
def redis_url():
    for server in processes.running(processes.redis_server()):
        yield f"redis://127.0.0.1:{server.port}"


@pytest.fixture(scope="session")
def neo4j_url():
    if url := os.environ.get("CTX_TEST_NEO4J_URL"):
        yield url
        return
    from servers import neo4j_assemble

    for server in processes.running(neo4j_assemble.neo4j_server()):
        yield f"bolt://127.0.0.1:{server.port}"


@pytest.fixture
def prefix():
    return f"t{uuid.uuid4().hex[:12]}"


@pytest.fixture(scope="session")
def trust(tmp_path_factory):
    return certificates.new_trust(tmp_path_factory.mktemp("certificates"))
