"""The `ctx` command: one sub-command a module; bad input is one line on standard error and exit code 2."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from ctx_core import __version__
from ctx_core.cli import dead_letter, demo, detect, optimize, project
from ctx_core.errors import CtxError, InvalidInput, MissingExtra, NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMMANDS = (demo, optimize, detect, project, dead_letter)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one sub-command and return its exit code: 0 done, 1 failed, 2 bad input."""
    parser = argparse.ArgumentParser(prog="ctx", description="A context engine for LLM applications.")
    parser.add_argument("--version", action="version", version=f"ctx {__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add_parser(subparsers)
    args = parser.parse_args(argv)
    try:
        return args.run(args)
    except (InvalidInput, MissingExtra, NotFound) as error:
        print(f"ctx: {error}", file=sys.stderr)
        return 2
    except CtxError as error:
        print(f"ctx: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        sys.stderr.close()
        return 0


if __name__ == "__main__":
    sys.exit(main())
