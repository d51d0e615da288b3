"""What a run did, as plain JSON numbers for streams and traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import dispatch_custom_event

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from ctx_core.engine.report import Report


def report_numbers(report: Report) -> dict[str, Any]:
    """Return the numbers and warnings of a report as plain JSON; no text of the prompt is in it."""
    return {
        "tokens_before": report.tokens_before,
        "tokens_after": report.tokens_after,
        "max_tokens": report.max_tokens,
        "fits": report.fits,
        "compressed": sum(message.ccr_hash is not None for message in report.messages),
        "archived": sum(message.archived for message in report.messages),
        "warnings": list(report.warnings),
    }


def emit(name: str, numbers: dict[str, Any], config: RunnableConfig) -> None:
    """Send a custom event to the callbacks of a run; outside of one there is nobody to send it to."""
    try:
        dispatch_custom_event(name, numbers, config=config)
    except RuntimeError:
        return
