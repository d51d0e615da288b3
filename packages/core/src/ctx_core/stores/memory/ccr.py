"""Originals kept in this process."""

from __future__ import annotations

import time
from bisect import bisect_left, insort
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any

from ctx_core.errors import ContentExpired, ContentNotFound
from ctx_core.optimize.ccr import content_hash, decode, encode, normalized_ref

if TYPE_CHECKING:
    from collections.abc import Callable


class MemoryCcrStore:
    """Keeps the most recently used originals, up to a number of entries and bytes.

    Args:
        max_entries: The most originals kept; the least recently used leaves first.
        max_bytes: The most bytes of originals kept, in UTF-8.
        ttl_seconds: How long an original can be had after it was last stored; None keeps it until it is pushed out.
        clock: Seconds since some epoch.
    """

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
        self._entries: OrderedDict[str, tuple[bytes, float]] = OrderedDict()
        self._bytes = 0
        # Hashes that were here: they tell "it has gone" from "it never was", at 64 bytes each.
        self._gone: OrderedDict[str, None] = OrderedDict()
        self._sorted: list[str] = []

    def put(self, content: str) -> str:
        """Store `content` and return its full hash; storing it again makes it the newest."""
        ref, raw = content_hash(content), encode(content)
        with self._lock:
            if ref in self._entries:
                self._entries.move_to_end(ref)
                self._entries[ref] = (raw, self._clock())
            else:
                self._add(ref, raw)
        return ref

    def get(self, ref: str) -> str:
        """Return the original behind `ref`."""
        prefix = normalized_ref(ref)
        with self._lock:
            full = self._resolve(prefix) if prefix else None
            if full is None:
                raise ContentNotFound(ref)
            if full in self._entries and self._is_expired(full):
                self._remove(full)
            if full not in self._entries:
                raise ContentExpired(ref)
            self._entries.move_to_end(full)
            raw, _ = self._entries[full]
        return decode(raw)

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

    def _add(self, ref: str, raw: bytes) -> None:
        if ref not in self._gone:
            insort(self._sorted, ref)
        self._gone.pop(ref, None)
        self._entries[ref] = (raw, self._clock())
        self._bytes += len(raw)
        # The newest stays even if it alone is over the limit: its hint is about to be handed out.
        while len(self._entries) > 1 and (len(self._entries) > self._max_entries or self._bytes > self._max_bytes):
            self._remove(next(iter(self._entries)))

    def _remove(self, ref: str) -> None:
        raw, _ = self._entries.pop(ref)
        self._bytes -= len(raw)
        self._gone[ref] = None
        while len(self._gone) > 10 * self._max_entries:
            forgotten, _ = self._gone.popitem(last=False)
            del self._sorted[bisect_left(self._sorted, forgotten)]

    def _is_expired(self, ref: str) -> bool:
        return self._ttl_seconds is not None and self._clock() - self._entries[ref][1] >= self._ttl_seconds

    def _resolve(self, prefix: str) -> str | None:
        start = bisect_left(self._sorted, prefix)
        matches = [ref for ref in self._sorted[start : start + 2] if ref.startswith(prefix)]
        return matches[0] if len(matches) == 1 else None
