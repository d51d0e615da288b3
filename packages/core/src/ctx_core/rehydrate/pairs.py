"""Which messages belong together, by the rules of the providers; and tool calls with their results, put right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Final

from ctx_core.messages import Block, Content, Message, as_messages
from ctx_core.provider_rules import CALLS, RESULTS, ids_in, is_unfinished, needed_ids, server_call_ids

MISSING_RESULT: Final = "[no result was recorded for this call]"
"""What stands in for a result that `repair_tool_pairs` could not find."""


def blocks_of(content: Content) -> Iterator[Mapping[str, Any]]:
    """Yield the blocks of `content` that are mappings."""
    if not isinstance(content, str):
        yield from (block for block in content if isinstance(block, Mapping))


def call_ids(message: Message) -> list[str]:
    """Return the ids of the calls a message makes, in its tool calls or in its content blocks."""
    return list(dict.fromkeys([*(call.id for call in message.tool_calls), *ids_in(message.content, CALLS)]))


def result_ids(message: Message) -> list[str]:
    """Return the ids of the calls a message answers, as a tool message or in its content blocks."""
    ids = [message.tool_call_id or ""] if message.role == "tool" else []
    return list(dict.fromkeys([*ids, *ids_in(message.content, RESULTS)]))


def groups_of(messages: Sequence[Message]) -> list[list[int]]:
    """Cut `messages` into groups of positions that must stay or leave together, oldest first; see `provider_rules`.

    A result belongs to the latest earlier call of its id, since some providers number calls afresh at each turn. A result
    that names no call belongs to the latest message that called anything.
    """
    groups = _Groups()
    caller: dict[str, int] = {}
    latest: int | None = None
    unfinished: int | None = None
    for at, message in enumerate(messages):
        homes = [caller.get(ref, latest if not ref else None) for ref in result_ids(message)]
        homes += [caller.get(ref) for ref in needed_ids(message)]
        if message.role == "assistant":
            homes.append(unfinished)
            unfinished = at if is_unfinished(message) else None
        groups.add(at, [home for home in homes if home is not None])
        if ids := call_ids(message):
            latest = at
        caller |= dict.fromkeys((*ids, *server_call_ids(message)), at)
    return groups.all()


class _Groups:
    """Positions in groups that grow together."""

    def __init__(self) -> None:
        self._group_at: list[int] = []
        self._groups: list[list[int]] = []

    def add(self, at: int, homes: Sequence[int]) -> None:
        """Put a position where `homes` are, all of which are one group then; into a group of its own if there are none."""
        found = sorted({self._group_at[home] for home in homes})
        home = found[0] if found else len(self._groups)
        if not found:
            self._groups.append([])
        for other in found[1:]:  # one message answers calls of two others
            for i in self._groups[other]:
                self._group_at[i] = home
            self._groups[home] += self._groups[other]
            self._groups[other] = []
        self._groups[home].append(at)
        self._group_at.append(home)

    def all(self) -> list[list[int]]:
        """Return the groups, each in order."""
        return [sorted(group) for group in self._groups if group]


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
    return any(ref not in known for ref in ids_in([block], RESULTS))
