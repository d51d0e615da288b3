"""A whole kernel on JetStream, Neo4j and Valkey keeps the same promises as one in a file."""

import pytest

from ctx_core.stores.open import open_stores
from ctx_core.testing.kernel_scenarios import KernelSuite


@pytest.fixture
def stores(nats_url, neo4j_url, valkey_url, prefix):
    stores = open_stores(
        events=f"{nats_url}?prefix={prefix}",
        graph=f"{neo4j_url}?prefix={prefix}",
        details=f"{valkey_url}?prefix={prefix}",
    )
    yield stores
    stores.close()


class TestKernelOnServers(KernelSuite):
    """Every store on a server of its own."""
