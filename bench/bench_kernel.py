"""What the kernel costs, in one file and on servers; `--servers` starts real ones and takes some minutes.

Rates are of this machine and moment; the ratios travel.
"""

import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

from ctx_core import ContextKernel, Node, NodeDetail, Relation
from ctx_core.kernel.projection import Projection
from ctx_core.kernel.worker import ProjectionWorker

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

BRANCHES = 3
CLASSES = ("causal", "motivational", "evidential", "structural")

# The reference kernel reads a neighborhood so: every path is walked, and every neighbor brings all relations along.
# This is kind to it: relations are looked up from the nodes that were found, and only ids come back.
REFERENCE_QUERY = """
MATCH (root:CtxNode {space: $space, node_id: '0'})
OPTIONAL MATCH (root)-[:RELATED_TO*1..10]->(n:CtxNode)
WITH root, collect(DISTINCT n) AS neighbors
WITH neighbors, neighbors + root AS selected
UNWIND neighbors AS neighbor
UNWIND selected AS a
OPTIONAL MATCH (a)-[e:RELATED_TO]->(b:CtxNode) WHERE b IN selected
RETURN neighbor.node_id, e.relation_id, a.node_id, b.node_id
"""


def tree(size) -> Iterator[Any]:
    """Yield a tree of explained relations, each node with its text, parents first."""
    for number in range(size):
        yield Node(
            node_id=str(number), node_kind="step", title=f"Step {number}", summary="What was done here, and by whom."
        )
        if number % 10 == 0:
            yield NodeDetail(node_id=str(number), detail="line of a log\n" * 20)
        if number:
            yield Relation(
                source_node_id=str((number - 1) // BRANCHES),
                target_node_id=str(number),
                relation_type="LEADS_TO",
                semantic_class=CLASSES[number % len(CLASSES)],
                rationale=f"step {number} follows from the one before",
                relation_id=f"r{number}",
            )


def fill(kernel, size):
    changes = list(tree(size))
    start = time.perf_counter()
    for first in range(0, len(changes), 3_000):
        kernel.update_context(root_node_id="0", changes=changes[first : first + 3_000])
    return len(changes) / (time.perf_counter() - start)


def commands_per_second(kernel, count, writers=1):
    def send(number):
        node = Node(node_id=f"n{number % 50}", title=f"title {number}")
        kernel.update_context(root_node_id=f"root {number % 16}", changes=[node], idempotency_key=str(number))

    start = time.perf_counter()
    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(send, range(count)))
    return count / (time.perf_counter() - start)


def read_latency(kernel, runs):
    walls, graph = [], []
    view = kernel.get_context("0", max_tokens=2_000)  # loads the vocabulary, too
    for _ in range(runs):
        start = time.perf_counter()
        view = kernel.get_context("0", max_tokens=2_000)
        walls.append((time.perf_counter() - start) * 1e3)
        graph.append((view.timing.graph_seconds + view.timing.detail_seconds) * 1e3)
    walls.sort()
    p95 = walls[min(len(walls) - 1, int(len(walls) * 0.95))]
    return f"{len(view.bundle.nodes)} nodes, p50 {statistics.median(walls):.1f} ms, p95 {p95:.1f} ms, loading {statistics.median(graph):.1f} ms"


def embedded():
    with tempfile.TemporaryDirectory() as folder:
        for url in ("memory://", f"sqlite:///{folder}/commands.db"):
            with ContextKernel.open(url) as kernel:
                print(
                    f"{url.split(':')[0]}: {commands_per_second(kernel, 1_000):.0f} commands/s, each projected when it returns"
                )
        for size in (10, 1_000, 100_000):
            with ContextKernel.open(f"sqlite:///{folder}/{size}.db") as kernel:
                rate = fill(kernel, size)
                print(
                    f"sqlite, graph of {size}: get_context {read_latency(kernel, 20)}; filled at {rate:.0f} changes/s"
                )


