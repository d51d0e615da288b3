"""`ctx project` and `ctx dead-letter` on real servers, as an operator runs them."""

import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from ctx_core import ContextKernel, Node
from ctx_core.kernel.worker import Lag
from ctx_core.stores.nats.connection import NatsConnection
from ctx_core.stores.nats.feed import NatsDeadLetters, NatsFeed
from ctx_core.stores.open import open_stores
from servers import processes


@pytest.fixture
def urls(nats_url, neo4j_url, valkey_url, prefix):
    servers = {"events": nats_url, "graph": neo4j_url, "details": valkey_url}
    return {name: f"{url}?prefix={prefix}" for name, url in servers.items()}


@pytest.fixture
def kernel(urls):
    with ContextKernel.over(open_stores(**urls), is_inline=False) as kernel:
        yield kernel


def ctx(command, urls, *names, options=()):
    arguments = [part for name in names for part in (f"--{name}", urls[name])]
    return [sys.executable, "-m", "ctx_core.cli.main", *command, *arguments, *options]


def run(*arguments, code=0, **options):
    done = subprocess.run(ctx(*arguments, **options), check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    return done.stdout


def publish(urls, prefix, body):
    connection = NatsConnection(urls["events"])
    connection.run(lambda stream: stream.publish(f"{prefix}.evt.foreign.x.-", body))
    connection.close()


def test_a_worker_projects_what_is_there_and_stops(kernel, urls):
    for number in range(5):
        accepted = kernel.update_context(root_node_id="root", changes=[Node(node_id="root", title=str(number))])
        assert not accepted.is_projected
    assert kernel.stores.graph.nodes(["root"]) == {}
    said = run(["project"], urls, "events", "graph", "details", options=["--once", "--workers", "2"])
    assert said == "projected 5, buried 0\n"
    view = kernel.get_context("root")
    assert (view.revision, view.bundle.root.title) == (5, "4")


def test_letters_are_listed_replayed_and_discarded(kernel, urls, prefix):
    kernel.update_context(root_node_id="root", changes=[Node(node_id="root", title="whole")])
    (event,) = kernel.stores.events.read()
    later = json.loads(event.event.to_json())
    later["event_id"], later["data"]["changes"][0]["payload"] = "later", {"colour": "red"}
    publish(urls, prefix, b"no event at all")
    publish(urls, prefix, json.dumps(later).encode())
    assert "buried 2" in run(["project"], urls, "events", "graph", "details", options=["--once"])
    letters = [json.loads(line) for line in run(["dead-letter", "list"], urls, "events").splitlines()]
    assert ["not a context.updated event" in letter["reason"] for letter in letters] == [True, False]
    assert "colour" in letters[1]["reason"]
    servers = ("events", "graph", "details")
    assert "fails again" in run(["dead-letter", "replay"], urls, *servers, code=1)
    run(["dead-letter", "discard"], urls, "events", options=[str(letters[0]["letter_id"])])
    assert len(run(["dead-letter", "list"], urls, "events").splitlines()) == 1
    # A later release knows the field; here, the letter is written anew with one that is known.
    connection = NatsConnection(urls["events"])
    dead = NatsDeadLetters(connection)
    dead.discard(dead.letters()[0])
    later["data"]["changes"][0]["payload"], later["clock"] = {"title": "mended"}, later["clock"] + 1
    body = json.dumps(later).encode()
    connection.run(lambda stream: stream.publish(f"{prefix}.dead.context-projection", body))
    connection.close()
    assert "is projected" in run(["dead-letter", "replay"], urls, *servers)
    assert kernel.stores.graph.nodes(["root"])["root"].title == "mended"
    assert run(["dead-letter", "list"], urls, "events") == ""


def health(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=5) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
    except OSError:
        return 0, {}


def test_a_worker_tells_its_health_and_stops_on_sigterm(kernel, urls):
    kernel.update_context(root_node_id="root", changes=[Node(node_id="root")])
    port = processes.free_port()
    command = ctx(["project"], urls, "events", "graph", "details", options=["--health-port", str(port)])
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while health(port)[1].get("projected") != 1 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert health(port) == (
        200,
        {"status": "ok", "projected": 1, "buried": 0, "retried": 0, "waiting": 0, "unsettled": 0},
    )
    worker.send_signal(signal.SIGTERM)
    said, _ = worker.communicate(timeout=30)
    assert (worker.returncode, said) == (0, "projected 1, buried 0\n")


def test_an_event_that_is_not_settled_comes_again_and_is_counted(nats_url, prefix):
    url = f"{nats_url}?prefix={prefix}"
    feed = NatsFeed(NatsConnection(url), ack_wait_seconds=0.3)
    publish({"events": url}, prefix, b"body")
    (first,) = feed.fetch(5, timeout_seconds=5)
    assert (first.attempt, feed.lag()) == (1, Lag(waiting=0, unsettled=1))
    (second,) = feed.fetch(5, timeout_seconds=5)
    assert (second.attempt, second.position) == (2, first.position)
    feed.hold([second])
    feed.retry(second, delay_seconds=0.05)
    (third,) = feed.fetch(5, timeout_seconds=5)
    feed.settle([third])
    assert feed.fetch(5, timeout_seconds=0.5) == []
    assert feed.lag() == Lag(waiting=0, unsettled=0)
    feed.close()


def test_secrets_come_from_files_and_bad_files_are_named(urls, tmp_path):
    missing = ["--events-password-file", str(tmp_path / "nowhere")]
    done = subprocess.run(
        ctx(["dead-letter", "list"], urls, "events", options=missing), check=False, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "--events-password-file cannot be read" in done.stderr
