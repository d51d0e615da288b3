"""The caller's own stores hold originals and archives."""

import pickle

import pytest
from langchain_classic.storage import LocalFileStore
from langchain_core.stores import InMemoryByteStore
from langgraph.store.memory import InMemoryStore

from ctx_core import Archive, ContextOptimizer, Turn
from ctx_core.errors import ContentExpired, ContentNotFound
from ctx_core.testing.blobs import BlobStoreSuite
from ctx_core.testing.ccr import CcrStoreConformance
from ctx_core.testing.sessions import run_session
from langchain_ctx import ByteStoreCcrStore, LangGraphStoreBlobs, LangGraphStoreCcrStore


class TestByteStoreInMemory(CcrStoreConformance):
    @pytest.fixture
    def store(self):
        return ByteStoreCcrStore(InMemoryByteStore())


class TestByteStoreOnDisk(CcrStoreConformance):
    @pytest.fixture
    def store(self, tmp_path):
        return ByteStoreCcrStore(LocalFileStore(tmp_path))


class TestOriginalsInALangGraphStore(CcrStoreConformance):
    @pytest.fixture
    def store(self):
        return LangGraphStoreCcrStore(InMemoryStore())


def test_an_original_that_left_the_langgraph_store_has_expired():
    held = InMemoryStore()
    store = LangGraphStoreCcrStore(held)
    ref = store.put("a log")
    held.delete(held.search(("ctx", "originals"))[0].namespace, ref)
    with pytest.raises(ContentExpired):
        store.get(ref[:12])


def test_the_optimizer_keeps_its_originals_in_a_byte_store(log):
    optimizer = ContextOptimizer(ByteStoreCcrStore(InMemoryByteStore()))
    assert optimizer.retrieve(optimizer.optimize(log).ccr_hash) == log


def test_an_original_that_left_the_byte_store_has_expired(log):
    bytes_ = InMemoryByteStore()
    store = ByteStoreCcrStore(bytes_)
    ref = store.put(log)
    bytes_.mdelete([ref])
    with pytest.raises(ContentExpired):
        store.get(ref[:12])


def test_two_originals_of_one_short_hash_are_not_mixed_up():
    bytes_ = InMemoryByteStore()
    store = ByteStoreCcrStore(bytes_)
    ref = store.put("one")
    bytes_.mset([(ref[:12], b"f" * 64)])
    store.put("one")
    with pytest.raises(ContentNotFound):
        store.get(ref[:12])
    assert store.get(ref) == "one"


class TestBlobsInALangGraphStore(BlobStoreSuite):
    @pytest.fixture
    def store(self):
        return LangGraphStoreBlobs(InMemoryStore())

    def test_a_store_can_be_pickled(self, store):
        pytest.skip("LangGraph's InMemoryStore itself cannot")


def test_a_long_session_lives_in_a_langgraph_store():
    run_session(LangGraphStoreBlobs(InMemoryStore()))


@pytest.fixture
def blobs():
    return LangGraphStoreBlobs(InMemoryStore())


def test_blobs_are_written_once_and_listed_by_folder(blobs):
    assert blobs.put("evictions/user-1/1-0.json", b"{}")
    assert not blobs.put("evictions/user-1/1-0.json", b"[]")
    assert blobs.put("evictions/user-2/1-0.json", b"{}")
    assert blobs.get("evictions/user-1/1-0.json") == b"{}"
    assert [ref.key for ref in blobs.list("evictions/user-1/")] == ["evictions/user-1/1-0.json"]
    blobs.delete(["evictions/user-1/1-0.json", "evictions/nobody/1-0.json"])
    assert blobs.list("evictions/user-1/") == []
    with pytest.raises(ContentNotFound):
        blobs.get("evictions/user-1/1-0.json")


@pytest.mark.parametrize(
    "user", ["user@example.com", "a.b", "a%2Eb", "..", "langgraph", "mit Leerzeichen/und\0NUL", "名前"]
)
def test_any_user_id_is_a_legal_namespace_and_stays_apart(blobs, user):
    archive = Archive(blobs, embedder=None)
    archive.append(user, [Turn(id="1", role="user", content=f"the secret of {user!r}")])
    archive.append("other.user", [Turn(id="2", role="user", content="the secret of another")])
    again = Archive(blobs, embedder=None)
    assert [turn.id for turn in again.export(user)] == ["1"]
    assert [hit.turn.id for hit in again.search(user, "secret")] == ["1"]


def test_values_in_the_store_are_plain_json(blobs):
    import json

    archive = Archive(blobs, embedder=None)
    archive.append("user-1", [Turn(id="1", role="user", content=[{"type": "text", "text": "hi \ud800"}])])
    store = blobs._store
    items = [item for namespace in store.list_namespaces() for item in store.search(namespace)]
    assert items
    for item in items:
        assert json.loads(json.dumps(item.value)) == item.value


def test_more_blobs_than_one_page_are_listed(blobs):
    for number in range(450):
        blobs.put(f"evictions/user-1/{number}-0.json", b"{}")
    assert len(blobs.list("evictions/user-1/")) == 450


def test_stores_pickle():
    store = pickle.loads(pickle.dumps(LangGraphStoreBlobs(InMemoryByteStore())))  # any picklable store will do
    assert store._namespace == ("ctx",)


def test_blobs_that_are_no_text_are_kept_too(blobs):
    data = bytes(range(256))
    assert blobs.put("vectors/user-1/1-0.bin", data)
    assert blobs.get("vectors/user-1/1-0.bin") == data
