"""Changes to a LangGraph messages channel, as its reducer `add_messages` wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_core.messages import BaseMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

if TYPE_CHECKING:
    from collections.abc import Sequence


def channel_update(before: Sequence[BaseMessage], after: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return what turns a channel that holds `before` into one that holds `after`; empty where nothing differs.

    Where messages only changed or left, they are named by id. A message that came in between has no id to stand at, so
    then the whole channel is replaced.
    """
    if len(before) == len(after) and all(old is new for old, new in zip(before, after, strict=True)):
        return []
    if not _in_place(before, after):
        return replaced_channel(after)
    kept = {message.id: message for message in after}
    gone = [RemoveMessage(id=message.id or "") for message in before if message.id not in kept]
    return [*gone, *(kept[old.id] for old in before if old.id in kept and kept[old.id] is not old)]


def replaced_channel(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return what makes a channel hold exactly `messages`."""
    return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *messages]


def _in_place(before: Sequence[BaseMessage], after: Sequence[BaseMessage]) -> bool:
    old, new = [message.id for message in before], [message.id for message in after]
    if None in old or len(set(old)) < len(old) or len(set(new)) < len(new):
        return False
    kept = set(new)
    return [id_ for id_ in old if id_ in kept] == new
