"""What `ctx demo` shows, as one page of HTML that loads nothing from elsewhere."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from ctx_core.cli.files import one_line
from ctx_core.cli.show import outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctx_core.cli.demo import Demonstration
    from ctx_core.engine.report import MessageReport, Report

_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --soft: #f3f4f6; --line: #d8dce1; --on: #1a7f52; --off: #9aa1a9; --mark: #6b3fa0 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --paper: #15181c; --soft: #1f2328; --line: #343a41; --on: #4cc38a; --off: #6b7280; --mark: #b794f4 } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 74rem; padding: 2rem 1.25rem; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
h1 { font-size: 1.6rem; margin: 0 0 .25rem } h2 { font-size: 1.1rem; margin: 2.2rem 0 .6rem }
.sum { font-size: 1.05rem } .sum b { color: var(--on) }
.bar { height: 14px; background: var(--soft); border-radius: 7px; overflow: hidden; margin: .6rem 0 } .bar i { display: block; height: 100%; background: var(--on) }
table { border-collapse: collapse; width: 100%; font-size: .86rem } th, td { padding: .28rem .55rem; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums } tr.archived { color: var(--off) } tr.compressed td:nth-child(6) { color: var(--on) }
td.t { max-width: 26rem; overflow-wrap: anywhere } code { font-size: .85em }
pre { background: var(--soft); padding: .8rem 1rem; border-radius: 8px; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .82rem }
.tier { border-left: 4px solid var(--mark); padding-left: .9rem; margin: .8rem 0 } summary { cursor: pointer } .scroll { overflow-x: auto }
"""


def demonstration(shown: Demonstration) -> str:
    """Return the page as text."""
    report = shown.prepared.report
    parts = [_head(report), _messages(shown), _came_back(report), _graph(report), _prompt(shown), _warnings(report)]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>ctx demo</title><style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _head(report: Report) -> str:
    saved = 1 - report.tokens_after / max(report.tokens_before, 1)
    width = min(100.0, 100 * report.tokens_after / max(report.tokens_before, 1))
    timings = ", ".join(f"{escape(stage)} {ms:.0f} ms" for stage, ms in report.timings_ms.items())
    return (
        f"<h1>The next prompt of a recorded session</h1>"
        f'<p class="sum"><b>{report.tokens_before}</b> tokens of history became a prompt of <b>{report.tokens_after}</b>: {saved:.0%} saved, '
        f"budget {report.max_tokens}.</p>"
        f'<div class="bar" role="img" aria-label="{width:.0f} percent of the tokens are left"><i style="width:{width:.1f}%"></i></div>'
        f"<p>{timings}</p>"
    )


def _messages(shown: Demonstration) -> str:
    rows = "".join(_row(row, shown.messages[row.index].text) for row in shown.prepared.report.messages)
    return (
        "<h2>Every message</h2><div class=scroll><table><thead><tr><th class=n>#</th><th>role</th><th>kind</th><th class=n>before</th>"
        f"<th class=n>after</th><th>what happened</th><th>text</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _row(row: MessageReport, text: str) -> str:
    state = "archived" if row.archived else "compressed" if row.ccr_hash else "kept"
    numbers = f"<td class=n>{row.tokens_before}</td><td class=n>{row.tokens_after}</td>"
    return (
        f'<tr class="{state}"><td class=n>{row.index + 1}</td><td>{escape(row.role)}</td><td>{escape(row.kind or "")}</td>{numbers}'
        f'<td>{escape(outcome(row))}</td><td class="t">{escape(one_line(text, 110))}</td></tr>'
    )


def _came_back(report: Report) -> str:
    found = report.rehydrated
    if found is None or not found.metrics.get("rehydrator.matched"):
        return ""
    trigger = escape(str(found.metrics.get("rehydrator.trigger")))
    return (
        f"<h2>Came back</h2><p>The last message says <code>{trigger}</code>.</p><pre>{escape(found.block or '')}</pre>"
    )


def _graph(report: Report) -> str:
    if report.graph is None:
        return ""
    tiers = "".join(
        f'<div class="tier"><b>{escape(str(tier))}</b><pre>{escape(text)}</pre></div>'
        for tier, text in report.graph.tiers.items()
        if text
    )
    return f"<h2>Graph</h2><p>Mode {escape(str(report.graph.mode))}: {escape(report.graph.mode_reason)}</p>{tiers}"


def _prompt(shown: Demonstration) -> str:
    messages = "".join(
        f"<details><summary>{escape(message.role)}: {escape(one_line(message.text, 90))}</summary><pre>{escape(message.text)}</pre></details>"
        for message in shown.prepared.messages
    )
    return f"<h2>The prompt as it will be sent</h2>{messages}"


def _warnings(report: Report) -> str:
    return _list("Warnings", report.warnings) if report.warnings else ""


def _list(title: str, lines: Iterable[str]) -> str:
    return f"<h2>{escape(title)}</h2><ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"
