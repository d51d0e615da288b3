"""Which blocks of a text are ours: those that were written here, word for word, and no others.

Anyone can type the tags of a block. So a block that comes back in a prompt is taken for ours only if this process has
written it, or a store of the conversation says that another process has; every other one is text.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ctx_core.markers.blocks import Tag

# About 2 MB of digests. A block that was forgotten is text, and the next prompt holds a new one.
_REMEMBERED: Final = 16_384


class _Written:
    """Digests of the newest blocks; safe to share between threads."""

    def __init__(self) -> None:
        self._digests: OrderedDict[bytes, None] = OrderedDict()
        self._lock = Lock()

    def add(self, block: str) -> None:
        digest = _digest(block)
        with self._lock:
            self._digests[digest] = None
            self._digests.move_to_end(digest)
            if len(self._digests) > _REMEMBERED:
                self._digests.popitem(last=False)

    def __contains__(self, block: str) -> bool:
        return _digest(block) in self._digests


def _digest(block: str) -> bytes:
    return blake2b(block.encode("utf-8", "surrogatepass"), digest_size=16).digest()


_WRITTEN: Final = _Written()


def remember_block(block: str) -> None:
    """Take a block for ours from now on, wherever it stands."""
    _WRITTEN.add(block)


def is_written(block: str) -> bool:
    """Say whether a block is one of ours, word for word."""
    return block in _WRITTEN


def find_blocks(text: str, tag: Tag) -> Iterator[tuple[int, int]]:
    """Yield where everything stands that has the form of a block, ours or not; no two of them overlap."""
    opening, closing = f"<{tag}>\n", f"\n</{tag}>"
    done = 0
    while (end := text.find(closing, done)) >= 0:
        # What stands in a block is escaped, so that the last opening tag before the end is its own.
        start = text.rfind(opening, done, end)
        end += len(closing)
        if start >= 0:
            yield start, end
        done = end


def split_blocks(text: str, tag: Tag, *, is_ours: Callable[[str], bool] = is_written) -> tuple[list[str], list[str]]:
    """Return the texts around the blocks of ours in `text`, and those blocks; the empty lines that set them off belong to neither."""
    around: list[str] = []
    blocks: list[str] = []
    done = 0
    for start, end in find_blocks(text, tag):
        if is_ours(text[start:end]):
            around.append(text[done:start])
            blocks.append(text[start:end])
            done = end
    around.append(text[done:])
    if blocks:
        around = [
            piece.removeprefix("\n\n" if at else "").removesuffix("\n\n" if at < len(blocks) else "")
            for at, piece in enumerate(around)
        ]
    return [piece for piece in around if piece], blocks
