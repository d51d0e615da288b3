"""Where archives are kept: the port to a blob store, and the keys and JSON of what is in it."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable
from urllib.parse import quote

from ctx_core.errors import InvalidInput, StoreCorrupt
from ctx_core.rehydrate.turns import Turn, turn_from_json, turn_to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

VECTORS: Final = "-vectors"
"""What the prefix of vectors has more than the prefix of archives."""

_MOST_KEY_BYTES: Final = 180
_STAMP: Final = re.compile(r"(\d{9,16})(?:-(\d+))?[^/]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobRef:
    """One stored blob: its key, and a tag that is another one whenever its bytes are others."""

    key: str
    etag: str


class BlobStore(Protocol):
    """Holds immutable blobs under keys such as `evictions/user-1/1764520000000-0.json`."""

    def list(self, prefix: str) -> Sequence[BlobRef]:
        """Return every blob whose key starts with `prefix`, which ends in a slash; in any order."""
        ...

    def get(self, key: str) -> bytes:
        """Return a blob, or raise `ContentNotFound`."""
        ...

    def put(self, key: str, data: bytes) -> bool:
        """Store a blob unless the key is taken, and say whether it was stored; of two writers at once, one wins.

        It raises unless the blob is safe by then, as the turns in it may be nowhere else.
        """
        ...

    def delete(self, keys: Iterable[str]) -> None:
        """Remove blobs; keys that are not there are no error."""
        ...


@runtime_checkable
class LeavesUnfinished(Protocol):
    """A blob store whose writers leave something behind when they are killed."""

    def delete_unfinished(self, prefix: str) -> None:
        """Remove what writers that died left under `prefix`."""
        ...


def user_folder(user_id: str) -> str:
    """Return one path segment for a user's id, such that no two ids share one and none reaches out of its place.

    Plain ids stay readable. Other characters are percent-encoded, and what would be longer than 180 bytes is hashed.
    """
    if not isinstance(user_id, str) or not user_id:  # pyright: ignore[reportUnnecessaryIsInstance] - the wall between users
        raise InvalidInput(f"a user id is a non-empty string, not {user_id!r}")
    # quote() lets dots, tildes, hyphens and underscores pass: a leading dot could climb, and a tilde marks a hash.
    encoded = quote(user_id, safe="@+", errors="surrogatepass").replace("~", "%7E")
    if encoded.startswith("."):
        encoded = "%2E" + encoded[1:]
    if len(encoded) <= _MOST_KEY_BYTES:
        return encoded
    return "~" + hashlib.sha256(user_id.encode("utf-8", "surrogatepass")).hexdigest()


def stamp_of(key: str) -> tuple[int, int]:
    """Return milliseconds and number out of a key, both 0 if it has none; stamps in seconds are read as such."""
    found = _STAMP.match(key.rsplit("/", 1)[-1])
    if not found:
        return 0, 0
    stamp = int(found[1])
    return stamp * 1000 if stamp < 10**11 else stamp, int(found[2] or 0)


def vector_key(key: str, *, model: str, dimension: int) -> str:
    """Return where the vectors of an archive are kept: not among the archives, whose readers would take them for one."""
    prefix, user, name = key.rsplit("/", 2)
    return f"{prefix}{VECTORS}/{user}/{name.removesuffix('.json')}.{user_folder(model)}-{dimension}.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """The content of one blob.

    Args:
        turns: The turns, oldest first.
        evicted_at_ms: When they left the window, in milliseconds since 1970; 0 if unknown.
        user_id: Whose they are; None in archives that others wrote.
        attempt: Names the call that wrote them, so that a write whose answer was lost and its repetition count once.
    """

    turns: tuple[Turn, ...]
    evicted_at_ms: int
    user_id: str | None = None
    attempt: str | None = None


def encode(archived: Archived, *, session_id: str | None = None, summary: str | None = None) -> bytes:
    """Return a blob's bytes: JSON that a reader of `messages` and `evictedAt` alone understands too."""
    document: dict[str, Any] = {
        "schema": 1,
        "messages": [turn_to_json(turn) for turn in archived.turns],
        "evictedAt": archived.evicted_at_ms,
        "userId": archived.user_id,
        "attempt": archived.attempt,
        "sessionId": session_id,
        "summary": summary,
    }
    kept = {key: value for key, value in document.items() if value is not None}
    return json.dumps(kept, ensure_ascii=True, separators=(",", ":"), default=str).encode()


def decode(key: str, data: bytes) -> Archived:
    """Read a blob, or raise `StoreCorrupt`; single messages that make no sense are skipped, as other turns still do."""
    try:
        document = json.loads(data)
    except ValueError as error:  # covers broken UTF-8 as well
        raise StoreCorrupt(f"{key} holds no JSON") from error
    messages = document.get("messages") if isinstance(document, dict) else None
    if not isinstance(messages, list):
        raise StoreCorrupt(f"{key} holds no list of messages")
    session = document.get("sessionId")
    evicted_at = document.get("evictedAt")
    return Archived(
        turns=tuple(turn_from_json(raw, session_id=session) for raw in messages if isinstance(raw, dict)),
        evicted_at_ms=int(evicted_at) if isinstance(evicted_at, int | float) else stamp_of(key)[0],
        user_id=document.get("userId"),
        attempt=document.get("attempt"),
    )
