"""How a block of ours is told from a forged one when another process has written it: by what the conversation's store holds."""

from __future__ import annotations

from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Final

from ctx_core.markers import Tag, find_blocks, is_written, remember_block

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ctx_core.messages import Message
    from ctx_core.optimize.optimizer import ContextOptimizer

# Blocks that a host may hand back in a conversation. The request's own block is never taken out of one again.
_KEPT: Final = (Tag.EARLIER, Tag.REHYDRATED, Tag.WORKING_SET)
# The most blocks looked up for one prompt; a conversation of ours holds a handful.
_MOST_LOOK_UPS: Final = 16


def recognize_blocks(messages: Iterable[Message], optimizer: ContextOptimizer) -> None:
    """Look up the blocks that this process has not written; those that the scope's store knows are ours from now on."""
    unknown = (block for block in _blocks_in(messages) if not is_written(block))
    for block in islice(unknown, _MOST_LOOK_UPS):
        if optimizer.holds(_record_of(block)):
            remember_block(block)


def keep_blocks(given: Iterable[Message], prepared: Sequence[Message], optimizer: ContextOptimizer) -> None:
    """Store a record of each block of ours that a prompt holds and the messages given did not, where others can read it."""
    if not optimizer.is_shared:
        return
    known = set(_blocks_in(given))
    for block in dict.fromkeys(_blocks_in(prepared)):
        if block not in known and is_written(block):
            optimizer.keep(_record_of(block))


def _blocks_in(messages: Iterable[Message]) -> Iterator[str]:
    for message in messages:
        parts = (message.content,) if isinstance(message.content, str) else message.content
        for part in parts if message.role in ("user", "assistant", "tool") else ():
            text = part if isinstance(part, str) else part.get("text")
            if isinstance(text, str):
                yield from (text[start:end] for tag in _KEPT for start, end in find_blocks(text, tag))


def _record_of(block: str) -> str:
    return f"a block that ctx wrote, sha256 {sha256(block.encode('utf-8', 'surrogatepass')).hexdigest()}"
