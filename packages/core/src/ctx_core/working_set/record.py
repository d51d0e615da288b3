"""The record of a conversation that the planner replays: its messages, what they cost, and the pieces they are made of."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from ctx_core.messages import Message, message_tokens
from ctx_core.provider_rules import thinking_opener
from ctx_core.rehydrate.pairs import groups_of, result_ids
from ctx_core.working_set.facts import read_facts, spell_call
from ctx_core.working_set.need import Need, Usage
from ctx_core.working_set.reading import Reading
from ctx_core.working_set.selection import Chosen, Piece

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ctx_core.messages import ToolCall
    from ctx_core.tokens import TokenCounter
    from ctx_core.working_set.memory import WorkingSetMemory

_SYSTEM: Final = ("system", "developer")
_LOOK_BACK: Final = 8
"""Messages among which the newest that are not the system's are looked for."""


class Record:
    """A conversation as it was given and as it is shown.

    Args:
        given: The messages as they were given, oldest first; facts are read from these.
        shown: The same messages as they stand in the prompt, each on its own made shorter or not; these have a cost.
        counter: Counts tokens.
        memory: What was worked out for earlier calls.
        tools: Schemas of the tools that can be called.
        carried: Lines of digests that the host handed back among the messages.
        carried_count: How many messages those stand for.
    """

    def __init__(
        self,
        given: Sequence[Message],
        shown: Sequence[Message],
        *,
        counter: TokenCounter,
        memory: WorkingSetMemory,
        tools: Iterable[Mapping[str, Any]] = (),
        carried: Sequence[str] = (),
        carried_count: int = 0,
    ) -> None:
        self.given = given
        self.shown = shown
        self.count = counter.count
        self.costs = [message_tokens(message, counter) for message in shown]
        self.memory = memory
        self.carried_count = carried_count
        self._carried = carried
        self._tools = list(tools)
        self._pieces: dict[int, tuple[Piece, ...]] = {}
        self._readings: dict[int, Reading] = {}

    # The order of things.

    @cached_property
    def pinned(self) -> frozenset[int]:
        """Messages that never leave: those of the system, and the user's first, which is the task."""
        task = next((at for at, message in enumerate(self.given) if _is_request(message)), None)
        system = (at for at, message in enumerate(self.given) if message.role in _SYSTEM)
        return frozenset((*system, *(() if task is None else (task,))))

    @cached_property
    def task(self) -> int | None:
        """Position of the user's first message."""
        return next((at for at in sorted(self.pinned) if self.given[at].role not in _SYSTEM), None)

    @cached_property
    def steps(self) -> list[int]:
        """How many messages there were at each step of the model; the last is the coming one."""
        before = [at for at, message in enumerate(self.given) if message.role == "assistant" and at > 0]
        return [*before, len(self.given)]

    @cached_property
    def starts(self) -> list[int]:
        """Where a window may begin: no call is parted from its result, and an answer comes first where there is one."""
        reach = 0
        free: list[int] = []
        ends = {group[0]: group[-1] for group in groups_of(self.given)}
        for at in range(len(self.given)):
            if at > reach:
                free.append(at)
            reach = max(reach, ends.get(at, at))
        answers = [at for at in free if self.given[at].role == "assistant"]
        return answers or free

    def is_system(self, at: int) -> bool:
        """Return True for a message of the system or developer."""
        return self.given[at].role in _SYSTEM

    @cached_property
    def carried(self) -> tuple[Chosen, ...]:
        """What earlier digests said, as pieces that come before all others."""
        facts = [fact for line in self._carried for fact in read_facts(Message(role="user", content=line))]
        return tuple(
            Chosen(
                piece=Piece(source=-1, order=order, fact=replace(fact, group=order), role=""),
                value=1.0,
                reason="recent",
            )
            for order, fact in enumerate(facts)
        )

    def opening(self, step: int) -> tuple[int, ...]:
        """Return the messages at the start of the turn in progress that its provider wants to see again, thinking and all."""
        opener = thinking_opener(self.given[:step])
        if opener is None:
            return ()
        return tuple(at for group in groups_of(self.given) if opener in group for at in group if at < step)

    def latest_request(self, step: int) -> int | None:
        """Return the position of the newest request of the user before a step."""
        return next((at for at in reversed(range(step)) if _is_request(self.given[at])), None)

    @cached_property
    def hashes(self) -> list[str]:
        """A hash of the first n messages, for each n."""
        digest = blake2b(digest_size=16)
        out = [digest.hexdigest()]
        for message, shown in zip(self.given, self.shown, strict=True):
            digest.update(
                repr((message.role, message.name, message.content, message.tool_calls, message.tool_call_id)).encode(
                    "utf-8", "surrogatepass"
                )
            )
            if shown is not message:
                digest.update(shown.text.encode("utf-8", "surrogatepass"))
            out.append(digest.hexdigest())
        return out

    @cached_property
    def tools_key(self) -> str:
        """Says which tools a plan was made for, by what they take."""
        usage = Usage()
        usage.add_tools(self._tools)
        return " ".join(sorted("_".join(sorted(words)) for words in usage.arguments))

    # What it costs.

    @cached_property
    def _sums(self) -> list[int]:
        free = (0 if at in self.pinned else cost for at, cost in enumerate(self.costs))
        return [0, *accumulate(free)]

    def cost(self, start: int, end: int) -> int:
        """Return the tokens of the messages of a window, without the pinned ones."""
        return self._sums[end] - self._sums[start]

    # What it says.

    @cached_property
    def _calls(self) -> dict[int, ToolCall]:
        """The call that a message answers, by the message's position."""
        open_calls: dict[str, ToolCall] = {}
        answered: dict[int, ToolCall] = {}
        for at, message in enumerate(self.given):
            if message.role == "tool" and message.tool_call_id in open_calls:
                answered[at] = open_calls[message.tool_call_id or ""]
            open_calls |= {call.id: call for call in message.tool_calls}
        return answered

    def pieces_at(self, at: int) -> tuple[Piece, ...]:
        """Return the pieces of one message."""
        if at not in self._pieces:
            self._pieces[at] = self._read_pieces(at)
        return self._pieces[at]

    def _read_pieces(self, at: int) -> tuple[Piece, ...]:
        call = self._calls.get(at)
        message = self.given[at]
        key = at, message.role, message.text, message.tool_calls, call
        known = self.memory.pieces.get(key)
        if known is not None:
            return known
        tool = (call.name if call else message.name or "") if message.role == "tool" else ""
        pieces = tuple(
            Piece(source=at, order=order, fact=fact, role=message.role, tool=tool)
            for order, fact in enumerate(read_facts(message, call))
        )
        return self.memory.pieces.put(key, pieces)

    def pieces_of(self, positions: Iterable[int]) -> list[Piece]:
        """Return the pieces of several messages."""
        return [piece for at in positions for piece in self.pieces_at(at)]

    def pieces_before(self, start: int, *, without: Sequence[int] = ()) -> list[Piece]:
        """Return the pieces of all that has left before a window."""
        return self.pieces_of(at for at in range(start) if at not in self.pinned and at not in without)

    def texts(self, start: int, end: int, *others: int) -> list[str]:
        """Return what is shown of a window, the pinned messages and `others`, calls included."""
        positions = (*sorted(self.pinned), *others, *(at for at in range(start, end) if at not in self.pinned))
        return [
            text
            for at in positions
            if at < end
            for text in (self.shown[at].text, *map(spell_call, self.shown[at].tool_calls))
        ]

    def need(self, step: int) -> Need:
        """Return what a step asks for."""
        recent = [message for message in self.given[max(step - _LOOK_BACK, 0) : step] if message.role not in _SYSTEM]
        return Need.of(recent, self.reading(step).usage, length=step)

    def reading(self, step: int) -> Reading:
        """Return what the messages before a step have said; read on from the longest beginning that was read before."""
        if step in self._readings:
            return self._readings[step]
        start, reading = self._longest_reading(step)
        for at in range(start, step):
            reading.add(self.given[at], self.pieces_at(at))
        self._readings[step] = self.memory.readings.put(self._reading_key(step), reading)
        return reading

    def _longest_reading(self, step: int) -> tuple[int, Reading]:
        for at in range(step, 0, -1):
            known = self._readings.get(at) or self.memory.readings.get(self._reading_key(at))
            if known is not None:
                return at, known.copy()
        reading = Reading()
        reading.usage.add_tools(self._tools)
        return 0, reading

    def _reading_key(self, step: int) -> str:
        return f"{self.hashes[step]}:{self.tools_key}"


def _is_request(message: Message) -> bool:
    return message.role == "user" and not result_ids(message)
