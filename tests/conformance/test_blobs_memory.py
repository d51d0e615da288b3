"""Archives in memory and in files: no server needed."""

import pytest

from ctx_core.errors import InvalidInput
from ctx_core.stores.files import FileBlobs
from ctx_core.stores.memory.blobs import MemoryBlobs
from ctx_core.testing.blobs import BlobStoreSuite
from ctx_core.testing.sessions import run_session


class TestMemoryBlobs(BlobStoreSuite):
    @pytest.fixture
    def store(self):
        return MemoryBlobs()

    def test_a_long_session_comes_back(self, store):
        run_session(store)


class TestFileBlobs(BlobStoreSuite):
    @pytest.fixture
    def store(self, tmp_path):
        return FileBlobs(tmp_path / "blobs")

    def test_a_long_session_comes_back(self, store):
        run_session(store)

    def test_nothing_is_written_outside_the_root(self, store, tmp_path):
        for key in ("../out.json", "a/../../out.json", "/etc/out.json", "a\\b.json"):
            with pytest.raises(InvalidInput):
                store.put(key, b"{}")
        assert [path.name for path in tmp_path.iterdir()] == []

    def test_a_half_written_file_is_no_blob(self, store):
        store.put("evictions/user-1/1-0.json", b"{}")
        (store.root / "evictions/user-1/.part-123").write_bytes(b'{"half')
        assert [ref.key for ref in store.list("evictions/user-1/")] == ["evictions/user-1/1-0.json"]
