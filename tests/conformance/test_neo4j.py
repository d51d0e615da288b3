"""The Neo4j graph holds what every adapter must hold, against a real Neo4j Community server."""

import pytest

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
