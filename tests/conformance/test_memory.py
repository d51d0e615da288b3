"""The in-memory stores hold what every adapter must hold."""

import pytest

from ctx_core.stores.memory.kernel import open_memory_stores
from ctx_core.testing.kernel import (
    DetailStoreSuite,
    EventStoreSuite,
    GraphStoreSuite,
    ProgressStoreSuite,
    SnapshotStoreSuite,
)
from ctx_core.testing.kernel_scenarios import KernelSuite


class TestMemoryEventStore(EventStoreSuite):
    @pytest.fixture
    def events(self):
        return open_memory_stores().events


class TestMemoryGraphStore(GraphStoreSuite):
    @pytest.fixture
    def graph(self):
        return open_memory_stores().graph


class TestMemoryDetailStore(DetailStoreSuite):
    @pytest.fixture
    def details(self):
        return open_memory_stores().details


class TestMemoryProgressStore(ProgressStoreSuite):
    @pytest.fixture
    def progress(self):
        return open_memory_stores().progress


class TestMemorySnapshotStore(SnapshotStoreSuite):
    @pytest.fixture
    def snapshots(self):
        return open_memory_stores().snapshots


class TestMemoryKernel(KernelSuite):
    @pytest.fixture
    def stores(self):
        return open_memory_stores()
