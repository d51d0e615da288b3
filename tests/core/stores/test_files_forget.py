"""What is deleted is gone from every byte of the folder."""

import pytest

from ctx_core.rehydrate.archive import Archive, Turn
from ctx_core.stores.files import FileBlobs
from ctx_core.testing.embeddings import FakeEmbedder


def bytes_under(folder):
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("session_id", [None, "s1"])
def test_what_a_killed_writer_left_goes_with_its_user_or_session(tmp_path, session_id):
    archive = Archive(FileBlobs(tmp_path), embedder=None)
    archive.append("user-1", [Turn(role="user", content="tea")], session_id="s2")
    (tmp_path / "evictions/user-1/.part-dead").write_bytes(b"passport X99")
    archive.delete("user-1", session_id=session_id)
    assert b"X99" not in bytes_under(tmp_path)


def test_a_deleted_session_leaves_no_vectors(tmp_path):
    archive = Archive(FileBlobs(tmp_path), embedder=FakeEmbedder())
    archive.append("user-1", [Turn(role="user", content="passport X99")], session_id="s1")
    archive.append("user-1", [Turn(role="user", content="tea")], session_id="s2")
    archive.flush()
    archive.delete("user-1", session_id="s1")
    assert b"X99" not in bytes_under(tmp_path)
    assert len(list((tmp_path / "evictions-vectors").rglob("*.json"))) == 1
    assert [turn.text for turn in archive.export("user-1")] == ["tea"]
