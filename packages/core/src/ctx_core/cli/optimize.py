"""`ctx optimize FILE`: print a file in fewer tokens."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ctx_core.cli.files import budget, read_text
from ctx_core.optimize.content import ContentType

if TYPE_CHECKING:
    import argparse


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage] - argparse names no public type for it
    """Declare the sub-command."""
    parser = subparsers.add_parser("optimize", help="print a file in fewer tokens")
    parser.add_argument("file", help="a text file, or - for standard input")
    parser.add_argument("--max-tokens", type=budget, metavar="N", help="the most tokens; without it, the natural level")
    parser.add_argument("--query", help="what the reader will ask; matching parts are kept longest")
    parser.add_argument(
        "--type", choices=[kind.value for kind in ContentType], help="the kind, if it should not be detected"
    )
    parser.add_argument("--code", action="store_true", help="shorten code to its outline, too")
    parser.add_argument("--settings", metavar="FILE", help="settings as YAML: where originals are kept (ccr_url)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the shorter text; figures go to standard error."""
    from ctx_core.optimize.optimizer import ContextOptimizer  # noqa: PLC0415
    from ctx_core.settings import CtxSettings  # noqa: PLC0415

    text = read_text(args.file)
    store = CtxSettings.load(args.settings).ccr_store() if args.settings else None
    optimizer = ContextOptimizer(store, compress_code=args.code)
    result = optimizer.optimize(
        text, max_tokens=args.max_tokens, query=args.query, content_type=args.type and ContentType(args.type)
    )
    print(result.compressed)
    share = result.compressed_tokens / max(result.original_tokens, 1)
    print(
        f"{result.content_type}: {result.original_tokens} tokens to {result.compressed_tokens} ({share:.0%})",
        file=sys.stderr,
    )
    return 0
