"""Pixels, pages and seconds, read out of the bytes of a file; None where they do not tell."""

from __future__ import annotations

import re
import struct
import zlib
from typing import Final

# Cameras write previews of up to 64 KB in front of the size of a JPEG.
HEADER_BYTES: Final = 128 * 1024
_PAGE: Final = re.compile(rb"/Type\s{0,4}/Page\b(?!s)")
_COUNT: Final = re.compile(rb"/Count\s{1,4}(\d{1,6})")
_STREAM: Final = re.compile(rb"/ObjStm\b.{0,400}?stream\r?\n", re.DOTALL)
# An object stream holds a few hundred dictionaries; one that unpacks to more is no list of pages.
_MOST_UNPACKED: Final = 4 * 1024 * 1024
_MOST_STREAMS: Final = 200
# A scanned page in black and white takes about this much, a printed one less.
_PAGE_BYTES: Final = 100_000
# Frames that tell the size of a JPEG: all starts of frame but those that are tables.
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def kind_of(head: bytes) -> str | None:
    """Name what a file is by its first bytes: `image`, `audio`, `video` or `document`."""
    if head.startswith((b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"BM")) or head[8:12] == b"WEBP":
        return "image"
    if head.startswith(b"%PDF"):
        return "document"
    if head.startswith((b"ID3", b"OggS", b"fLaC")) or head[8:12] == b"WAVE":
        return "audio"
    return "video" if head[4:8] == b"ftyp" or head.startswith(b"\x1aE\xdf\xa3") else None


def image_size(head: bytes) -> tuple[int, int] | None:
    """Return width and height of a PNG, GIF, JPEG or WebP."""
    try:
        size = _size(head)
    except struct.error:
        return None
    return size if size and min(size) > 0 else None


def _size(head: bytes) -> tuple[int, int] | None:
    if head.startswith(b"\x89PNG"):
        return struct.unpack(">II", head[16:24])
    if head.startswith(b"GIF8"):
        return struct.unpack("<HH", head[6:10])
    if head.startswith(b"\xff\xd8"):
        return _jpeg_size(head)
    return _webp_size(head) if head[8:12] == b"WEBP" else None


def _jpeg_size(head: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker, length = head[at + 1], struct.unpack(">H", head[at + 2 : at + 4])[0]
        if marker in _FRAMES:
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return width, height
        at += 2 + length
    return None


def _webp_size(head: bytes) -> tuple[int, int] | None:
    form = head[12:16]
    if form == b"VP8X":
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if form == b"VP8L":
        bits = struct.unpack("<I", head[21:25])[0]
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if form == b"VP8 ":
        width, height = struct.unpack("<HH", head[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return None


def page_count(data: bytes) -> int:
    """Return how many pages a document has: as a PDF says, else by its length, at least one."""
    if not data.startswith((b"%PDF", b"PK")):
        return 1
    told = _pages_told(data)
    if not told:
        unpacked = (
            _unpacked(data[found.end() :])
            for found, _ in zip(_STREAM.finditer(data), range(_MOST_STREAMS), strict=False)
        )
        told = max(map(_pages_told, unpacked), default=0)
    return told or max(1, len(data) // _PAGE_BYTES)


def _pages_told(data: bytes) -> int:
    counts = (int(found[1]) for found in _COUNT.finditer(data))
    # Outlines have counts too, but a page that is counted has to be there.
    pages = sum(1 for _ in _PAGE.finditer(data))
    return pages or min(max(counts, default=0), max(1, len(data) // 100))


def _unpacked(data: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(data, _MOST_UNPACKED)
    except zlib.error:
        return b""


def wav_seconds(head: bytes, length: int) -> float | None:
    """Return how long a WAV file of `length` bytes plays."""
    if head[8:12] != b"WAVE" or len(head) < 32:
        return None
    rate = struct.unpack("<I", head[28:32])[0]
    return length / rate if rate else None
