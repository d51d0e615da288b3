"""The whole log as JSON lines: a header, an event per line, and an end that tells a whole file from a part of one."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from ctx_core.errors import Conflict, InvalidInput
from ctx_core.kernel.erasure import Erasure
from ctx_core.kernel.events import parse_event

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import TextIO

    from ctx_core.kernel.ports import EventStore, KernelStores
    from ctx_core.kernel.projection import Projection

_HEADER: Final = {"format": "ctx-log", "version": 1}


def export_log(events: EventStore, file: TextIO, *, without: Collection[str] = ()) -> int:
    """Write every event of a log, oldest first, less what it says of some nodes; return how many those were."""
    digest, count = hashlib.sha256(), 0
    erasure = Erasure.of_nodes(without, events.read() if without else ())
    file.write(f"{json.dumps(_HEADER)}\n")
    for count, item in enumerate(events.read(), start=1):  # noqa: B007 - the last one is the number of events
        line = next(erasure.apply_to([item]), item).event.to_json()
        digest.update(line)
        file.write(f"{line.decode()}\n")
    file.write(f"{json.dumps({'events': count, 'sha256': digest.hexdigest()})}\n")
    return count


def import_log(stores: KernelStores, projection: Projection, lines: Iterable[str]) -> int:
    """Append and project every event of an exported log, all or none where the stores can do so.

    Raises:
        Conflict: The log is not empty.
        InvalidInput: The file is of something else, cut short, or damaged.
    """
    rows = iter(lines)
    if _parsed(next(rows, ""), 1) != _HEADER:
        raise InvalidInput(f"the file does not start with the header {json.dumps(_HEADER)}")
    digest, count = hashlib.sha256(), 0
    with stores.writing():
        if last := stores.events.last_position():
            raise Conflict("importing a log", expected=0, actual=last)
        for row in rows:
            text = row.rstrip("\n")
            if not text.startswith('{"event_type"'):
                return _checked_end(text, count, digest.hexdigest())
            recorded = stores.events.append(parse_event(text))
            projection.apply([recorded])
            digest.update(text.encode())
            count += 1
        raise InvalidInput(f"the file ends after {count} events, without the line that ends it")


def _checked_end(text: str, count: int, digest: str) -> int:
    expected = {"events": count, "sha256": digest}
    if _parsed(text, count + 2) != expected:
        raise InvalidInput(f"the file's last line does not fit the {count} events before it")
    return count


def _parsed(text: str, number: int) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise InvalidInput(f"line {number} is not JSON") from None
