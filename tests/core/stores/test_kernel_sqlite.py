"""One SQLite file: what other processes, other versions, and a kill leave of it."""

import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_core import ContextKernel, Node, NodeDetail
from ctx_core.errors import InvalidSettings, StoreCorrupt, StoreUnavailable
from ctx_core.kernel.commands import Change, EntityKind
from ctx_core.kernel.last_writer_wins import Effect, Write
from ctx_core.kernel.ports import Direction
from ctx_core.kernel.projection import Projection
from ctx_core.stores.memory.kernel import open_memory_stores
from ctx_core.stores.sqlite import database
from ctx_core.stores.sqlite.graph import SqliteGraphStore
from ctx_core.stores.sqlite.rows import register_of
from ctx_core.testing.kernel_scenarios import ROOT, a_story

WRITER = """
import sys
from ctx_core import ContextKernel, Node
kernel = ContextKernel.open(sys.argv[1])
for number in range(int(sys.argv[3])):
    accepted = kernel.update_context(
        root_node_id="root", changes=[Node(node_id=f"{sys.argv[2]}-{number}"), Node(node_id="root", title=str(number))]
    )
    print(accepted.revision, flush=True)
"""


def a_writer(url, name, count) -> Any:
    return subprocess.Popen([sys.executable, "-c", WRITER, url, name, str(count)], stdout=subprocess.PIPE, text=True)


def test_processes_share_one_file_and_lose_no_update(tmp_path):
    url = f"sqlite:///{tmp_path}/context.db"
    writers = [a_writer(url, f"writer {number}", 15) for number in range(3)]
    told = [int(line) for writer in writers for line in writer.communicate(timeout=60)[0].split()]
    assert sorted(told) == list(range(1, 46))
    with ContextKernel.open(url) as kernel:
        assert [item.event.data.revision for item in kernel.stores.events.read()] == list(range(1, 46))
        assert len(list(kernel.stores.graph.scan())) == 46


