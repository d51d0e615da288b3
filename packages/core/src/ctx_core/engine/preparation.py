"""One prompt on its way through the engine, stage by stage.

A stage changes the draft only as its last step, so one that fails leaves everything as it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from ctx_core import telemetry
from ctx_core.engine.blocks import keep_blocks, recognize_blocks
from ctx_core.engine.report import MessageReport, Prepared, Report
from ctx_core.markers import Tag, escape, write_block
from ctx_core.messages import Message, message_tokens
from ctx_core.optimize.optimizer import MIN_BUDGET
from ctx_core.rehydrate.identity import identify
from ctx_core.rehydrate.inject import inject, without_block
from ctx_core.rehydrate.summary import Note, map_beside_notes, without_notes
from ctx_core.working_set import Composed, Plan, Planner, Record, compose_prompt, without_working_set

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from ctx_core.engine.engine import ContextEngine
    from ctx_core.graph.render import RenderedContext
    from ctx_core.optimize.align import Aligned
    from ctx_core.optimize.optimizer import CompressResult, ContextOptimizer
    from ctx_core.rehydrate.rehydrator import Rehydrated

# What is about the request stands in a block of its own at the end; its tags, and the message they may need.
_FRAME_TOKENS: Final = 24
# The room of a conversation is counted in this grain: a plan made for one room is found again for nearly the same.
_ROOM_GRAIN: Final = 32
_PLANNING_ROUNDS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What one call of the engine asks for; see `ContextEngine.prepare`."""

    messages: Sequence[Message]
    max_tokens: int
    user_id: str | None
    session_id: str | None
    conversation_id: str
    scope: str
    chunks: Sequence[str]
    graph_root: str | None
    query: str | None
    now: datetime | None
    tools: Sequence[Mapping[str, Any]] = ()
    working_set: bool = True

    @property
    def asked(self) -> str:
        """The text of the last user message; empty if there is none."""
        return next((message.text for message in reversed(self.messages) if message.role == "user"), "")


@dataclass(slots=True)
class _Row:
    """One message given, and what became of it."""

    given: Message
    message: Message
    result: CompressResult | None = None
    archived: bool = False


