"""The record of a conversation that the planner replays: its messages, what they cost, and the pieces they are made of."""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from ctx_core.messages import message_tokens
from ctx_core.rehydrate.pairs import groups_of, result_ids
from ctx_core.working_set.facts import read_facts, spell_call
from ctx_core.working_set.need import Need, Usage
from ctx_core.working_set.selection import Piece

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ctx_core.messages import Message, ToolCall
    from ctx_core.tokens import TokenCounter

_SYSTEM: Final = ("system", "developer")


class Record:
    """A conversation as it was given and as it is shown.

    Args:
        given: The messages as they were given, oldest first; facts are read from these.
        shown: The same messages as they stand in the prompt, each on its own made shorter or not; these have a cost.
        counter: Counts tokens.
        cache: Facts of messages that were read before.
        tools: Schemas of the tools that can be called.
    """

    def __init__(
        self,
        given: Sequence[Message],
        shown: Sequence[Message],
        *,
        counter: TokenCounter,
        cache: FactCache,
        tools: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        self.given = given
        self.shown = shown
        self.count = counter.count
        self.costs = [message_tokens(message, counter) for message in shown]
        self._cache = cache
        self._tools = list(tools)

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

    def latest_request(self, step: int) -> int | None:
        """Return the position of the newest request of the user before a step."""
        return next((at for at in reversed(range(step)) if _is_request(self.given[at])), None)

    @cached_property
    def hashes(self) -> list[str]:
        """A hash of the first n messages, for each n."""
        digest = blake2b(digest_size=16)
        out = [digest.hexdigest()]
        for message, shown in zip(self.given, self.shown, strict=True):
            digest.update(repr((message.role, message.name, message.content, message.tool_calls, message.tool_call_id)).encode("utf-8", "surrogatepass"))
            if shown is not message:
                digest.update(shown.text.encode("utf-8", "surrogatepass"))
            out.append(digest.hexdigest())
        return out

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
        call = self._calls.get(at)
        message = self.given[at]
        facts = self._cache.facts_of(message, call)
        tool = (call.name if call else message.name or "") if message.role == "tool" else ""
        return tuple(
            Piece(source=at, order=order, fact=fact, role=message.role, tool=tool) for order, fact in enumerate(facts)
        )

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
        usage = Usage()
        usage.add_tools(self._tools)
        for message in self.given[:step]:
            usage.add(message)
        talk = [message for message in self.given[:step] if message.role not in _SYSTEM]
        return Need.of(talk, usage, length=step)

    def outdated(self, step: int) -> dict[tuple[int, int], str]:
        """Return the places of facts that a newer one has replaced before a step, with the newer value."""
        latest: dict[tuple[str, ...], Piece] = {}
        old: dict[tuple[int, int], str] = {}
        for at in range(step):
            for piece in self.pieces_at(at):
                if not (entity := piece.fact.entity):
                    continue
                before = latest.get(entity)
                if before is not None and before.source < at and before.fact.text != piece.fact.text:
                    old[before.place] = piece.fact.text
                latest[entity] = piece
        return old


class FactCache:
    """Facts of messages by their content, so that a growing conversation is read once. Safe to share between threads."""

    def __init__(self, size: int = 2048) -> None:
        self._size = size
        self._facts: OrderedDict[tuple[Any, ...], tuple[Any, ...]] = OrderedDict()
        self._lock = Lock()

    def facts_of(self, message: Message, call: ToolCall | None) -> tuple[Any, ...]:
        """Return the facts of a message."""
        key = (message.role, message.text, message.tool_calls, call)
        with self._lock:
            if key in self._facts:
                self._facts.move_to_end(key)
                return self._facts[key]
        facts = read_facts(message, call)
        with self._lock:
            self._facts[key] = facts
            if len(self._facts) > self._size:
                self._facts.popitem(last=False)
        return facts


def _is_request(message: Message) -> bool:
    return message.role == "user" and not result_ids(message)
