"""Metrics and spans: off until a recorder is set, and local unless that recorder exports them.

`set_recorder(OtelRecorder())` sends them to whatever OpenTelemetry providers the application configured.
Names never carry text, ids or user names: values and small closed sets of labels only.
"""

from __future__ import annotations

import logging
import re
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from ctx_core.extras import require

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.metrics import Histogram

logger = logging.getLogger("ctx_core")

_CREDENTIALS = re.compile(r"://[^\s/@]{1,512}@")


class Recorder(Protocol):
    """Where metrics and spans go."""

    def metric(self, name: str, value: float, labels: Mapping[str, str]) -> None:
        """Record one value of a metric."""
        ...

    def span(self, name: str) -> AbstractContextManager[object]:
        """Open a span; leaving the context ends it."""
        ...


class _Silent:
    def metric(self, name: str, value: float, labels: Mapping[str, str]) -> None:
        """Drop it."""

    def span(self, name: str) -> AbstractContextManager[object]:
        del name
        return nullcontext()


class OtelRecorder:
    """Hands metrics and spans to the application's OpenTelemetry providers; needs the extra `otel`."""

    def __init__(self, *, tracer_provider: Any = None, meter_provider: Any = None) -> None:
        require("opentelemetry", extra="otel")
        from opentelemetry import metrics, trace  # noqa: PLC0415

        self._tracer = trace.get_tracer("ctx_core", tracer_provider=tracer_provider)
        self._meter = metrics.get_meter("ctx_core", meter_provider=meter_provider)
        self._instruments: dict[str, Histogram] = {}

    def metric(self, name: str, value: float, labels: Mapping[str, str]) -> None:
        """Record one value in the histogram `name`."""
        if name not in self._instruments:
            self._instruments[name] = self._meter.create_histogram(name)
        self._instruments[name].record(value, dict(labels))

    def span(self, name: str) -> AbstractContextManager[object]:
        """Open a span named `name` as the current one."""
        return self._tracer.start_as_current_span(name)


_recorder: Recorder = _Silent()


def set_recorder(recorder: Recorder | None) -> None:
    """Send metrics and spans of this process to `recorder`; None turns them off."""
    global _recorder  # noqa: PLW0603 - one recorder per process, as in OpenTelemetry itself
    _recorder = recorder or _Silent()


def metric(name: str, value: float, **labels: str) -> None:
    """Record one value; a failing recorder is logged and never fails its caller."""
    try:
        _recorder.metric(name, value, labels)
    except Exception:
        logger.warning("the telemetry recorder failed on %s", name, exc_info=True)


def span(name: str) -> AbstractContextManager[object]:
    """Open a span around a stage of work."""
    try:
        return _recorder.span(name)
    except Exception:
        logger.warning("the telemetry recorder failed on %s", name, exc_info=True)
        return nullcontext()


def without_passwords(text: str) -> str:
    """Return `text` without the user names and passwords of URLs in it; drivers like to repeat theirs in an error."""
    return _CREDENTIALS.sub("://…@", text)


def degraded(stage: str, error: BaseException) -> str:
    """Log and count a stage that failed while the work goes on without it; return one line that says so."""
    message = f"{stage} failed and was skipped: {type(error).__name__}: {without_passwords(str(error))}"
    logger.warning("%s", message)
    metric("ctx.degraded", 1, stage=stage)
    return message
