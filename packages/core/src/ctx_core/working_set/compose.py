"""The prompt that a plan stands for: where the digest and the notes stand among the messages, and how they read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctx_core.markers import Tag, split_blocks, write_block
from ctx_core.messages import Message
from ctx_core.rehydrate.summary import LEAD, attach
from ctx_core.working_set.text import render_pieces

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ctx_core.working_set.planner import Plan
    from ctx_core.working_set.record import Record
    from ctx_core.working_set.selection import Chosen, Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """A prompt that was put together.

    Args:
        messages: The messages, digest and notes among them.
        left: Positions of the messages that are not shown.
        summary: The block that stands for those; empty where nothing left.
    """

    messages: list[Message]
    left: tuple[int, ...]
    summary: str


def compose_prompt(record: Record, plan: Plan, *, is_archived: bool) -> Composed:
    """Return the messages of a planned prompt.

    The digest ends the user's first message, or is a message of its own where there is none or where another request of the user
    follows at once. A note ends the message behind which it stands, so that no role is repeated and no call is parted from its result.
    """
    shown = [at for at in range(len(record.shown)) if at in record.pinned or at in plan.kept or at >= plan.start]
    left = tuple(at for at in range(plan.start) if at not in record.pinned and at not in plan.kept)
    outdated = record.reading(len(record.given)).outdated
    count = record.carried_count + len(left)
    summary = write_digest(plan.digest, outdated, count=count, is_archived=is_archived) if count else ""
    behind = {note.behind: note.chosen for note in plan.notes}
    messages = {
        at: attach(write_note(behind[at], outdated), record.shown[at], before=False)
        if at in behind
        else record.shown[at]
        for at in shown
    }
    return Composed(messages=_place_digest(record, shown, messages, summary), left=left, summary=summary)


def _place_digest(record: Record, shown: Sequence[int], messages: dict[int, Message], summary: str) -> list[Message]:
    if not summary:
        return [messages[at] for at in shown]
    talk = [at for at in shown if not record.is_system(at)]
    task = record.task if record.task in talk[:1] else None
    following = next((at for at in talk if at != task), None)
    out = dict(messages)
    if task is not None and (following is None or record.given[following].role != "user"):
        out[task] = attach(summary, out[task], before=False)
        return [out[at] for at in shown]
    role = "assistant" if task is not None else "user"
    first = shown.index(following) if following is not None else len(shown)
    return [*(out[at] for at in shown[:first]), Message(role=role, content=summary), *(out[at] for at in shown[first:])]


def write_digest(
    parts: Sequence[Sequence[Chosen]], outdated: Mapping[Place, str], *, count: int, is_archived: bool
) -> str:
    """Return the block that stands for messages that left. Its beginning stays the same as more of them leave."""
    kept = f"{count} earlier message{'s' * (count != 1)} left this window" + (" and are archived" * is_archived)
    return write_block(Tag.EARLIER, (LEAD, *(render_pieces(part, outdated) for part in parts if part), f"[{kept}]"))


def write_note(chosen: Sequence[Chosen], outdated: Mapping[Place, str]) -> str:
    """Return the block of what one step needs."""
    return write_block(Tag.WORKING_SET, (render_pieces(chosen, outdated),))


def without_working_set(message: Message) -> Message:
    """Return a message without the notes of ours that a host hands back in it; what only looks like one stays."""
    if Tag.WORKING_SET not in message.text:
        return message
    return message.map_text(lambda text: "\n\n".join(split_blocks(text, Tag.WORKING_SET)[0]))
