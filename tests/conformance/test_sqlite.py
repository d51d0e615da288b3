"""The SQLite stores hold what every adapter must hold."""

import pytest

from ctx_core.stores.sqlite.kernel import open_sqlite_stores
from ctx_core.testing.kernel import (
    DetailStoreSuite,
    EventStoreSuite,
    GraphStoreSuite,
    ProgressStoreSuite,
    SnapshotStoreSuite,
)
from ctx_core.testing.kernel_scenarios import KernelSuite


@pytest.fixture
def stores(tmp_path):
    stores = open_sqlite_stores(f"sqlite:///{tmp_path}/context.db")
    yield stores
    stores.close()


class TestSqliteEventStore(EventStoreSuite):
    @pytest.fixture
    def events(self, stores):
        return stores.events


class TestSqliteGraphStore(GraphStoreSuite):
    @pytest.fixture
    def graph(self, stores):
        return stores.graph


class TestSqliteDetailStore(DetailStoreSuite):
    @pytest.fixture
    def details(self, stores):
        return stores.details


class TestSqliteProgressStore(ProgressStoreSuite):
    @pytest.fixture
    def progress(self, stores):
        return stores.progress


class TestSqliteSnapshotStore(SnapshotStoreSuite):
    @pytest.fixture
    def snapshots(self, stores):
        return stores.snapshots


class TestSqliteKernel(KernelSuite):
    """The whole kernel, in one file."""
