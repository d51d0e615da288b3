"""Which messages belong together: a tool call and all its results, wherever the host writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Final

from ctx_core.messages import Block, Content, Message, as_messages

_CALL_BLOCKS: Final = frozenset(("tool_use", "tool_call", "function_call", "server_tool_use", "toolUse"))
_RESULT_BLOCKS: Final = frozenset(("tool_result", "function_call_output", "server_tool_result", "toolResult"))
_RESULT_IDS: Final = ("tool_use_id", "tool_call_id", "call_id", "toolUseId")
_CALL_IDS: Final = ("call_id", "id", "toolUseId")

MISSING_RESULT: Final = "[no result was recorded for this call]"
"""What stands in for a result that `repair_tool_pairs` could not find."""


def blocks_of(content: Content) -> Iterator[Mapping[str, Any]]:
    """Yield the blocks of `content` that are mappings."""
    if not isinstance(content, str):
        yield from (block for block in content if isinstance(block, Mapping))


def call_ids(message: Message) -> list[str]:
    """Return the ids of the calls a message makes, in its tool calls or in its content blocks."""
    ids = [call.id for call in message.tool_calls]
    ids += (_id_in(block, _CALL_IDS) for block in blocks_of(message.content) if block.get("type") in _CALL_BLOCKS)
    return list(dict.fromkeys(ids))


def result_ids(message: Message) -> list[str]:
    """Return the ids of the calls a message answers, as a tool message or in its content blocks."""
    ids = [message.tool_call_id or ""] if message.role == "tool" else []
    ids += (_id_in(block, _RESULT_IDS) for block in blocks_of(message.content) if block.get("type") in _RESULT_BLOCKS)
    return list(dict.fromkeys(ids))


def _id_in(block: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next((str(block[key]) for key in keys if block.get(key)), "")


def groups_of(messages: Sequence[Message]) -> list[list[int]]:
    """Cut `messages` into groups of positions that must stay or leave together, oldest first.

    A result belongs to the latest earlier call of its id, since some providers number calls afresh at each turn. A result
    that names no call belongs to the latest message that called anything.
    """
    group_at: list[int] = []
    groups: list[list[int]] = []
    caller: dict[str, int] = {}
    latest: int | None = None
    for at, message in enumerate(messages):
        callers = [caller.get(ref, latest if not ref else None) for ref in result_ids(message)]
        homes = sorted({group_at[i] for i in callers if i is not None})
        if homes:
            home = homes[0]
            for other in homes[1:]:  # one message answers calls of two others
                for i in groups[other]:
                    group_at[i] = home
                groups[home] += groups[other]
                groups[other] = []
        else:
            home = len(groups)
            groups.append([])
        groups[home].append(at)
        group_at.append(home)
        if ids := call_ids(message):
            latest = at
            caller |= dict.fromkeys(ids, at)
    return [sorted(group) for group in groups if group]


def repair_tool_pairs(messages: Sequence[Message | Mapping[str, Any]]) -> list[Message]:
    """Return `messages` as providers accept them: every tool result right after its call, every call answered.

    Results without a call are left out, results that strayed move up to their call, and a call without a result is answered by
    `MISSING_RESULT`, except at the end, where the result is still to come. Repairing twice changes nothing.
    Results inside content blocks stay where they are; only those without a call are left out.
    """
    given = as_messages(messages)
    results = _results_by_caller(given)
    last = max((at for at, message in enumerate(given) if message.role != "tool"), default=-1)
    answered_in_blocks = {ref for message in given if message.role != "tool" for ref in result_ids(message)}
    known: set[str] = set()
    out: list[Message] = []
    for at, message in enumerate(given):
        if message.role == "tool" or (kept := _without_orphan_blocks(message, known)) is None:
            continue
        known.update(call_ids(message))
        out.append(kept)
        for call in message.tool_calls:
            if call.id in results.get(at, {}):
                out.append(results[at][call.id])
            elif at != last and call.id not in answered_in_blocks:
                out.append(Message(role="tool", content=MISSING_RESULT, tool_call_id=call.id, name=call.name or None))
    return out


def _results_by_caller(messages: Sequence[Message]) -> dict[int, dict[str, Message]]:
    caller: dict[str, int] = {}
    found: dict[int, dict[str, Message]] = {}
    for at, message in enumerate(messages):
        if message.role == "tool" and (home := caller.get(message.tool_call_id or "")) is not None:
            found.setdefault(home, {}).setdefault(message.tool_call_id or "", message)
        caller |= {call.id: at for call in message.tool_calls}
    return found


def _without_orphan_blocks(message: Message, known: AbstractSet[str]) -> Message | None:
    if isinstance(message.content, str) or not result_ids(message):
        return message
    kept = [block for block in message.content if not _is_orphan(block, known)]
    if len(kept) == len(message.content):
        return message
    return replace(message, content=kept) if kept else None


def _is_orphan(block: Block, known: AbstractSet[str]) -> bool:
    if isinstance(block, str) or block.get("type") not in _RESULT_BLOCKS:
        return False
    return _id_in(block, _RESULT_IDS) not in known
