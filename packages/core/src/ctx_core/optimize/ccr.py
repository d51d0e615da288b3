"""Compress, cache, retrieve: originals kept under their content hash, and the hint that names one."""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from threading import Lock
from typing import Final, Protocol

from ctx_core.errors import InvalidInput
from ctx_core.markers import HINT_LENGTH, hint, page_of
from ctx_core.tokens import whole_graphemes

HASH_LENGTH: Final = 64
PAGE_CHARS: Final = 8_000

__all__ = [
    "HASH_LENGTH",
    "HINT_LENGTH",
    "PAGE_CHARS",
    "CcrStore",
    "HandedOut",
    "content_hash",
    "decode",
    "encode",
    "excerpt",
    "hint",
    "hints_in",
    "last_hint",
    "normalized_ref",
    "own_ref",
    "owner_scope",
    "scope_digest",
    "without_hints",
]

_REF: Final = re.compile(rf"[0-9a-f]{{{HINT_LENGTH},{HASH_LENGTH}}}")
_HINT_OPENS: Final = "<!-- CCR:"
_HINT_CHARS: Final = 256
_HINT: Final = re.compile(
    r"<!-- CCR:([0-9a-f]{12,64}) — full content available via retrieval(?: with the tool [\w.:-]{1,64})? -->"
)
_HINT_LINE: Final = re.compile(rf"\n?{_HINT.pattern}")

_WORD: Final = re.compile(r"\w+")
_AROUND: Final = 2


class CcrStore(Protocol):
    """Holds original content under its content hash, for one owner at a time.

    A scope says whose an original is: a user's, a conversation's, a tenant's. It is any string; the empty one is that of
    callers who name no owner. What one scope holds cannot be told from another, not even that it is there.
    """

    def put(self, content: str, *, scope: str = "") -> str:
        """Store `content` for a scope and return its full hash; storing twice is a no-op."""
        ...

    def get(self, ref: str, *, scope: str = "") -> str:
        """Return the original behind a hash or a prefix of at least 12 hex digits of it.

        Raises:
            ContentNotFound: The scope holds nothing under `ref`, it is no hash, or it could mean two originals.
            ContentExpired: The scope held an original under `ref`, and it is gone.
        """
        ...

    def delete_scope(self, scope: str) -> int:
        """Forget all that a scope holds, hashes included; return how many originals that were."""
        ...


def owner_scope(*, user_id: str | None = None, conversation_id: str | None = None) -> str:
    """Return the scope of what belongs to a user or else to a conversation; empty if neither is known.

    A user and a conversation of one name are two owners.
    """
    if user_id:
        return f"user:{user_id}"
    return f"conversation:{conversation_id}" if conversation_id else ""


def scope_digest(scope: str) -> str:
    """Return a scope as 32 hex digits, for the keys of stores that take no arbitrary text."""
    return hashlib.sha256(encode(scope)).hexdigest()[:32]


def content_hash(content: str) -> str:
    """Return the SHA-256 of `content` in UTF-8, as 64 hex digits; lone surrogates are hashed as they are."""
    return hashlib.sha256(encode(content)).hexdigest()


def encode(content: str) -> bytes:
    """Return `content` as the bytes that a store keeps; `decode` gives every string back exactly."""
    return content.encode("utf-8", "surrogatepass")


def decode(raw: bytes) -> str:
    """Return the string that `encode` turned into `raw`."""
    return raw.decode("utf-8", "surrogatepass")


def normalized_ref(ref: str) -> str | None:
    """Return `ref` in lower case if it can name an original: 12 to 64 hex digits; None otherwise."""
    lowered = ref.lower()
    return lowered if _REF.fullmatch(lowered) else None


def hints_in(text: str) -> list[str]:
    """Return everything in `text` that has the form of a hint, as written, in order. Whether it is one, a look-up says."""
    return [match.group() for match in _HINT.finditer(text)] if _HINT_OPENS in text else []


def last_hint(text: str) -> str | None:
    """Return the hint that ends `text`, None if it ends otherwise."""
    start = text.rfind(_HINT_OPENS, max(0, len(text) - _HINT_CHARS))
    return text[start:] if start >= 0 and _HINT.fullmatch(text, start) else None


