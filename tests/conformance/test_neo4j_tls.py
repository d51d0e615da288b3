"""Neo4j over TLS with client certificates and a user."""

import shutil

import pytest

from ctx_core.errors import InvalidSettings, StoreUnavailable
from ctx_core.stores.address import Credentials
from ctx_core.stores.neo4j.connection import Neo4jConnection
from ctx_core.stores.neo4j.graph import Neo4jGraphStore
from ctx_core.testing.kernel import a_write
from servers import neo4j_assemble, processes

SECRET = "open-sesame-43"
_SETTINGS = """server.bolt.tls_level=REQUIRED
dbms.ssl.policy.bolt.enabled=true
dbms.ssl.policy.bolt.base_directory={folder}
dbms.ssl.policy.bolt.client_auth=REQUIRE
"""


@pytest.fixture(scope="module")
def port(trust, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bolt")
    (folder / "trusted").mkdir()
    (folder / "revoked").mkdir()
    shutil.copy(trust.server.certificate, folder / "public.crt")
    shutil.copy(trust.server.key, folder / "private.key")
    shutil.copy(trust.ours.certificate, folder / "trusted" / "ca.crt")
    server = neo4j_assemble.neo4j_server(settings=_SETTINGS.format(folder=folder))
    for running in processes.running(server):
        connection = connect(running.port, trust.query(), password="neo4j", database="system")
        connection._driver.execute_query(
            "ALTER CURRENT USER SET PASSWORD FROM 'neo4j' TO $new", new=SECRET, database_="system"
        )
        connection.close()
        yield running.port


def connect(port, query, *, password=SECRET, scheme="bolt+s", database=""):
    url = f"{scheme}://localhost:{port}/{database}?{query}"
    return Neo4jConnection(url, credentials=Credentials(user="neo4j", password=password))


@pytest.mark.parametrize("scheme", ["bolt+s", "neo4j+s"])
def test_our_authority_and_our_certificate_are_let_in(port, trust, scheme):
    graph = Neo4jGraphStore(connect(port, trust.query(), scheme=scheme))
    graph.write([a_write("n", "1", title=scheme)])
    assert set(graph.nodes(["n"])) == {"n"}
    graph.close()


def refused(connection, says="refuses|cannot be reached"):
    with pytest.raises(StoreUnavailable, match=says) as error:
        Neo4jGraphStore(connection)
    assert SECRET not in f"{error.value!r} {error.value.__cause__!r} {connection!r} {connection.address!r}"
    connection.close()


def test_another_authority_is_not_trusted(port, trust):
    refused(connect(port, trust.query(authority=trust.strangers)))


def test_a_client_without_a_certificate_is_refused(port, trust):
    refused(connect(port, trust.query(with_client=False)))


def test_a_client_that_does_not_encrypt_is_refused(port):
    refused(connect(port, "", scheme="bolt"))


def test_a_wrong_password_is_refused_and_not_told(port, trust):
    refused(connect(port, trust.query(), password=f"not-{SECRET}"), "refuses the credentials")


def test_a_secret_in_the_url_is_refused_and_not_told():
    with pytest.raises(InvalidSettings, match="as settings") as error:
        Neo4jConnection(f"neo4j+s://neo4j:{SECRET}@localhost:7687")
    assert SECRET not in str(error.value)
