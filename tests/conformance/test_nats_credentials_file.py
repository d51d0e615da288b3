"""NATS with a credentials file: a user whom an account let in, an account whom an operator let in."""

import base64
import json
import os
import time

import pytest

from ctx_core.errors import StoreUnavailable
from ctx_core.stores.address import Credentials
from ctx_core.stores.nats.connection import NatsConnection
from ctx_core.stores.nats.events import NatsEventStore
from ctx_core.testing.kernel import an_event
from servers import processes

nkeys = pytest.importorskip("nkeys", reason="nkeys is not installed; `pip install nkeys` brings it")

ALL = -1
OPEN = dict.fromkeys(("subs", "data", "payload", "imports", "exports", "conn", "leaf"), ALL)
STREAMS = dict.fromkeys(("mem_storage", "disk_storage", "streams", "consumer"), ALL)


def key(kind):
    return nkeys.from_seed(nkeys.encode_seed(os.urandom(32), kind))


def token(signer, subject, name, claims):
    def part(values):
        return base64.urlsafe_b64encode(values if isinstance(values, bytes) else json.dumps(values).encode()).rstrip(
            b"="
        )

    header = part({"typ": "JWT", "alg": "ed25519-nkey"})
    issuer = signer.public_key.decode()
    body = part({"jti": name, "iat": int(time.time()), "iss": issuer, "sub": subject, "name": name, "nats": claims})
    return b".".join([header, body, part(signer.sign(header + b"." + body))]).decode()


def credentials_file(path, account, user):
    jwt = token(
        account,
        user.public_key.decode(),
        "user",
        {"type": "user", "version": 2, "subs": ALL, "data": ALL, "payload": ALL},
    )
    path.write_text(
        f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{user.seed.decode()}\n------END USER NKEY SEED------\n"
    )
    return path


@pytest.fixture(scope="module")
def server_and_account():
    operator, account = key(nkeys.PREFIX_BYTE_OPERATOR), key(nkeys.PREFIX_BYTE_ACCOUNT)
    system = key(nkeys.PREFIX_BYTE_ACCOUNT)
    operators = {"type": "operator", "version": 2, "system_account": system.public_key.decode()}
    trusted = token(operator, operator.public_key.decode(), "operator", operators)
    # The system account may hold no stream.
    accounts = {
        item.public_key.decode(): token(
            operator,
            item.public_key.decode(),
            "account",
            {"type": "account", "version": 2, "limits": {**OPEN, **streams, "wildcards": True}},
        )
        for item, streams in ((account, STREAMS), (system, {}))
    }
    folder = processes.new_folder("nats-operator")
    preloaded = "\n".join(f"{subject}: {jwt}" for subject, jwt in accounts.items())
    (folder / "nats.conf").write_text(
        f"operator: {trusted}\nsystem_account: {system.public_key.decode()}\n"
        f"resolver: MEMORY\nresolver_preload: {{\n{preloaded}\n}}\n"
    )
    for server in processes.running(processes.nats_server("-c", str(folder / "nats.conf"), folder=folder)):
        yield server, account


def connect(server, path):
    return NatsConnection(f"nats://localhost:{server.port}", credentials=Credentials(file=str(path)))


def test_a_user_of_the_account_is_let_in(server_and_account, tmp_path):
    server, account = server_and_account
    user = key(nkeys.PREFIX_BYTE_USER)
    events = NatsEventStore(connect(server, credentials_file(tmp_path / "ctx.creds", account, user)))
    events.append(an_event())
    assert events.last_position() == 1
    events.close()


def test_a_user_of_another_account_is_refused(server_and_account, tmp_path):
    server, _ = server_and_account
    stranger, user = key(nkeys.PREFIX_BYTE_ACCOUNT), key(nkeys.PREFIX_BYTE_USER)
    connection = connect(server, credentials_file(tmp_path / "ctx.creds", stranger, user))
    with pytest.raises(StoreUnavailable, match="refuses the credentials") as error:
        NatsEventStore(connection)
    assert user.seed.decode() not in repr(error.value)
    connection.close()
