"""NATS JetStream: the event log, and what feeds projection workers from it."""

from ctx_core.extras import require

require("nats", extra="nats")
