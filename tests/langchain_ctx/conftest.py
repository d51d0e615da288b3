"""Texts that are worth shortening, and engines that need no model."""

import hashlib
import json

import pytest

from ctx_core import Archive, ContextEngine, ContextOptimizer

# Each line has a value of its own, so that folding alone does not make it short enough.
HEARTBEATS = "\n".join(
    f"2026-03-01 10:{n % 60:02d}:00 INFO heartbeat ok {hashlib.sha256(str(n).encode()).hexdigest()[:16]}"
    for n in range(240)
)


@pytest.fixture
def log():
    return f"{HEARTBEATS}\n2026-03-01 11:00:01 ERROR disk full on /var\n{HEARTBEATS}"


@pytest.fixture
def rows():
    def make(count=60, start=0):
        return json.dumps(
            [
                {"order": f"#{start + n}", "status": "shipped", "total": 7 * n, "city": f"Town {n % 9}"}
                for n in range(count)
            ]
        )

    return make


@pytest.fixture
def archive():
    """Searches by words alone, so that no test waits for a model."""
    return Archive(embedder=None)


@pytest.fixture
def engine(archive):
    return ContextEngine(archive=archive, optimizer=ContextOptimizer())
