"""Originals that travel in the message that was shortened, so that they live where the thread lives.

A checkpointer that keeps the thread keeps them, a copy of the thread has them, and deleting the thread deletes them. No provider is
sent what stands there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from langchain_core.messages import BaseMessage

from ctx_core.optimize.ccr import content_hash, normalized_ref

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

KEY: Final = "ctx"
"""Where in `additional_kwargs` a message holds what is ours."""


def note_of(message: BaseMessage) -> Mapping[str, Any]:
    """Return what is noted in a message; empty where nothing is."""
    note = message.additional_kwargs.get(KEY)
    return note if isinstance(note, dict) else {}


def with_note(message: BaseMessage, **note: Any) -> BaseMessage:
    """Return a message with a note added to it."""
    kwargs = {**message.additional_kwargs, KEY: {**note_of(message), **note}}
    return message.model_copy(update={"additional_kwargs": kwargs})


def is_whole(message: BaseMessage) -> bool:
    """Say whether a message was asked for whole, such as a page of an original, by whatever agent."""
    return note_of(message).get("whole") is True


def originals_in(message: BaseMessage) -> list[str]:
    """Return the originals that a message carries."""
    originals = note_of(message).get("originals")
    return [text for text in originals if isinstance(text, str)] if isinstance(originals, list) else []


def find_original(messages: Iterable[Any], ref: str) -> str | None:
    """Return the original of a thread that a reference names: what a message carries or says; None if none is of that hash."""
    prefix = normalized_ref(ref)
    if prefix is None:
        return None
    texts = (text for message in messages for text in _texts(message))
    return next((text for text in texts if content_hash(text).startswith(prefix)), None)


def _texts(message: Any) -> Sequence[str]:
    """Return everything in a message that may have been shortened: what it carries, and each text that it says."""
    if not isinstance(message, BaseMessage):
        return ()
    content = message.content
    said = [content] if isinstance(content, str) else [b if isinstance(b, str) else b.get("text") for b in content]
    return [*originals_in(message), *(text for text in said if isinstance(text, str))]
