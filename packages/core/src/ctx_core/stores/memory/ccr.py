"""Originals kept in this process."""

from __future__ import annotations

import time
from bisect import bisect_left, insort
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ctx_core.errors import ContentExpired, ContentNotFound
from ctx_core.optimize.ccr import content_hash, decode, encode, normalized_ref

if TYPE_CHECKING:
    from collections.abc import Callable

# The scope, and the full hash.
_Key: TypeAlias = tuple[str, str]
_AFTER_HASHES: Final = "g"


class MemoryCcrStore:
    """Keeps the most recently used originals, up to a number of entries and bytes.

    Args:
        max_entries: The most originals kept; the least recently used leaves first.
        max_bytes: The most bytes of originals kept, in UTF-8.
        ttl_seconds: How long an original can be had after it was last stored; None keeps it until it is pushed out.
        clock: Seconds since some epoch.
    """

    is_shared: Final = False

    def __init__(
        self,
        *,
        max_entries: int = 10_000,
        max_bytes: int = 256 * 1024 * 1024,
        ttl_seconds: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._ttl_seconds = ttl_seconds
        self._clock = clock
        self._lock = Lock()
        self._entries: OrderedDict[_Key, tuple[bytes, float]] = OrderedDict()
        self._bytes = 0
        # Hashes that were here: they tell "it has gone" from "it never was", at 64 bytes each.
        self._gone: OrderedDict[_Key, None] = OrderedDict()
        self._sorted: list[_Key] = []

    def put(self, content: str, *, scope: str = "") -> str:
        """Store `content` for a scope and return its full hash; storing it again makes it the newest."""
        ref, raw = content_hash(content), encode(content)
        key = (scope, ref)
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                self._entries[key] = (raw, self._clock())
            else:
                self._add(key, raw)
        return ref

    def get(self, ref: str, *, scope: str = "") -> str:
        """Return the original that a scope holds under `ref`."""
        prefix = normalized_ref(ref)
        with self._lock:
            full = self._resolve(scope, prefix) if prefix else None
            if full is None:
                raise ContentNotFound(ref)
            if full in self._entries and self._is_expired(full):
                self._remove(full)
            if full not in self._entries:
                raise ContentExpired(ref)
            self._entries.move_to_end(full)
            raw, _ = self._entries[full]
        return decode(raw)

    def delete_scope(self, scope: str) -> int:
        """Forget all that a scope holds, hashes included; return how many originals that were."""
        with self._lock:
            first, last = bisect_left(self._sorted, (scope, "")), bisect_left(self._sorted, (scope, _AFTER_HASHES))
            keys = self._sorted[first:last]
            del self._sorted[first:last]
            held = [self._entries.pop(key) for key in keys if key in self._entries]
            self._bytes -= sum(len(raw) for raw, _ in held)
            for key in keys:
                self._gone.pop(key, None)
        return len(held)

    def __len__(self) -> int:
        return len(self._entries)

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {
                name: value.copy() if hasattr(value, "copy") else value
                for name, value in self.__dict__.items()
                if name != "_lock"
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = Lock()

    def _add(self, key: _Key, raw: bytes) -> None:
        if key not in self._gone:
            insort(self._sorted, key)
        self._gone.pop(key, None)
        self._entries[key] = (raw, self._clock())
        self._bytes += len(raw)
        # The newest stays even if it alone is over the limit: its hint is about to be handed out.
        while len(self._entries) > 1 and (len(self._entries) > self._max_entries or self._bytes > self._max_bytes):
            self._remove(next(iter(self._entries)))

    def _remove(self, key: _Key) -> None:
        raw, _ = self._entries.pop(key)
        self._bytes -= len(raw)
        self._gone[key] = None
        while len(self._gone) > 10 * self._max_entries:
            forgotten, _ = self._gone.popitem(last=False)
            del self._sorted[bisect_left(self._sorted, forgotten)]

    def _is_expired(self, key: _Key) -> bool:
        return self._ttl_seconds is not None and self._clock() - self._entries[key][1] >= self._ttl_seconds

    def _resolve(self, scope: str, prefix: str) -> _Key | None:
        start = bisect_left(self._sorted, (scope, prefix))
        matches = [key for key in self._sorted[start : start + 2] if key[0] == scope and key[1].startswith(prefix)]
        return matches[0] if len(matches) == 1 else None
