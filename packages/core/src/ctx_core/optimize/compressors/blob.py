"""Encoded bytes: base64 and data URIs, told in one line."""

from __future__ import annotations

import hashlib
import re
from typing import Final

from ctx_core.optimize.compressors.base import Budget, Compressed, Omission

# Encoded bytes in one run; a run this long says nothing to a reader, and costs a token for every two or three characters.
_RUN: Final = re.compile(
    r"(?:data:(?P<mime>[\w.+-]{1,80}/[\w.+-]{1,80})?(?:;[\w=.+-]{1,80}){0,4};base64,)?(?:(?<![A-Za-z0-9+/_\\-])|(?<=\\[nrt]))"
    r"(?P<bytes>[A-Za-z0-9+/_-]{60,}(?:(?:\r?\n|\\n|\\r\\n)[A-Za-z0-9+/_-]{60,})*(?:(?:\r?\n|\\n|\\r\\n)[A-Za-z0-9+/_-]{1,59})?={0,2})"
)
_MIN_RUN: Final = 512
# A run of at least `_MIN_RUN` goes on for this long behind one of the places that are looked at, line ends included.
_STEP: Final = 192
_INSIDE: Final = re.compile(r"[A-Za-z0-9+/_\\\r\n-]{256}")
_HEX: Final = frozenset("0123456789abcdefABCDEF")
# First characters of base64 of well-known files: what their first bytes encode to.
_MAGIC: Final = {
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
    "JVBERi0": "application/pdf",
    "UEsDB": "application/zip",
    "H4sI": "application/gzip",
    "PHN2Zy": "image/svg+xml",
}


class BlobCompressor:
    """Replaces runs of encoded bytes by their type, size and hash."""

    def compress(self, text: str, budget: Budget, *, query: str | None = None) -> Compressed:
        """Return `text` with a marker in place of each run of at least 512 encoded characters."""
        del budget, query
        return without_blobs(text)


def without_blobs(text: str) -> Compressed:
    """Return `text` with a marker in place of each run of at least 512 encoded characters; all else stays as it is."""
    if not any(_INSIDE.match(text, position) for position in range(0, len(text), _STEP)):
        return Compressed(text=text)
    omissions: list[Omission] = []

    def marker(match: re.Match[str]) -> str:
        run = match.group("bytes")
        if len(run) < _MIN_RUN or not _is_encoded(run):
            return match.group()
        encoding, size = _measure(run)
        omissions.append(Omission(what="bytes", count=size))
        mime = match.group("mime") or next((name for magic, name in _MAGIC.items() if run.startswith(magic)), "binary")
        digest = hashlib.sha256(run.encode()).hexdigest()[:12]
        return f"[{mime}, {size} bytes in {encoding}, sha256 {digest}]"

    shorter = _RUN.sub(marker, text)
    return Compressed(text=shorter, omissions=tuple(omissions)) if omissions else Compressed(text=text)


def _is_encoded(run: str) -> bool:
    """Say whether a run mixes its letters and digits as encoded bytes do, and a rule of dashes or a long name does not."""
    letters = set(run[:_MIN_RUN])
    if letters <= _HEX:
        return len(letters) > 8
    return len(letters) > 24 and any(c.isupper() for c in letters) and any(c.islower() for c in letters)


def _measure(run: str) -> tuple[str, int]:
    digits = len(re.sub(r"\\[nr]|\s|=", "", run))
    return ("hex", digits // 2) if set(run[:_MIN_RUN]) <= _HEX else ("base64", digits * 3 // 4)
