"""`ctx project`: a worker that brings events of the log into the read model, until it is told to stop."""

from __future__ import annotations

import json
import logging
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from ctx_core.cli.servers import add_server_arguments, connect_nats, open_projection
from ctx_core.errors import StoreUnavailable

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Generator
    from concurrent.futures import Future

    from ctx_core.kernel.projection import Projection
    from ctx_core.kernel.worker import Feed, ProjectionWorker
    from ctx_core.stores.nats.connection import NatsConnection

logger = logging.getLogger("ctx_core")

_LOOK_SECONDS: Final = 0.5
# A Neo4j takes ten seconds to come back, longer on a busy machine.
_START_SECONDS: Final = 60.0


def add_parser(subparsers: Any) -> None:
    """Add the `project` command."""
    parser: ArgumentParser = subparsers.add_parser("project", help="project events into the read model")
    add_server_arguments(parser, "events", "graph", "details")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="workers in this process (default 1)")
    parser.add_argument("--once", action="store_true", help="stop when nothing is left to project")
    parser.add_argument("--max-attempts", type=int, default=5, metavar="N", help="tries before an event is buried")
    parser.add_argument("--ack-wait", type=float, default=30, metavar="SECONDS", help="until a lost event comes again")
    parser.add_argument("--health-port", type=int, metavar="PORT", help="answer health checks on this port")
    parser.add_argument("--health-host", default="127.0.0.1", metavar="HOST", help="where (default 127.0.0.1)")
    parser.set_defaults(run=run)


def run(args: Namespace) -> int:
    """Project until SIGTERM or SIGINT, or with `--once` until nothing is left; return the exit code."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with ExitStack() as resources:
        opened = _opened(args, resources, stop)
        if opened is not None:
            projection, feeds = opened
            figures = _worked(args, projection, feeds, stop, resources)
            sys.stdout.write(f"projected {figures['projected']}, buried {figures['buried']}\n")
    return 0


def _opened(args: Namespace, resources: ExitStack, stop: threading.Event) -> tuple[Projection, list[Feed]] | None:
    """Open what is worked on, waiting a while for servers that are just starting; None when told to stop while waiting."""
    deadline = monotonic() + _START_SECONDS
    while not stop.is_set():
        with ExitStack() as attempt:
            try:
                opened = open_projection(args, attempt), _feeds(args, connect_nats(args, attempt))
            except StoreUnavailable as error:
                if monotonic() > deadline:
                    raise
                logger.warning("waiting for a server: %s", error)
            else:
                resources.push(attempt.pop_all())
                return opened
        stop.wait(_LOOK_SECONDS)
    return None


def _worked(
    args: Namespace, projection: Projection, feeds: list[Feed], stop: threading.Event, resources: ExitStack
) -> dict[str, int]:
    from ctx_core.kernel.worker import ProjectionWorker  # noqa: PLC0415 - events need pydantic, other commands do not

    workers = [ProjectionWorker(feed, projection, max_attempts=args.max_attempts) for feed in feeds]
    if args.health_port is not None:
        resources.enter_context(_health(args.health_host, args.health_port, feeds[0], workers))
    with ThreadPoolExecutor(len(workers)) as pool:
        runs = [pool.submit(worker.run, stop) for worker in workers]
        _wait(stop, feeds[0], runs, once=args.once)
    for finished in runs:
        finished.result()
    return _figures(workers)


def _feeds(args: Namespace, nats: NatsConnection) -> list[Feed]:
    from ctx_core.stores.nats.feed import NatsFeed  # noqa: PLC0415 - needs an extra

    return [NatsFeed(nats, consumer=args.consumer, ack_wait_seconds=args.ack_wait) for _ in range(max(1, args.workers))]


def _wait(stop: threading.Event, feed: Feed, runs: list[Future[None]], *, once: bool) -> None:
    while not stop.wait(_LOOK_SECONDS):
        if any(run.done() for run in runs) or (once and _is_done(feed)):
            stop.set()


def _is_done(feed: Feed) -> bool:
    try:
        lag = feed.lag()
    except StoreUnavailable:
        return False
    return lag.waiting == lag.unsettled == 0


def _figures(workers: list[ProjectionWorker]) -> dict[str, int]:
    names = ("projected", "buried", "retried")
    return {name: sum(getattr(worker.tally, name) for worker in workers) for name in names}


@contextmanager
def _health(host: str, port: int, feed: Feed, workers: list[ProjectionWorker]) -> Generator[None]:
    """Answer every GET with figures as JSON: 200 while stores can be reached, 503 while they cannot."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            code, body = _state(feed, workers)
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
            """Say nothing: probes come every few seconds."""

    server = ThreadingHTTPServer((host, port), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


def _state(feed: Feed, workers: list[ProjectionWorker]) -> tuple[int, bytes]:
    figures: dict[str, object] = dict(_figures(workers))
    is_away = any(worker.tally.store_is_away for worker in workers)
    try:
        lag = feed.lag()
        figures |= {"waiting": lag.waiting, "unsettled": lag.unsettled}
    except StoreUnavailable as error:
        is_away, figures["error"] = True, str(error)
    return (503 if is_away else 200), json.dumps({"status": "away" if is_away else "ok", **figures}).encode()
