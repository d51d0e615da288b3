import pytest

from ctx_core.rehydrate.archive import Archive, Turn
from ctx_core.stores.memory.blobs import MemoryBlobs
from ctx_core.testing.embeddings import FakeEmbedder


class Counting(MemoryBlobs):
    """Notes each request, and how many blobs it brought."""

    def __init__(self):
        super().__init__()
        self.requests = []

    def list(self, prefix):
        found = super().list(prefix)
        self.requests.append(("list", len(found)))
        return found

    def get(self, key):
        self.requests.append(("get", 1))
        return super().get(key)


@pytest.mark.parametrize("others", [0, 100])
def test_a_search_asks_the_store_for_one_users_blobs_alone_and_for_each_once(others):
    blobs = Counting()
    writer = Archive(blobs, embedder=FakeEmbedder())
    for user in range(others + 1):
        writer.append(f"user-{user}", [Turn(role="user", content="the seal is blue")])
    writer.flush()
    reader = Archive(blobs, embedder=FakeEmbedder())
    blobs.requests.clear()
    assert reader.search("user-0", "seal")
    assert blobs.requests == [("list", 1), ("get", 1), ("get", 1)], "the turns, then their vectors"
    blobs.requests.clear()
    assert reader.search("user-0", "seal")
    assert blobs.requests == [("list", 1)]
