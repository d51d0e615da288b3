"""Redis over TLS with client certificates and an ACL user."""

import pytest

from ctx_core.errors import InvalidSettings, StoreUnavailable
from ctx_core.stores.address import Credentials
from ctx_core.stores.redis.connection import RedisConnection
from ctx_core.stores.redis.kernel import RedisDetailStore, RedisSnapshotStore
from ctx_core.testing.kernel import DetailStoreSuite
from servers import processes

SECRET = "open-sesame-41"


@pytest.fixture(scope="module")
def port(trust):
    options = {
        "--tls-ca-cert-file": trust.ours.certificate,
        "--tls-cert-file": trust.server.certificate,
        "--tls-key-file": trust.server.key,
        "--tls-auth-clients": "yes",
    }
    flat = [str(part) for pair in options.items() for part in pair]
    users = ["--user", "default", "off", "--user", "ctx", "on", f">{SECRET}", "~ctx:*", "+@all"]
    for server in processes.running(processes.redis_server(*flat, *users, tls=True)):
        yield server.port


def connect(port, query, *, password=SECRET, scheme="rediss"):
    return RedisConnection(
        f"{scheme}://localhost:{port}?{query}", credentials=Credentials(user="ctx", password=password)
    )


class TestRedisOverTls(DetailStoreSuite):
    @pytest.fixture
    def details(self, port, trust):
        connection = connect(port, trust.query(), scheme="valkeys")
        for key in connection.client.scan_iter(match="ctx:*"):
            connection.client.delete(key)
        yield RedisDetailStore(connection)
        connection.close()


def refused(connection, says):
    with pytest.raises(StoreUnavailable, match=says) as error:
        RedisSnapshotStore(connection).load("s")
    assert SECRET not in f"{error.value!r} {error.value.__cause__!r} {connection!r} {connection.address!r}"
    connection.close()


def test_another_authority_is_not_trusted(port, trust):
    refused(connect(port, trust.query(authority=trust.strangers)), "certificate verify failed")


def test_a_client_without_a_certificate_is_refused(port, trust):
    refused(connect(port, trust.query(with_client=False)), "cannot be reached")


def test_a_client_that_does_not_encrypt_is_refused(port):
    refused(connect(port, "", scheme="redis"), "cannot be reached")


def test_a_wrong_password_is_refused_and_not_told(port, trust):
    refused(connect(port, trust.query(), password=f"not-{SECRET}"), "refuses")


def test_an_acl_user_is_kept_to_its_keys(port, trust):
    connection = connect(port, f"{trust.query()}&prefix=other")
    refused(connection, "refuses")


def test_a_secret_in_the_url_is_refused_and_not_told():
    with pytest.raises(InvalidSettings, match="as settings") as error:
        RedisConnection(f"rediss://ctx:{SECRET}@localhost:6379")
    assert SECRET not in str(error.value)


def test_a_missing_certificate_file_is_named(trust):
    with pytest.raises(InvalidSettings, match="TLS files"):
        RedisConnection("rediss://localhost:6379?tls_ca_path=/nowhere/ca.crt")
