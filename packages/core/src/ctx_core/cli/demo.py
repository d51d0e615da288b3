"""`ctx demo`: prepare a recorded session's next prompt, and show what happened."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ctx_core.cli.files import budget, read_messages, read_text
from ctx_core.errors import InvalidInput
from ctx_core.extras import require

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from ctx_core.engine.report import Prepared
    from ctx_core.graph.model import Bundle
    from ctx_core.messages import Message

_SESSION = "session.jsonl"
_GRAPH = "incident_graph.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """What went in, and what came out: all that the terminal and the page show."""

    messages: Sequence[Message]
    prepared: Prepared
    graph_root: str | None


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage] - argparse names no public type for it
    """Declare the sub-command."""
    parser = subparsers.add_parser("demo", help="prepare a recorded session's next prompt, and show what happened")
    parser.add_argument(
        "session", nargs="?", help="chat messages as JSON lines in OpenAI's form; default: the recorded one"
    )
    parser.add_argument(
        "--graph", metavar="FILE", help="a graph as JSON; default: the incident beside the recorded session"
    )
    parser.add_argument(
        "--max-tokens", type=budget, default=8000, metavar="N", help="the prompt's budget (%(default)s)"
    )
    parser.add_argument("--settings", metavar="FILE", help="settings as YAML; default: everything in memory")
    parser.add_argument("--html", metavar="FILE", help="write the same as a page to look at")
    parser.add_argument("--prompt", action="store_true", help="print the prepared messages, too")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prepare the prompt and print what happened to it."""
    require("rich", extra="cli")
    from ctx_core.cli import page, show  # noqa: PLC0415

    messages = read_messages(args.session or str(_recorded(_SESSION)))
    graph = _read_graph(args.graph or (None if args.session else str(_recorded(_GRAPH))))
    with show.progress("preparing the prompt"):
        shown = demonstrate(messages, graph, max_tokens=args.max_tokens, settings=args.settings)
    show.demonstration(shown)
    if args.prompt:
        show.prompt(shown.prepared.messages)
    if args.html:
        _write(Path(args.html), page.demonstration(shown))
    return 0


def demonstrate(
    messages: Sequence[Message], graph: Bundle | None, *, max_tokens: int, settings: str | None = None
) -> Demonstration:
    """Prepare the next prompt of a session with the embedded default, or with the stores that settings name."""
    from ctx_core.engine.engine import ContextEngine  # noqa: PLC0415
    from ctx_core.settings import CtxSettings  # noqa: PLC0415

    engine = ContextEngine.from_settings(CtxSettings.load(settings))
    root = graph.root_node_id if graph else None
    if graph is not None:
        changes = [*graph.nodes, *graph.relations, *graph.details]
        engine.kernel.update_context(root_node_id=graph.root_node_id, changes=changes, requested_by="ctx demo")
    asked_at = messages[-1].created_at
    prepared = engine.prepare(
        messages, user_id="demo", session_id="recorded", max_tokens=max_tokens, graph_root=root, now=asked_at
    )
    return Demonstration(messages=messages, prepared=prepared, graph_root=root)


def _recorded(name: str) -> Path:
    path = Path(__file__).parent.parent / "data" / "demo" / name
    if not path.exists():
        raise InvalidInput(f"{name} does not come with this installation; name a file instead")
    return path


def _read_graph(path: str | None) -> Bundle | None:
    if path is None:
        return None
    from ctx_core.graph.model import Bundle  # noqa: PLC0415

    try:
        values = json.loads(read_text(path))
    except ValueError as error:
        raise InvalidInput(f"{path!r} is not JSON: {error}") from None
    if not isinstance(values, dict):
        raise InvalidInput(f"{path!r} holds no graph: expected an object with root_node_id, nodes and relations")
    return Bundle.from_dict(values)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot write {str(path)!r}: {error.strerror}") from None
