"""Details, progress and snapshots hold what every adapter must hold, against real Valkey and Redis servers."""

import pytest

from ctx_core.stores.redis.connection import RedisConnection
from ctx_core.stores.redis.kernel import RedisDetailStore, RedisProgressStore, RedisSnapshotStore
from ctx_core.testing.kernel import DetailStoreSuite, ProgressStoreSuite, SnapshotStoreSuite


def joined(url, prefix):
    return f"{url}{'&' if '?' in url else '?'}prefix={prefix}"


@pytest.fixture(params=["valkey_url", "valkey_cluster_url", "redis_url"])
def connection(request, prefix):
    connection = RedisConnection(joined(request.getfixturevalue(request.param), prefix))
    yield connection
    connection.close()


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
