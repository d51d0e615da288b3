"""A whole kernel on JetStream, Neo4j and Valkey keeps the same promises as one in a file."""

import pytest

from ctx_core import CtxSettings, Node
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


def test_settings_put_the_servers_together_and_never_show_a_secret(nats_url, neo4j_url, valkey_url, prefix, tmp_path):
    environ = {
        "CTX_CONTEXT_URL": f"sqlite:///{tmp_path}/context.db",
        "CTX_EVENTS_URL": f"{nats_url}?prefix={prefix}",
        "CTX_GRAPH_URL": f"{neo4j_url}?prefix={prefix}",
        "CTX_NEO4J__USER": "neo4j",
        "CTX_NEO4J__PASSWORD": "open-sesame-44",
    }
    for details in ({}, {"CTX_DETAILS_URL": f"{valkey_url}?prefix={prefix}"}):
        with CtxSettings.load(environ={**environ, **details}).kernel() as kernel:
            kernel.update_context(root_node_id="root", changes=[Node(node_id="root", title="T")])
            assert kernel.get_context("root").bundle.root.title == "T"
            assert "open-sesame" not in repr(kernel) + repr(kernel.stores)
