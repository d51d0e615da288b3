"""Names in NATS: any id becomes one token, and two ids never the same."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from ctx_core.errors import InvalidSettings

if TYPE_CHECKING:
    from ctx_core.kernel.commands import Aggregate

_PREFIX: Final = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
# Servers refuse control lines above 4 KB; a subject holds two ids.
_LONGEST_TOKEN: Final = 500


@dataclass(frozen=True, slots=True)
class Names:
    """Streams and subjects below one prefix, so that several kernels can share a server."""

    prefix: str = "ctx"

    def __post_init__(self) -> None:
        """Check the prefix."""
        if not _PREFIX.fullmatch(self.prefix):
            raise InvalidSettings(f"a prefix is made of letters, digits, - and _, joined by dots, not {self.prefix!r}")

    @property
    def event_stream(self) -> str:
        """The stream that holds the log."""
        return f"{self.prefix.upper().replace('.', '_')}_EVENTS"

    @property
    def dead_stream(self) -> str:
        """The stream that holds events nobody could project."""
        return f"{self.prefix.upper().replace('.', '_')}_DEAD"

    @property
    def all_events(self) -> str:
        """The subjects of all events."""
        return f"{self.prefix}.evt.>"

    def dead(self, consumer: str) -> str:
        """The subject of what one consumer could not project."""
        return f"{self.prefix}.dead.{token(consumer)}"

    def aggregate(self, aggregate: Aggregate) -> str:
        """The subjects of all events of one aggregate."""
        return f"{self.prefix}.evt.{token(aggregate.root_node_id)}.{token(aggregate.role)}.*"

    def event(self, aggregate: Aggregate, idempotency_key: str | None) -> str:
        """The subject of one event: the key in it is what makes the event its own idempotency record."""
        key = "-" if idempotency_key is None else hashlib.sha256(idempotency_key.encode()).hexdigest()[:40]
        return self.aggregate(aggregate)[:-1] + key


def token(text: str) -> str:
    """Return one subject token for any text; two texts never share one."""
    encoded = quote(text, safe="").replace(".", "%2E")
    # "#" never comes out of quoting, so a digest cannot be mistaken for an id.
    return encoded if len(encoded) <= _LONGEST_TOKEN else f"#{hashlib.sha256(text.encode()).hexdigest()}"
