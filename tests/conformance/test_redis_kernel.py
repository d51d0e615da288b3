"""Details, progress and snapshots hold what every adapter must hold, against real Valkey and Redis servers."""

import pytest

from ctx_core.kernel.ports import KernelStores
from ctx_core.stores.memory.kernel import open_memory_stores
from ctx_core.stores.redis.connection import RedisConnection
from ctx_core.stores.redis.events import RedisEventStore
from ctx_core.stores.redis.kernel import RedisDetailStore, RedisProgressStore, RedisSnapshotStore
from ctx_core.testing.kernel import DetailStoreSuite, EventStoreSuite, ProgressStoreSuite, SnapshotStoreSuite
from ctx_core.testing.kernel_scenarios import KernelSuite


def joined(url, prefix):
    return f"{url}{'&' if '?' in url else '?'}prefix={prefix}"


@pytest.fixture(params=["valkey_url", "valkey_cluster_url", "redis_url"])
def connection(request, prefix):
    connection = RedisConnection(joined(request.getfixturevalue(request.param), prefix))
    yield connection
    connection.close()


class TestRedisEventStore(EventStoreSuite):
    @pytest.fixture
    def events(self, connection):
        return RedisEventStore(connection)


class TestKernelOnRedis(KernelSuite):
    """Log, details, progress and snapshots on one server; the graph in memory."""

    @pytest.fixture
    def stores(self, connection):
        return KernelStores(
            events=RedisEventStore(connection),
            graph=open_memory_stores().graph,
            details=RedisDetailStore(connection),
            progress=RedisProgressStore(connection),
            snapshots=RedisSnapshotStore(connection),
        )


class TestRedisDetailStore(DetailStoreSuite):
    @pytest.fixture
    def details(self, connection):
        return RedisDetailStore(connection)


class TestRedisProgressStore(ProgressStoreSuite):
    @pytest.fixture
    def progress(self, connection):
        return RedisProgressStore(connection)


class TestRedisSnapshotStore(SnapshotStoreSuite):
    @pytest.fixture
    def snapshots(self, connection):
        return RedisSnapshotStore(connection)


def test_only_snapshots_are_given_a_time_to_live(connection):
    from ctx_core.kernel.ports import RecordedEvent
    from ctx_core.testing.kernel import an_event

    RedisProgressStore(connection).record("c", [RecordedEvent(position=1, event=an_event())])
    RedisSnapshotStore(connection).save("s", "text", ttl_seconds=60)
    client = connection.client
    keys = list(client.scan_iter(match=f"{connection.prefix}*"))
    assert {key for key in keys if client.pttl(key) != -1} == {f"{connection.prefix}:snapshot:s"}