def test_readers_go_on_while_one_writes(tmp_path):
    with ContextKernel.open(f"sqlite:///{tmp_path}/context.db") as kernel:
        kernel.update_context(root_node_id="root", changes=[Node(node_id="root", title="before")])
        other = sqlite3.connect(tmp_path / "context.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        other.execute("DELETE FROM nodes")
        assert kernel.get_context("root").bundle.root.title == "before"
        other.execute("ROLLBACK")
        other.close()


def test_a_file_held_by_another_writer_is_a_clear_error(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.05)
    with ContextKernel.open(f"sqlite:///{tmp_path}/context.db") as kernel:
        other = sqlite3.connect(tmp_path / "context.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="another process writes to"):
            kernel.update_context(root_node_id="root", changes=[Node(node_id="root")])
        other.close()
        assert kernel.update_context(root_node_id="root", changes=[Node(node_id="root")]).revision == 1


def test_files_of_other_things_and_other_formats_are_left_alone(tmp_path):
    path = tmp_path / "context.db"
    path.write_bytes(b"this is no database, and long enough to be looked at closely" * 40)
    with pytest.raises(StoreCorrupt):
        ContextKernel.open(f"sqlite:///{path}")
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()
    with pytest.raises(StoreCorrupt, match="something else"):
        ContextKernel.open(f"sqlite:///{path}")
    path.unlink()
    ContextKernel.open(f"sqlite:///{path}").close()
    with sqlite3.connect(path) as newer:
        newer.execute("PRAGMA user_version=99")
    newer.close()
    with pytest.raises(StoreCorrupt, match="format 99"):
        ContextKernel.open(f"sqlite:///{path}")


FORMAT_1 = """
DROP INDEX relations_out; DROP INDEX relations_in;
CREATE TABLE n (node_id TEXT PRIMARY KEY, live INTEGER NOT NULL, state TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE r (
    relation_id TEXT PRIMARY KEY, live INTEGER NOT NULL, source TEXT, target TEXT, rank INTEGER NOT NULL,
    sequence INTEGER NOT NULL, state TEXT NOT NULL
);
CREATE TABLE d (node_id TEXT PRIMARY KEY, live INTEGER NOT NULL, state TEXT NOT NULL);
"""


def test_a_file_of_the_first_format_is_brought_up_to_date(tmp_path):
    path = tmp_path / "context.db"
    with ContextKernel.open(f"sqlite:///{path}") as kernel:
        kernel.update_context(root_node_id=ROOT, changes=[*a_story(), Node(node_id="gone")])
        kernel.update_context(
            root_node_id=ROOT,
            changes=[
                Change(operation="DELETE", entity_kind="node", entity_id="gone"),
                Change(operation="UPDATE", entity_kind="node", entity_id="fix", payload={"valid_from": "2026-01-01"}),
            ],
        )
        before = kernel.projection.content_hash()
    with sqlite3.connect(path) as old:
        kept = {
            table: [
                (row[0], register_of(*row[1:]))
                for row in old.execute(f"SELECT {key}, said, state FROM {table}").fetchall()
            ]
            for table, key in (("nodes", "node_id"), ("relations", "relation_id"), ("details", "node_id"))
        }
        old.executescript(FORMAT_1)
        for table in ("nodes", "relations", "details"):
            old.execute(f"DROP TABLE {table}")
            old.execute(f"ALTER TABLE {table[0]} RENAME TO {table}")
        old.execute("CREATE INDEX relations_out ON relations (source, rank, sequence, relation_id, target) WHERE live")
        old.execute("CREATE INDEX relations_in ON relations (target, rank, sequence, relation_id, source) WHERE live")
        for table in ("nodes", "details"):
            rows = [(key, state.is_live, state.to_json()) for key, state in kept[table]]
            old.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", rows)
        relations = [(key, state.is_live, None, None, 0, 0, state.to_json()) for key, state in kept["relations"]]
        old.executemany("INSERT INTO relations VALUES (?, ?, ?, ?, ?, ?, ?)", relations)
        old.execute("DROP TABLE read_model")
        old.execute("PRAGMA user_version=1")
    old.close()
    with ContextKernel.open(f"sqlite:///{path}") as kernel:
        assert kernel.projection.content_hash() == before
        assert kernel.get_context(ROOT).bundle.nodes_by_id.keys() == {ROOT, "cause", "fix"}
        assert "fix" not in kernel.get_context(ROOT, as_of="2025-12-31").bundle.nodes_by_id
        late = [Node(node_id="gone", title="back")]
        assert kernel.update_context(root_node_id=ROOT, changes=late).revision == 3


def test_a_file_of_the_second_format_is_brought_up_to_date(tmp_path):
    path = tmp_path / "context.db"
    with ContextKernel.open(f"sqlite:///{path}") as kernel:
        kernel.update_context(root_node_id="a", changes=[Node(node_id="a", title="kept")])
    with sqlite3.connect(path) as old:
        old.execute("DROP TABLE read_model")
        old.execute("PRAGMA user_version=2")
    old.close()
    with ContextKernel.open(f"sqlite:///{path}") as kernel:
        assert kernel.get_context("a").bundle.root.title == "kept"
        kernel.update_context(root_node_id="a", changes=[Node(node_id="a", title="new")])
        assert kernel.get_context("a").bundle.root.title == "new"


def test_a_read_sees_what_another_process_has_written_since(tmp_path):
    url = f"sqlite:///{tmp_path}/context.db"
    with ContextKernel.open(url) as ours, ContextKernel.open(url) as theirs:
        for title in ("first", "second", "third"):
            theirs.update_context(
                root_node_id="a", changes=[Node(node_id="a", title=title), NodeDetail(node_id="a", detail=title)]
            )
            for _ in range(2):
                bundle = ours.get_context("a").bundle
                assert (bundle.root.title, bundle.details[0].detail) == (title, title)


def test_nothing_of_an_erased_node_is_left_in_the_files(tmp_path):
    with ContextKernel.open(f"sqlite:///{tmp_path}/context.db") as kernel:
        kernel.update_context(root_node_id="u", changes=[Node(node_id="u", title="Ana, passport X123")])
        kernel.update_context(
            root_node_id="u", changes=[Node(node_id="u", title="Ana, passport X456"), Node(node_id="v")]
        )
        kernel.erase_nodes(["u"], root_node_id="u")
        kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert b"passport" not in kept
        assert kernel.stores.graph.nodes(["u", "v"]).keys() == {"v"}


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite://host/context.db"])
def test_a_url_that_names_no_file_is_refused(url):
    with pytest.raises(InvalidSettings, match="names no file"):
        ContextKernel.open(url)


def test_a_folder_that_does_not_exist_is_a_clear_error(tmp_path):
    with pytest.raises(StoreUnavailable, match="nowhere"):
        ContextKernel.open(f"sqlite:///{tmp_path}/nowhere/context.db")


def test_a_closed_kernel_says_so(tmp_path):
    kernel = ContextKernel.open(f"sqlite:///{tmp_path}/context.db")
    kernel.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        kernel.get_context("root")


@pytest.mark.parametrize("after_seconds", [0.05, 0.15, 0.3])
def test_a_kill_while_writing_leaves_log_and_read_model_equal(tmp_path, after_seconds):
    url = f"sqlite:///{tmp_path}/context.db"
    writer = a_writer(url, "writer", 100_000)
    seen = [writer.stdout.readline()]
    time.sleep(after_seconds)
    os.kill(writer.pid, signal.SIGKILL)
    seen += writer.stdout.readlines()
    writer.wait()
    writer.stdout.close()
    with ContextKernel.open(url) as kernel, ContextKernel.open() as fresh:
        rebuilt = Projection(graph=fresh.stores.graph, details=fresh.stores.details, progress=fresh.stores.progress)
        rebuilt.catch_up(kernel.stores.events)
        assert rebuilt.content_hash() == kernel.projection.content_hash()
        told = max(int(line) for line in seen if line.endswith("\n"))
        assert kernel.stores.events.last_position() >= told


IDS = st.sampled_from("abcde")
STAMPS = st.integers(0, 60).map("{:02d}".format)
NODE_FIELDS = st.fixed_dictionaries({}, optional={"title": st.sampled_from("xyz"), "status": st.sampled_from("uv")})
RELATION_FIELDS = st.fixed_dictionaries(
    {"source_node_id": IDS, "target_node_id": IDS, "relation_type": st.just("TO")},
    optional={"sequence": st.integers(0, 3), "semantic_class": st.sampled_from(["causal", "structural"])},
)


def writes_of(kind, ids, fields):
    return st.builds(
        Write, kind=st.just(kind), entity_id=ids, stamp=STAMPS, effect=st.sampled_from(Effect), fields=fields
    )


WRITES = st.lists(
    writes_of(EntityKind.NODE, IDS, NODE_FIELDS)
    | writes_of(EntityKind.RELATION, st.sampled_from("rstu"), RELATION_FIELDS),
    max_size=30,
    unique_by=lambda write: write.stamp,
)


@given(st.lists(WRITES, max_size=4), st.integers(1, 4))
def test_a_file_holds_the_same_graph_as_dictionaries_do(batches, limit):
    # A file without a name is private to its connection and gone with it.
    with closing(database.SqliteDatabase("")) as unnamed:
        stores = [SqliteGraphStore(unnamed), open_memory_stores().graph]
        for store, batch in itertools.product(stores, batches):
            store.write(batch)
        one, two = (sorted(store.scan(), key=repr) for store in stores)
        assert one == two
        for direction in Direction:
            one, two = (store.relations("abcde", direction=direction, limit=limit) for store in stores)
            assert one.crowded == two.crowded
            assert {item.relation_id for item in one.relations} == {item.relation_id for item in two.relations}
