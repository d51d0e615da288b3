"""NATS over TLS, with and without the handshake first, with client certificates and a user."""

import pytest

from ctx_core.errors import InvalidSettings, StoreUnavailable
from ctx_core.stores.address import Credentials
from ctx_core.stores.nats.connection import NatsConnection
from ctx_core.stores.nats.events import NatsEventStore
from ctx_core.testing.kernel import EventStoreSuite
from servers import processes

SECRET = "open-sesame-42"


@pytest.fixture(scope="module", params=["handshake after greeting", "handshake first"])
def server_and_options(request, trust):
    is_first = request.param == "handshake first"
    folder = processes.new_folder("nats-tls")
    (folder / "nats.conf").write_text(f"""
        authorization {{ user: ctx, password: "{SECRET}" }}
        tls {{
            cert_file: "{trust.server.certificate}", key_file: "{trust.server.key}"
            ca_file: "{trust.ours.certificate}", verify: true, handshake_first: {str(is_first).lower()}
        }}
    """)
    server = processes.nats_server("-c", str(folder / "nats.conf"), folder=folder)
    for running in processes.running(server):
        yield running, "&tls_first=true" if is_first else ""


def connect(server_and_options, query, *, password=SECRET):
    server, options = server_and_options
    url = f"tls://localhost:{server.port}?{query}{options}"
    return NatsConnection(url, credentials=Credentials(user="ctx", password=password))


class TestNatsOverTls(EventStoreSuite):
    @pytest.fixture
    def events(self, server_and_options, trust, prefix):
        store = NatsEventStore(connect(server_and_options, f"{trust.query()}&prefix={prefix}"))
        yield store
        store.close()


def refused(connection, says="refuses|not trusted|cannot be reached"):
    with pytest.raises(StoreUnavailable, match=says) as error:
        NatsEventStore(connection)
    assert SECRET not in f"{error.value!r} {error.value.__cause__!r} {connection!r} {connection.address!r}"
    connection.close()


def test_another_authority_is_not_trusted(server_and_options, trust):
    refused(connect(server_and_options, trust.query(authority=trust.strangers)), "not trusted")


def test_a_client_without_a_certificate_is_refused(server_and_options, trust):
    refused(connect(server_and_options, trust.query(with_client=False)))


def test_a_wrong_password_is_refused_and_not_told(server_and_options, trust):
    refused(connect(server_and_options, trust.query(), password=f"not-{SECRET}"), "refuses the credentials")


def test_a_secret_in_the_url_is_refused_and_not_told():
    with pytest.raises(InvalidSettings, match="as settings") as error:
        NatsConnection(f"nats://ctx:{SECRET}@localhost:4222")
    assert SECRET not in str(error.value)
