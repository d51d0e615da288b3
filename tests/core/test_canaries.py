"""Telemetry, logs, warnings, exceptions and reprs carry no content, no key and no password."""

import logging
from contextlib import nullcontext

import pytest

from ctx_core import (
    Archive,
    ContextEngine,
    ContextKernel,
    ContextOptimizer,
    CtxSettings,
    Message,
    Node,
    Rehydrator,
    ToolCall,
    Turn,
    telemetry,
)
from ctx_core.errors import CtxError
from ctx_core.stores.memory.ccr import MemoryCcrStore

SECRET, PASSWORD = "canary-7f3a-content", "canary-9b1c-password"
LOG = "\n".join(f"2026-01-01 10:00:{n % 60:02d} INFO {SECRET} step {n}" for n in range(400))


class Recorder:
    def __init__(self):
        self.seen = []

    def metric(self, name, value, labels):
        self.seen.append(f"{name} {value} {dict(labels)}")

    def span(self, name):
        self.seen.append(name)
        return nullcontext()


@pytest.fixture
def recorder():
    found = Recorder()
    telemetry.set_recorder(found)
    yield found
    telemetry.set_recorder(None)


class Refusing(MemoryCcrStore):
    """A store whose driver repeats its address in its errors, as drivers do."""

    def put(self, content, *, scope=""):
        raise OSError(f"cannot connect to rediss://writer:{PASSWORD}@store.example:6379/0")

    def get(self, ref, *, scope=""):
        return self.put(ref, scope=scope)


def chat():
    return [
        Message(role="system", content=f"Keep {SECRET} safe."),
        Message(role="user", content=f"Remember what we said about {SECRET}?"),
        Message(role="assistant", tool_calls=(ToolCall(id="c1", name="read", arguments=f'{{"key": "{SECRET}"}}'),)),
        Message(role="tool", tool_call_id="c1", content=LOG),
        Message(role="user", content=f"And {SECRET} again?"),
    ]


@pytest.mark.parametrize("store", [MemoryCcrStore, Refusing])
def test_no_canary_leaves_through_telemetry_logs_warnings_or_reprs(store, recorder, caplog):
    with caplog.at_level(logging.DEBUG):
        engine = ContextEngine(optimizer=ContextOptimizer(store()), archive=Archive(embedder=None))
        engine.archive.append(SECRET, [Turn(role="user", content=SECRET)])
        engine.kernel.update_context(root_node_id="n0", changes=[Node(node_id="n0", title=SECRET)])
        for max_tokens in (8_000, 300):
            prepared = engine.prepare(chat(), user_id=SECRET, graph_root="n0", chunks=[LOG], max_tokens=max_tokens)
        engine.optimizer.optimize(LOG, max_tokens=100)
    told = [
        *recorder.seen,
        *(record.getMessage() for record in caplog.records),
        *(record.exc_text or "" for record in caplog.records),
        *prepared.report.warnings,
        str(prepared.report.timings_ms),
        *map(repr, (engine, engine.optimizer, engine.optimizer.store, engine.archive, engine.kernel, engine.aligner)),
        repr(Rehydrator(engine.archive)),
    ]
    assert [line for line in told if SECRET in line or PASSWORD in line] == []
    assert recorder.seen


@pytest.mark.parametrize(
    "call",
    [
        lambda: ContextOptimizer().optimize(SECRET, max_tokens=1),
        lambda: ContextOptimizer().retrieve("0" * 12),
        lambda: ContextEngine().prepare([Message(role="user", content=SECRET)], max_tokens=1),
        lambda: ContextKernel.open(f"rediss://writer:{PASSWORD}@store.example/0"),
        lambda: ContextKernel.open(f"neo4j://writer:{PASSWORD}@[bad"),
        lambda: CtxSettings(ccr_url=f"ftp://writer:{PASSWORD}@store.example/0").ccr_store(),
    ],
)
def test_no_canary_stands_in_an_exception(call):
    with pytest.raises((CtxError, ValueError)) as caught:
        call()
    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in str(error)
        assert PASSWORD not in f"{error} {error!r}"
        error = error.__cause__


def test_settings_hide_passwords():
    settings = CtxSettings(
        ccr_url=f"redis://writer:{PASSWORD}@store.example/0", archive_url=f"s3://key:{PASSWORD}@bucket/x"
    )
    assert PASSWORD not in f"{settings} {settings!r}"