def own_ref(hint_line: str) -> str | None:
    """Return the hash digits of a hint of ours, None for any other text."""
    match = _HINT.fullmatch(hint_line)
    return match.group(1) if match else None


def without_hints(text: str) -> str:
    """Return `text` without the hints that `hints_in` finds, and without the line ends before them."""
    return _HINT_LINE.sub("", text)


class HandedOut:
    """Remembers, by hash, the texts that were handed out with a hint, so that shrinking one again keeps its hint.

    A hint in any other text proves nothing: whoever writes a text can write one. Safe to share between threads.
    """

    def __init__(self, most: int = 4096) -> None:
        self._most = most
        self._known: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._lock = Lock()

    def add(self, text: str, *, scope: str) -> None:
        """Remember a text that ends in a hint."""
        with self._lock:
            self._known[scope, content_hash(text)] = None
            if len(self._known) > self._most:
                self._known.popitem(last=False)

    def hints(self, text: str, *, scope: str) -> list[str]:
        """Return the hints of `text` if it is nothing but texts that were handed out, one below the other."""
        if last_hint(text) is None:
            return []
        found: list[str] = []
        start = 0
        for match in _HINT.finditer(text):
            if (scope, content_hash(text[start : match.end()].lstrip("\n"))) not in self._known:
                return []
            found.append(match.group())
            start = match.end()
        return found

    def __reduce__(self) -> tuple[type[HandedOut], tuple[int]]:
        return HandedOut, (self._most,)


def excerpt(
    content: str,
    *,
    query: str | None = None,
    lines: tuple[int, int] | None = None,
    page: int | None = None,
    page_chars: int = PAGE_CHARS,
) -> str:
    """Return the part of an original that was asked for, quoted as it is; all of it if nothing was asked.

    Args:
        content: The original.
        query: Keep the lines that hold a word of it, each with its number and two lines around it.
        lines: First and last line, counted from 1, both included.
        page: Which page of what the other arguments leave, counted from 1.
        page_chars: The most characters of a page.
    """
    chosen = content
    if lines is not None:
        chosen = _line_range(content, *lines)
    if query is not None:
        chosen = _matching(chosen, query, first=lines[0] if lines else 1)
    return chosen if page is None else _page(chosen, page, page_chars)


def _line_range(content: str, first: int, last: int) -> str:
    if first < 1 or last < first:
        raise InvalidInput(f"lines are counted from 1 and the first is not after the last; got {first} to {last}")
    return "\n".join(content.split("\n")[first - 1 : last])


def _matching(content: str, query: str, *, first: int) -> str:
    words = {word.lower() for word in _WORD.findall(query)}
    lines = content.split("\n")
    hits = [i for i, line in enumerate(lines) if words and any(word in line.lower() for word in words)]
    shown = sorted({i for hit in hits for i in range(max(0, hit - _AROUND), min(len(lines), hit + _AROUND + 1))})
    if not shown:
        return f"[no line of {len(lines)} holds a word of {query!r}]"
    out: list[str] = []
    for position, i in enumerate(shown):
        if position and shown[position - 1] != i - 1:
            out.append("--")
        out.append(f"{first + i}: {lines[i]}")
    return "\n".join(out)


def _page(content: str, page: int, page_chars: int) -> str:
    pages = _pages(content, page_chars)
    if not 1 <= page <= len(pages):
        raise InvalidInput(f"there are pages 1 to {len(pages)}, got {page}")
    return f"{pages[page - 1]}\n{page_of(page, len(pages))}" if len(pages) > 1 else content


def _pages(content: str, page_chars: int) -> list[str]:
    """Cut at line ends where there are any; a longer line is cut between graphemes."""
    pages: list[str] = []
    start = 0
    while start < len(content) or not pages:
        end = min(len(content), start + page_chars)
        if end < len(content):
            newline = content.rfind("\n", start, end)
            end = newline + 1 if newline > start else max(start + 1, whole_graphemes(content, end))
        pages.append(content[start:end])
        start = end
    return pages