def on_servers():
    neo4j_assemble, processes = (import_module(f"servers.{name}") for name in ("neo4j_assemble", "processes"))
    started = [processes.nats_server(), neo4j_assemble.neo4j_server(), processes.valkey_server("--save", "")]
    try:
        nats, neo4j, valkey = (server.start() for server in started)
        urls: Any = {"events": f"nats://127.0.0.1:{nats.port}", "graph": f"bolt://127.0.0.1:{neo4j.port}"}
        urls["details"] = f"valkey://127.0.0.1:{valkey.port}"
        measure_writes(urls)
        for size in (10, 300, 1_000, 100_000):
            measure_reads(urls, size)
    finally:
        for server in started:
            server.kill()
            shutil.rmtree(server.folder, ignore_errors=True)


def measure_writes(urls: Any):
    from ctx_core.stores.nats.connection import NatsConnection
    from ctx_core.stores.nats.feed import NatsFeed
    from ctx_core.stores.open import open_stores

    events = 4_000
    stores = open_stores(**urls)
    kernel = ContextKernel.over(stores, is_inline=False)
    for writers in (1, 8):
        rate = commands_per_second(
            ContextKernel.over(open_stores(**with_prefix(urls, f"w{writers}")), is_inline=False), 1_000, writers
        )
        print(f"nats: {rate:.0f} commands/s from {writers} writers")
    commands_per_second(kernel, events, writers=8)
    for run, workers in enumerate((1, 1, 2, 4)):
        target = open_stores(**urls | {name: f"{urls[name]}?prefix=p{run}" for name in ("graph", "details")})
        projection = Projection(
            graph=target.graph, details=target.details, progress=target.progress, consumer=f"consumer{run}"
        )
        stop = threading.Event()
        feeds = [NatsFeed(NatsConnection(urls["events"]), consumer=projection.consumer) for _ in range(workers)]
        pool = [threading.Thread(target=ProjectionWorker(feed, projection).run, args=(stop,)) for feed in feeds]
        start = time.perf_counter()
        for thread in pool:
            thread.start()
        while projection.progress.checkpoint(projection.consumer).processed < events:
            time.sleep(0.02)
        rate = events / (time.perf_counter() - start)
        stop.set()
        for thread in pool:
            thread.join()
        # The first run warms the servers up.
        if run:
            print(f"projection into neo4j and valkey: {rate:.0f} events/s with {workers} workers")


def measure_reads(urls: Any, size):
    from ctx_core.stores.neo4j.connection import Neo4jConnection
    from ctx_core.stores.open import open_stores

    stores = open_stores(**with_prefix(urls, f"r{size}"))
    kernel = ContextKernel.over(stores)
    rate = fill(kernel, size)
    print(f"servers, graph of {size}: get_context {read_latency(kernel, 10)}; filled at {rate:.0f} changes/s")
    if size > 300:
        # Nodes times relations rows: at 1,000 nodes it did not come back within two minutes.
        return
    connection = Neo4jConnection(urls["graph"])
    rows, walls = [], []
    for _ in range(2):
        start = time.perf_counter()
        rows = connection.read(lambda transaction: transaction.run(REFERENCE_QUERY, space=f"r{size}").values())
        walls.append((time.perf_counter() - start) * 1e3)
    connection.close()
    ours = min(kernel.get_context("0", max_tokens=2_000).timing.graph_seconds * 1e3 for _ in range(5))
    print(
        f"  the reference's query shape: {len(rows)} rows, {min(walls):.0f} ms; level by level: {ours:.1f} ms, {min(walls) / ours:.1f} x faster"
    )


def with_prefix(urls, prefix) -> Any:
    return {name: f"{url}?prefix={prefix}" for name, url in urls.items()}


def main():
    embedded()
    if "--servers" in sys.argv:
        on_servers()
    else:
        print("run with --servers for NATS, Neo4j and Valkey")


if __name__ == "__main__":
    main()
