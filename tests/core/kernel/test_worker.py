"""A worker sees every event through, or says why not, and lets no event hold up another."""

import threading
from typing import Any

import pytest

from ctx_core.errors import StoreUnavailable
from ctx_core.graph.model import Node
from ctx_core.kernel.kernel import ContextKernel
from ctx_core.kernel.projection import Projection
from ctx_core.kernel.worker import ProjectionWorker
from ctx_core.testing.feeds import FakeFeed


class Flaky:
    """A graph that fails on some nodes, or for a number of writes."""

    def __init__(self, graph, *, away_for=0, hates=()):
        self._graph, self._away_for, self._hates = graph, away_for, hates

    def write(self, writes):
        if self._away_for:
            self._away_for -= 1
            raise StoreUnavailable("the graph is away")
        if any(write.entity_id in self._hates for write in writes):
            raise ZeroDivisionError("a bug that only this node meets")
        self._graph.write(writes)

    def __getattr__(self, name):
        return getattr(self._graph, name)


@pytest.fixture
def log():
    with ContextKernel.open() as kernel:
        for number in range(6):
            kernel.update_context(root_node_id="root", changes=[Node(node_id=f"n{number}")])
        yield [item.event.to_json() for item in kernel.stores.events.read()]


def work(bodies, **flaws):
    stop = threading.Event()
    feed = FakeFeed(bodies, on_empty=stop.set)
    stores = ContextKernel.open().stores
    graph: Any = Flaky(stores.graph, **flaws)
    projection = Projection(graph=graph, details=stores.details, progress=stores.progress)
    worker = ProjectionWorker(feed, projection, max_attempts=3, backoff_seconds=(0.0,))
    worker.run(stop)
    shown = {node.node_id for node in stores.graph.scan() if isinstance(node, Node)}
    return feed, worker.tally, shown


def test_everything_flows(log):
    feed, tally, shown = work(log)
    assert shown == {f"n{number}" for number in range(6)}
    assert (sorted(feed.settled), tally.projected, feed.buried) == ([1, 2, 3, 4, 5, 6], 6, {})


def test_what_is_no_event_is_buried_with_its_reason_while_the_rest_flows(log):
    feed, tally, shown = work([b"{", log[0], b'{"event_type": "other"}', *log[1:]])
    assert len(shown) == 6
    assert set(feed.buried) == {1, 3}
    assert all("not a context.updated event" in reason for reason in feed.buried.values())
    assert tally.buried == 2


def test_an_event_that_says_nonsense_is_buried_at_once(log):
    nonsense = log[2].replace(b'"payload":{}', b'"payload":{"status":[[]],"colour":"red"}')
    assert nonsense != log[2]
    feed, _, shown = work([*log[:2], nonsense, *log[3:]])
    assert shown == {"n0", "n1", "n3", "n4", "n5"}
    assert "colour" in feed.buried[3]


def test_an_event_that_provokes_a_bug_is_tried_a_few_times_and_then_buried(log):
    feed, tally, shown = work(log, hates=("n3",))
    assert shown == {"n0", "n1", "n2", "n4", "n5"}
    assert feed.buried == {4: "ZeroDivisionError: a bug that only this node meets"}
    assert tally.retried == 2


def test_a_store_that_is_away_is_waited_for_and_nothing_is_buried(log):
    feed, tally, shown = work(log, away_for=20)
    assert len(shown) == 6
    assert (feed.buried, tally.retried, tally.store_is_away) == ({}, 0, False)
    assert len(feed.held) == 20 * 6


def test_a_worker_told_to_stop_while_it_waits_settles_nothing(log):
    stop = threading.Event()
    feed = FakeFeed(log)
    feed.hold = lambda deliveries: stop.set()
    stores = ContextKernel.open().stores
    graph: Any = Flaky(stores.graph, away_for=9)
    projection = Projection(graph=graph, details=stores.details, progress=stores.progress)
    ProjectionWorker(feed, projection, backoff_seconds=(0.0,)).run(stop)
    assert feed.settled == []
