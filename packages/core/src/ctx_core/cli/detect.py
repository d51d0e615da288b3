"""`ctx detect FILE …`: say which kind of content each file is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctx_core.cli.files import read_text

if TYPE_CHECKING:
    import argparse


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage] - argparse names no public type for it
    """Declare the sub-command."""
    parser = subparsers.add_parser("detect", help="say which kind of content each file is")
    parser.add_argument("files", nargs="+", metavar="FILE", help="text files, or - for standard input")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print kind, language and confidence, one file a line."""
    from ctx_core.optimize.router import ContentRouter  # noqa: PLC0415

    router = ContentRouter()
    for path in args.files:
        found = router.detect(read_text(path))
        print(
            f"{path}: {found.content_type}"
            + (f" ({found.language})" if found.language else "")
            + f" {found.confidence:.2f}"
        )
    return 0
