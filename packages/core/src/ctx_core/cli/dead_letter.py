"""`ctx dead-letter`: events that nobody could project; look at them, try again, or let them go."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from ctx_core.cli.servers import add_server_arguments, connect_nats, open_projection
from ctx_core.errors import CtxError
from ctx_core.kernel.ports import RecordedEvent

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from ctx_core.kernel.projection import Projection
    from ctx_core.kernel.worker import DeadLetter, DeadLetters


def add_parser(subparsers: Any) -> None:
    """Add the `dead-letter` command."""
    parser: ArgumentParser = subparsers.add_parser(
        "dead-letter", help="list, replay or discard events that were buried"
    )
    actions = parser.add_subparsers(dest="action", required=True)
    listed = actions.add_parser("list", help="print a line of JSON for each letter")
    add_server_arguments(listed, "events")
    replayed = actions.add_parser("replay", help="project letters again; those that work out are removed")
    add_server_arguments(replayed, "events", "graph", "details")
    replayed.add_argument("letter_ids", nargs="*", type=int, metavar="ID", help="letters to replay (default all)")
    discarded = actions.add_parser("discard", help="remove letters that will never work out")
    add_server_arguments(discarded, "events")
    discarded.add_argument("letter_ids", nargs="+", type=int, metavar="ID", help="letters to remove")
    parser.set_defaults(run=run)


def run(args: Namespace) -> int:
    """Carry out the action; return 1 when a letter that was to be replayed failed again."""
    with ExitStack() as resources:
        letters = _letters(args, resources)
        if args.action == "list":
            for letter in letters.letters():
                sys.stdout.write(f"{_line(letter)}\n")
            return 0
        chosen = [item for item in letters.letters() if not args.letter_ids or item.letter_id in args.letter_ids]
        if args.action == "discard":
            for letter in chosen:
                letters.discard(letter)
            return 0
        projection = open_projection(args, resources)
        return max((_replay(letter, letters, projection) for letter in chosen), default=0)


def _replay(letter: DeadLetter, letters: DeadLetters, projection: Projection) -> int:
    from ctx_core.kernel.events import parse_event  # noqa: PLC0415 - events need pydantic, other commands do not

    try:
        projection.apply([RecordedEvent(position=letter.position, event=parse_event(letter.body))])
    except CtxError as error:
        sys.stdout.write(f"letter {letter.letter_id} fails again: {error}\n")
        return 1
    letters.discard(letter)
    sys.stdout.write(f"letter {letter.letter_id} is projected\n")
    return 0


def _line(letter: DeadLetter) -> str:
    return json.dumps(
        {
            "letter_id": letter.letter_id,
            "position": letter.position,
            "attempts": letter.attempts,
            "buried_at": letter.buried_at.isoformat(),
            "reason": letter.reason,
        }
    )


def _letters(args: Namespace, resources: ExitStack) -> DeadLetters:
    from ctx_core.stores.nats.feed import NatsDeadLetters  # noqa: PLC0415 - needs an extra

    return NatsDeadLetters(connect_nats(args, resources), consumer=args.consumer)