class Preparation:
    """The draft of one prompt, and the stages that work on it."""

    def __init__(self, engine: ContextEngine, request: Request) -> None:
        self.engine = engine
        self.request = request
        self.rows = [_Row(message, message) for message in request.messages]
        self.messages = list(request.messages)
        self.chunks: tuple[CompressResult, ...] = ()
        self.graph: RenderedContext | None = None
        self.rehydrated: Rehydrated | None = None
        self.aligned: Aligned | None = None
        self.plan: Plan | None = None
        self.warnings: list[str] = []
        self.timings_ms: dict[str, float] = {}

    def run(self) -> Prepared:
        """Take the draft through every stage."""
        self._stage("recognize", lambda: recognize_blocks(self.messages, self._optimizer))
        self._stage("optimize", lambda: self._optimize(self._message_limit))
        self._stage("graph", self._render_graph)
        self._stage("chunks", self._optimize_chunks)
        self._stage("evict", self._choose if self.request.working_set else self._evict)
        self._stage("rehydrate", self._rehydrate)
        self._stage("attach", self._attach)
        self._stage("align", self._align)
        self._stage("keep_blocks", lambda: keep_blocks(self.request.messages, self.messages, self._optimizer))
        return Prepared(messages=self.messages, report=self._report())

    def _stage(self, name: str, work: Callable[[], None]) -> None:
        start = perf_counter()
        try:
            with telemetry.span(f"ctx.engine.{name}"):
                work()
        except Exception as error:
            if self.engine.strict:
                raise
            self.warnings.append(telemetry.degraded(name, error))
        self.timings_ms[name] = (perf_counter() - start) * 1e3

    @property
    def _optimizer(self) -> ContextOptimizer:
        return self.engine.optimizer_for(self.request.scope)

    @property
    def _message_limit(self) -> int:
        return max(int(self.request.max_tokens * self.engine.shares.message), MIN_BUDGET)

    def _optimize(self, limit: int) -> None:
        """Compress tool outputs, and user messages too long to keep; each on its own, so that it stays the same at every turn."""
        calls = {call.id: call.name for row in self.rows for call in row.given.tool_calls}
        rows = [self._optimized(row, limit, calls.get(row.given.tool_call_id or "")) for row in self.rows]
        self.rows, self.messages = rows, [row.message for row in rows]

    def _optimized(self, row: _Row, limit: int, tool: str | None) -> _Row:
        engine, given = self.engine, row.given
        retrieval = engine.optimizer.retrieval_tool
        if given.verbatim or given.role not in ("tool", "user") or (retrieval and retrieval in (tool, given.name)):
            return row
        is_said = given.role == "user"
        if is_said and message_tokens(given, engine.counter) <= limit:
            return row
        results: list[CompressResult] = []

        def shorten(text: str) -> str:
            # What a user says is shortened where it is long itself, not where a note of ours stands beside it.
            if is_said and engine.counter.count(text) <= limit:
                return text
            results.append(engine.optimize(text, limit, owner=self.request.scope))
            return results[-1].compressed

        message = given.map_text(lambda text: map_beside_notes(text, shorten) if is_said else shorten(text))
        return _Row(given, message, max(results, key=lambda result: result.original_tokens, default=None))

    def _render_graph(self) -> None:
        if self.request.graph_root is not None:
            budget = int(self.request.max_tokens * self.engine.shares.graph)
            self.graph = self.engine.kernel.get_context(self.request.graph_root, max_tokens=budget).rendered

    def _optimize_chunks(self) -> None:
        if self.request.chunks:
            budget = max(int(self.request.max_tokens * self.engine.shares.chunks), 32)
            found = self._optimizer.optimize_many(
                self.request.chunks, max_tokens=budget, query=self.request.query or self.request.asked or None
            )
            self.chunks = tuple(found)

    def _choose(self) -> None:
        """Choose what stands as it is, what is told of the rest, and what this step needs; what leaves is archived first."""
        limit, room = self._message_limit, self._room()
        composed, plan = self._compose(room)
        while self._tokens(composed.messages) > room and limit > MIN_BUDGET:
            # What may not leave, such as the results of many calls at once, is too long together: each gets half as much.
            limit = max(limit // 2, MIN_BUDGET)
            self._optimize(limit)
            composed, plan = self._compose(room)
        self._archive(composed.left)
        if (taken := self._tokens(composed.messages)) > room:
            self.warnings.append(_reason(taken, room))
        self.messages, self.plan = composed.messages, plan
        for at in composed.left:
            self.rows[at].archived = True

    def _compose(self, room: int) -> tuple[Composed, Plan]:
        """Plan the prompt; again with less room where the frame of what was chosen took more than was reckoned with."""
        engine, record = self.engine, self._record()
        pinned = sum(record.costs[at] for at in record.pinned)
        composed, plan, less = Composed(messages=self.messages, left=(), summary=""), Plan(), 0
        for _ in range(_PLANNING_ROUNDS):
            usable = (room - less - _padded(pinned)) // _ROOM_GRAIN * _ROOM_GRAIN
            plan = Planner(record, room=max(usable, 0), shares=engine.shares.window).plan()
            composed = compose_prompt(record, plan, is_archived=self.request.user_id is not None)
            over = self._tokens(composed.messages) - room
            if over <= 0 or not plan.chosen:
                break
            less += over + _ROOM_GRAIN
        return composed, plan

    def _record(self) -> Record:
        lifted = [without_notes(without_working_set(row.given)) for row in self.rows]
        notes = sum((note for _, note in lifted), start=Note())
        empty = Message(role="user", content="")
        return Record(
            [message or empty for message, _ in lifted],
            [(without_notes(without_working_set(row.message))[0] or empty) for row in self.rows],
            counter=self.engine.counter,
            memory=self.engine.memory,
            tools=self.request.tools,
            carried=notes.lines,
            carried_count=notes.count,
        )

    def _tokens(self, messages: Sequence[Message]) -> int:
        return sum(message_tokens(message, self.engine.counter) for message in messages)

    def _archive(self, positions: Sequence[int]) -> None:
        if not positions:
            return
        if self.request.user_id is None:
            self.warnings.append(
                f"{len(positions)} messages left the window and were not archived, since no user_id was given"
            )
            return
        said = identify((row.given for row in self.rows), session_id=self.request.session_id)
        turns = [said[at] for at in positions]
        self.engine.archive.append(self.request.user_id, turns, session_id=self.request.session_id)

    def _evict(self) -> None:
        """Let the oldest turns leave; where a user is named they are archived first, as they were given."""
        evicted, limit = self.engine.evictor.evict(self.messages, max_tokens=self._room()), self._message_limit
        while not evicted.fits and limit > MIN_BUDGET:
            # What may not leave, such as the results of many calls at once, is too long together: each gets half as much.
            limit = max(limit // 2, MIN_BUDGET)
            self._optimize(limit)
            evicted = self.engine.evictor.evict(self.messages, max_tokens=self._room())
        self._archive(evicted.positions)
        if evicted.reason:
            self.warnings.append(evicted.reason)
        self.messages = evicted.messages
        for at in evicted.positions:
            self.rows[at].archived = True

    def _room(self) -> int:
        """Tokens for the conversation, beside what is attached to it and what may come back into it."""
        text = self._attachment()
        room = self.request.max_tokens - _FRAME_TOKENS - (self.engine.counter.count(text) + 2 if text else 0)
        if self.request.user_id is not None and self.engine.rehydrator.detector.detect(self.request.asked):
            room -= self._comeback()
        return max(room, 0)

    def _comeback(self) -> int:
        """The most tokens of what comes back; never all of the room that the conversation left."""
        most = int(self.request.max_tokens * self.engine.shares.rehydrated)
        return min(most, self.engine.rehydrator.config.max_tokens)

    def _rehydrate(self) -> None:
        if self.request.user_id is None:
            return
        rehydrator = self.engine.rehydrator_within(self._comeback())
        # Our notes in a request are not what the user said, and look back to nothing.
        said = [without_working_set(message) for message in self.messages]
        found = rehydrator.rehydrate(
            said, user_id=self.request.user_id, now=self.request.now, session_id=self.request.session_id
        )
        self.warnings += found.warnings
        self.rehydrated = found
        if found.block:
            self.messages = inject(without_block(self.messages), found.block, placement=rehydrator.config.placement)

    def _attachment(self) -> str:
        graph = escape(self.graph.text) if self.graph else ""
        # What the optimizer changed holds notes of its own, and is escaped but for them.
        chunks = (
            escape(given) if given == chunk.compressed else chunk.compressed
            for given, chunk in zip(self.request.chunks, self.chunks, strict=False)
        )
        texts = [text for text in (graph, *chunks) if text]
        return write_block(Tag.CONTEXT, ["\n\n".join(texts)]) if texts else ""

    def _attach(self) -> None:
        """Put graph and chunks into the last user message, after the prefix that a provider's cache serves."""
        text = self._attachment()
        if not text:
            return
        at = next((at for at in reversed(range(len(self.messages))) if self.messages[at].role == "user"), None)
        if at is None:
            self.messages = [*self.messages, Message(role="user", content=text)]
            return
        asked = self.messages[at]
        self.messages = [*self.messages[:at], _with_block(asked, text), *self.messages[at + 1 :]]

    def _align(self) -> None:
        aligned = self.engine.aligner.align(self.messages, conversation_id=self.request.conversation_id)
        self.messages, self.aligned = list(aligned.messages), aligned

    def _report(self) -> Report:
        counter = self.engine.counter
        rows = tuple(self._message_report(index, row) for index, row in enumerate(self.rows))
        after = sum(message_tokens(message, counter) for message in self.messages)
        telemetry.metric("ctx.prompt.tokens", after)
        return Report(
            tokens_before=sum(row.tokens_before for row in rows),
            tokens_after=after,
            max_tokens=self.request.max_tokens,
            fits=after <= self.request.max_tokens,
            messages=rows,
            rehydrated=self.rehydrated,
            graph=self.graph,
            chunks=self.chunks,
            aligned=self.aligned,
            working_set=tuple(self.plan.chosen) if self.plan else (),
            timings_ms=self.timings_ms,
            warnings=tuple(self.warnings),
        )

    def _message_report(self, index: int, row: _Row) -> MessageReport:
        counter, result = self.engine.counter, row.result
        return MessageReport(
            index=index,
            role=row.given.role,
            kind=str(result.content_type) if result else None,
            tokens_before=message_tokens(row.given, counter),
            tokens_after=0 if row.archived else message_tokens(row.message, counter),
            ccr_hash=result.ccr_hash if result else None,
            archived=row.archived,
        )


def _padded(tokens: int) -> int:
    """Return `tokens` rounded up, so that a clock in the system prompt does not change the room of the conversation."""
    return -(-tokens // _ROOM_GRAIN) * _ROOM_GRAIN


def _reason(taken: int, budget: int) -> str:
    return (
        f"what may not leave (system messages, the user's first and latest request, the newest message and the calls it "
        f"belongs to) takes {taken} of {budget} tokens"
    )


def _with_block(message: Message, text: str) -> Message:
    if isinstance(message.content, str):
        return replace(message, content=f"{message.content}\n\n{text}" if message.content else text)
    return replace(message, content=[*message.content, {"type": "text", "text": text}])
