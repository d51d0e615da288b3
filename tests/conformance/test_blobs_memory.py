"""Archives in memory and in files: no server needed."""

import pytest

from ctx_core.errors import InvalidInput, StoreUnavailable
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

    def test_a_root_that_is_a_file_is_no_store(self, tmp_path):
        root = tmp_path / "blobs"
        root.write_text("a file of something else")
        store = FileBlobs(root)
        for call in (lambda: store.put("a/1.json", b""), lambda: store.get("a/1.json"), lambda: store.list("a/")):
            with pytest.raises(StoreUnavailable, match="is a file; blobs need a folder"):
                call()
        assert root.read_text() == "a file of something else"

    def test_a_write_that_fails_leaves_no_file_behind(self, store, monkeypatch):
        def full(_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.fsync", full)
        with pytest.raises(StoreUnavailable, match="No space left"):
            store.put("evictions/user-1/1-0.json", b"{}")
        assert [path for path in store.root.rglob("*") if path.is_file()] == []
