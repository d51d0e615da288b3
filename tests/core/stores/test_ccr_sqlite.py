"""Originals in an SQLite file."""

import pickle
import subprocess
import sys

import pytest

from ctx_core.optimize.ccr import content_hash
from ctx_core.stores.sqlite.ccr import SqliteCcrStore
from ctx_core.testing.ccr import CcrStoreConformance


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class TestSqliteCcrStore(CcrStoreConformance):
    @pytest.fixture
    def store(self, tmp_path):
        with SqliteCcrStore(str(tmp_path / "ccr.db")) as store:
            yield store

    @pytest.fixture
    def expiring(self, tmp_path):
        clock = Clock()

        def let_time_pass():
            clock.now += 61

        with SqliteCcrStore(str(tmp_path / "ccr.db"), ttl_seconds=60, clock=clock) as store:
            yield store, let_time_pass


def test_originals_survive_a_restart(tmp_path):
    with SqliteCcrStore(str(tmp_path / "ccr.db")) as store:
        ref = store.put("kept over night")
    with SqliteCcrStore(f"sqlite:///{tmp_path}/ccr.db") as store:
        assert store.get(ref[:12]) == "kept over night"


def test_an_expired_original_leaves_the_file_with_the_next_write(tmp_path):
    clock = Clock()
    path = tmp_path / "ccr.db"
    with SqliteCcrStore(str(path), ttl_seconds=60, clock=clock) as store:
        store.put("a secret that has to go")
        clock.now = 61
        store.put("something else")
        with store._database.reading() as connection:
            kept = connection.execute("SELECT content FROM original WHERE content IS NOT NULL").fetchall()
    assert kept == [(b"something else",)]


def test_a_store_pickles_as_its_file(tmp_path):
    with SqliteCcrStore(str(tmp_path / "ccr.db")) as store:
        ref = store.put("kept")
        with pickle.loads(pickle.dumps(store)) as copy:
            assert copy.get(ref) == "kept"


_WRITER = """
import sys
from ctx_core.stores.sqlite.ccr import SqliteCcrStore
with SqliteCcrStore(sys.argv[1]) as store:
    for n in range(50):
        store.put(f"process {sys.argv[2]}, text {n}")
"""


def test_processes_share_one_file(tmp_path):
    path = str(tmp_path / "ccr.db")
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, path, str(n)]) for n in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    with SqliteCcrStore(path) as store:
        for n in range(50):
            text = f"process 2, text {n}"
            assert store.get(content_hash(text)) == text
