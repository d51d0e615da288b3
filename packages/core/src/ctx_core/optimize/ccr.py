"""Compress, cache, retrieve: originals kept under their content hash, and the hint that names one."""

from __future__ import annotations

import hashlib
import re
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
    "content_hash",
    "decode",
    "encode",
    "excerpt",
    "hint",
    "hints_in",
    "normalized_ref",
    "own_ref",
    "without_hints",
]

_REF: Final = re.compile(rf"[0-9a-f]{{{HINT_LENGTH},{HASH_LENGTH}}}")
_HINT: Final = re.compile(
    r"<!-- CCR:([0-9a-f]{12,64}) — full content available via retrieval(?: with the tool [\w.:-]{1,64})? -->"
)
# Markers of other products: `<<ccr:…>>`, and a bracket that says what was left out and gives a hash for it.
_FOREIGN: Final = re.compile(
    r"<<ccr:[0-9a-f]{8,64}(?:[ ,][\w ,.]{0,60})?>>"
    r"|\[[\w ,.:]{0,120}\b(?:compress|offload|omit|retrieve)[\w ,.:]{0,120}\bhash=[0-9a-f]{8,64}[\w ,.]{0,60}\]",
    re.IGNORECASE,
)

_WORD: Final = re.compile(r"\w+")
_AROUND: Final = 2


class CcrStore(Protocol):
    """Holds original content under its content hash."""

    def put(self, content: str) -> str:
        """Store `content` and return its full hash; storing twice is a no-op."""
        ...

    def get(self, ref: str) -> str:
        """Return the original behind a hash or a prefix of at least 12 hex digits of it.

        Raises:
            ContentNotFound: Nothing is stored under `ref`, it is no hash, or it could mean two originals.
            ContentExpired: An original was stored under `ref`, and it is gone.
        """
        ...


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
    """Return every hint line of ours or of another product that `text` holds, as written, in order."""
    if not any(sign in text for sign in ("CCR:", "ccr:", "hash=")):
        return []
    found = [*_HINT.finditer(text), *_FOREIGN.finditer(text)]
    return [match.group() for match in sorted(found, key=lambda match: match.start())]


def without_hints(text: str) -> str:
    """Return `text` without the hints that `hints_in` finds, and without the line ends before them."""
    for line in hints_in(text):
        text = text.replace(f"\n{line}", "", 1) if f"\n{line}" in text else text.replace(line, "", 1)
    return text


def own_ref(hint_line: str) -> str | None:
    """Return the hash digits of a hint of ours, None for any other text."""
    match = _HINT.fullmatch(hint_line)
    return match.group(1) if match else None


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
