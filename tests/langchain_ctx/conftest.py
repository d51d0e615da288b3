"""Texts that are worth shortening, and engines that need no model."""

import json

import pytest

from ctx_core import Archive, ContextEngine, ContextOptimizer

HEARTBEATS = "\n".join(f"2026-03-01 10:{minute:02d}:00 INFO heartbeat ok" for minute in range(60)) * 4


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
