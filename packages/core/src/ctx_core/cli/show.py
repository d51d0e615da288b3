"""What the commands show in a terminal."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ctx_core.cli.files import one_line

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from ctx_core.cli.demo import Demonstration
    from ctx_core.engine.report import MessageReport, Report
    from ctx_core.messages import Message

console = Console()

_MOST_PIECES = 12
"""Rows of the table of pieces: a screenful beside the table of messages."""


@contextmanager
def progress(what: str) -> Generator[None]:
    """Show that work goes on, on standard error and only where that is a terminal; gone when done."""
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        bar.add_task(what, total=None)
        yield


def demonstration(shown: Demonstration) -> None:
    """Print the table of messages, then what came back, the graph's tiers, and the sum."""
    report = shown.prepared.report
    console.print(_messages_table(shown.messages, report))
    _working_set(report)
    _came_back(report)
    _graph(report)
    _sum(report)


def prompt(messages: Sequence[Message]) -> None:
    """Print prepared messages as they will be sent."""
    for message in messages:
        console.rule(message.role, align="left")
        console.print(Text(message.text))


def outcome(row: MessageReport) -> str:
    """Say in a word what happened to a message."""
    if row.archived:
        return "archived"
    return "kept" if row.ccr_hash is None else f"compressed, original {row.ccr_hash[:12]}"


def _messages_table(messages: Sequence[Message], report: Report) -> Table:
    table = Table(title="Every message of the session", title_justify="left", expand=False)
    for name, justify in (
        ("#", "right"),
        ("role", "left"),
        ("kind", "left"),
        ("before", "right"),
        ("after", "right"),
        ("what happened", "left"),
        ("text", "left"),
    ):
        table.add_column(name, justify=justify, no_wrap=name != "text")  # pyright: ignore[reportArgumentType] - rich's literal
    for row in report.messages:
        style = "dim" if row.archived else "green" if row.ccr_hash else ""
        text = one_line(messages[row.index].text, 48)
        cells = (
            str(row.index + 1),
            row.role,
            row.kind or "",
            str(row.tokens_before),
            str(row.tokens_after),
            outcome(row),
        )
        table.add_row(*cells, Text(text), style=style)
    return table


def _working_set(report: Report) -> None:
    if not report.working_set:
        return
    table = Table(title="Told of the archived messages, and why", title_justify="left", expand=False)
    for name in ("#", "from", "why", "what"):
        table.add_column(name, no_wrap=name != "what")
    for each in report.working_set[:_MOST_PIECES]:
        piece = each.piece
        told = f"{piece.fact.key}={piece.fact.text}" if piece.fact.is_field else piece.fact.text
        table.add_row(str(piece.source + 1), piece.tool or piece.role, each.reason, Text(one_line(told, 60)))
    console.print(table)
    if len(report.working_set) > _MOST_PIECES:
        console.print(f"… and {len(report.working_set) - _MOST_PIECES} more")


def _came_back(report: Report) -> None:
    found = report.rehydrated
    if found is None or not found.metrics.get("rehydrator.matched"):
        return
    console.print(f"\n[bold]Came back[/] because the last message says {found.metrics.get('rehydrator.trigger')!r}:")
    console.print(Text(found.block or "", style="cyan"))


def _graph(report: Report) -> None:
    if report.graph is None:
        return
    console.print(f"\n[bold]Graph[/] ({report.graph.mode}: {report.graph.mode_reason})")
    for tier, text in report.graph.tiers.items():
        if text:
            console.print(Text(f"{tier}", style="bold magenta"))
            console.print(Text(text))


def _sum(report: Report) -> None:
    for warning in report.warnings:
        console.print(f"[yellow]warning:[/] {warning}")
    saved = 1 - report.tokens_after / max(report.tokens_before, 1)
    timings = ", ".join(f"{stage} {ms:.0f} ms" for stage, ms in report.timings_ms.items())
    console.print(
        f"\n[bold]{report.tokens_before} tokens of history became a prompt of {report.tokens_after}[/] "
        f"(budget {report.max_tokens}, {saved:.0%} saved; {timings})"
    )
