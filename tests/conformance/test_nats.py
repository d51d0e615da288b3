"""The JetStream event log holds what every adapter must hold, against a real nats-server."""

import pytest

from ctx_core.stores.nats.events import open_nats_events
from ctx_core.testing.kernel import EventStoreSuite


@pytest.fixture
def events(nats_url, prefix):
    store = open_nats_events(f"{nats_url}?prefix={prefix}")
    yield store
    store.close()


class TestNatsEventStore(EventStoreSuite):
    """One log, in a stream of its own."""
