"""Servers that tests may kill; nobody else uses them."""

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from servers import neo4j_assemble, processes


def pytest_collection_modifyitems(items):
    for item in items:
        if "crash" in Path(item.fspath).parts:
            item.add_marker(pytest.mark.integration)


@pytest.fixture(scope="module")
def servers():
    started = {
        "nats": processes.nats_server(),
        "valkey": processes.valkey_server("--appendonly", "yes", "--appendfsync", "always"),
        "neo4j": neo4j_assemble.neo4j_server(),
    }
    try:
        for server in started.values():
            server.start()
        yield started
    finally:
        for server in started.values():
            server.kill()
            shutil.rmtree(server.folder, ignore_errors=True)
