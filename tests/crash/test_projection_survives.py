"""Workers and servers are killed while events flow; the read model ends up as the log says, every time.

`CTX_CRASH_ROUNDS=20 CTX_CRASH_EVENTS=5000` runs the long form.
"""

import json
import os
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ctx_core import ContextKernel, Node, NodeDetail, Relation
from ctx_core.errors import StoreUnavailable
from ctx_core.kernel.commands import Change
from ctx_core.kernel.projection import Projection
from ctx_core.stores.nats.connection import NatsConnection
from ctx_core.stores.nats.feed import NatsDeadLetters, NatsFeed
from ctx_core.stores.open import open_stores

ROUNDS = int(os.environ.get("CTX_CRASH_ROUNDS", "7"))
EVENTS = int(os.environ.get("CTX_CRASH_EVENTS", "1400")) // ROUNDS
ACK_WAIT_SECONDS = 3
# Who is killed in which round; the order repeats. A Neo4j takes ten seconds to come back, the others one.
VICTIMS = ("worker", "nats", "valkey", "worker", "neo4j", "nats", "worker", "valkey", "nats", "worker")
POISON = (b"not json", b'{"event_type": "context.updated"}')


class Stage:
    """Servers, two worker processes, a kernel that writes, and a rebuild to compare with."""

    def __init__(self, servers):
        self.servers = servers
        self.urls = {
            "events": f"nats://127.0.0.1:{servers['nats'].port}?prefix=crash",
            "graph": f"bolt://127.0.0.1:{servers['neo4j'].port}?prefix=crash",
            "details": f"valkey://127.0.0.1:{servers['valkey'].port}?prefix=crash",
        }
        self.feed = NatsFeed(NatsConnection(self.urls["events"]), ack_wait_seconds=ACK_WAIT_SECONDS)
        self.stores = open_stores(**self.urls)
        self.kernel = ContextKernel.over(self.stores, is_inline=False)
        self.live = self.kernel.projection
        fresh = ContextKernel.open().stores
        self.rebuilt = Projection(graph=fresh.graph, details=fresh.details, progress=fresh.progress)
        self.workers = [self.start_worker() for _ in range(2)]

    def start_worker(self):
        arguments = [part for name, url in self.urls.items() for part in (f"--{name}", url)]
        command = [sys.executable, "-m", "ctx_core.cli.main", "project", "--workers", "2", *arguments]
        log = (self.servers["nats"].folder / "worker.log").open("ab")
        with log:
            return subprocess.Popen([*command, "--ack-wait", str(ACK_WAIT_SECONDS)], stdout=log, stderr=log)

    def strike(self, victim):
        if victim == "worker":
            self.workers[0].kill()
            self.workers[0].wait()
            self.workers = [*self.workers[1:], self.start_worker()]
        else:
            self.servers[victim].kill()
            self.servers[victim].start()

    def patiently(self, call):
        """Call until the servers answer, as a client would; the idempotency key makes that safe."""
        deadline = time.monotonic() + 90
        while True:
            try:
                return call()
            except StoreUnavailable:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def wait_until_projected(self):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            lag = self.patiently(self.feed.lag)
            if lag.waiting == lag.unsettled == 0:
                return
            time.sleep(0.1)
        pytest.fail(f"events are left: {lag}; {[worker.poll() for worker in self.workers]}")

    def close(self):
        for worker in self.workers:
            worker.terminate()
        codes = [worker.wait(60) for worker in self.workers]
        self.feed.close()
        self.stores.close()
        assert codes == [0, 0], (self.servers["nats"].folder / "worker.log").read_text(errors="replace")[-4000:]


@pytest.fixture
def stage(servers):
    stage = Stage(servers)
    yield stage
    stage.close()


def some_changes(random):
    """Return a few changes over few entities, so that events collide as often as they can."""
    ids = [f"n{random.randrange(40)}" for _ in range(2)]
    relation = Relation(
        source_node_id=ids[0],
        target_node_id=ids[1],
        relation_type="LEADS_TO",
        rationale=f"because {random.random()}",
        relation_id=f"r{random.randrange(30)}",
    )
    update = {"status": random.choice(["open", "done", "blocked"])}
    choices = [
        Node(node_id=ids[0], title=f"title {random.random()}"),
        Change(operation="UPDATE", entity_kind="node", entity_id=ids[1], payload=update),
        Change(operation="DELETE", entity_kind="node", entity_id=ids[0]),
        Change(operation="DELETE", entity_kind="relation", entity_id=f"r{random.randrange(30)}"),
        relation,
        NodeDetail(node_id=ids[1], detail=f"text {random.random()}"),
        Node(node_id=ids[1], title=f"title {random.random()}", summary="whole"),
    ]
    return random.sample(choices, k=3)


def send(stage, number):
    """Send one command; every seventh a second time, as a client does that saw no answer."""
    chance = random.Random(number)
    command = {
        "root_node_id": f"root-{number % 5}",
        "role": f"role-{number % 2}",
        "changes": some_changes(chance),
        "idempotency_key": f"key-{number}",
    }
    accepted = stage.patiently(lambda: stage.kernel.update_context(**command))
    if number % 7 == 0:
        again = stage.patiently(lambda: stage.kernel.update_context(**command))
        assert (again.is_replay, again.revision) == (True, accepted.revision)


def poison(stage, number):
    """Publish what is no event of ours below our subjects, and an event of ours that says nonsense."""
    subject = f"crash.evt.poison.{number}.-"
    for body in (*POISON, nonsense(stage)):
        stage.patiently(lambda body=body: stage.feed._connection.run(lambda stream: stream.publish(subject, body)))


def nonsense(stage):
    event = json.loads(next(iter(stage.patiently(lambda: list(stage.stores.events.read())))).event.to_json())
    event["event_id"] = f"nonsense-{random.random()}"
    event["data"]["changes"][0]["payload"] = {"colour": ["no such field"]}
    return json.dumps(event).encode()


def test_the_read_model_equals_the_log_after_every_kill(stage):
    chance = random.Random(20)
    numbers = iter(range(10**9))
    poisoned = 0
    for round_number in range(ROUNDS):
        victim = VICTIMS[round_number % len(VICTIMS)]
        batch = [next(numbers) for _ in range(EVENTS)]
        with ThreadPoolExecutor(5) as pool:
            sent = [pool.submit(send, stage, number) for number in batch]
            struck = threading.Timer(chance.uniform(0.1, 1.0), stage.strike, (victim,))
            struck.start()
            for future in sent:
                future.result()
            struck.join()
        poison(stage, round_number)
        poisoned += 3
        stage.wait_until_projected()
        stage.rebuilt.catch_up(stage.stores.events)
        assert stage.live.content_hash() == stage.rebuilt.content_hash(), f"after killing {victim}"
        progress = stage.live.progress.checkpoint(stage.live.consumer)
        assert progress.processed == EVENTS * (round_number + 1)
    letters = NatsDeadLetters(stage.feed._connection).letters()
    assert len(letters) == poisoned
    assert all("InvalidInput" in letter.reason for letter in letters)
