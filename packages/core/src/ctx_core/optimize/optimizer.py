"""The whole step: segment, detect, compress, keep the original."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ctx_core import telemetry
from ctx_core.errors import InvalidInput
from ctx_core.optimize.ccr import HINT_LENGTH, CcrStore, content_hash, excerpt, hint, hints_in, own_ref
from ctx_core.optimize.compressors.base import Budget, Compressed, Omission
from ctx_core.optimize.content import ContentType, Detection
from ctx_core.optimize.dispatch import compress
from ctx_core.optimize.fit import clip, shares
from ctx_core.optimize.router import ContentRouter
from ctx_core.optimize.segment import Segment, segments, text_blocks
from ctx_core.tokens import TokenCounter, estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

MIN_BUDGET: Final = 32
"""The smallest budget: a hint and a note fit into it."""

_ATTEMPTS: Final = 3
# A result that saves less than this is not worth a hint and a second form of the same text.
_WORTH_IT: Final = 0.97
_WORTH_SPOKEN: Final = 20.0
_NOT_KEPT: Final = "[the full content could not be kept]"
_UNKNOWN: Final = Detection(content_type=ContentType.TEXT, confidence=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressResult:
    """A text after optimization.

    Args:
        compressed: The shorter text, with its hint; the very same string where nothing was gained.
        original_tokens: Tokens of the input, exactly.
        compressed_tokens: Tokens of `compressed`, exactly.
        content_type: What the input is; of mixed content, what most of it is.
        ccr_hash: Retrieves the original; None where `compressed` is the input, or no store holds it.
        lossless: Whether every fact of the input stands in `compressed`.
        omissions: What was left out, as `compressed` states it in place.
    """

    compressed: str
    original_tokens: int
    compressed_tokens: int
    content_type: ContentType
    ccr_hash: str | None = None
    lossless: bool = True
    omissions: tuple[Omission, ...] = ()


class ContextOptimizer:
    """Makes tool outputs and retrieved chunks shorter, and keeps every original.

    Args:
        store: Where originals are kept; this process's memory by default.
        counter: Counts tokens; `cl100k_base` by default.
        router: Tells the kinds of content apart.
        compress_code: Shorten code at its natural level too; under a budget it is shortened anyway.
        retrieval_tool: The name of the tool by which a model gets originals back, if it has one.
        min_tokens: Texts of fewer tokens are left alone unless a budget asks for less.
    """

    def __init__(
        self,
        store: CcrStore | None = None,
        *,
        counter: TokenCounter | None = None,
        router: ContentRouter | None = None,
        compress_code: bool = False,
        retrieval_tool: str | None = None,
        min_tokens: int = 100,
    ) -> None:
        self.store: CcrStore = store if store is not None else _memory_store()
        self.counter = counter or TokenCounter()
        self.router = router or ContentRouter()
        self.compress_code = compress_code
        self.retrieval_tool = retrieval_tool
        self.min_tokens = min_tokens

    def optimize(
        self,
        text: str,
        *,
        max_tokens: int | None = None,
        query: str | None = None,
        content_type: ContentType | None = None,
    ) -> CompressResult:
        """Return `text` in at most `max_tokens`, hint included; None asks for its natural level.

        Args:
            text: Any string.
            max_tokens: At least 32. A text that is within it comes back as the very same string.
            query: What the reader wants to know; parts that answer it are kept longest.
            content_type: What `text` is, if the caller knows.
        """
        _check_budget(max_tokens)
        tokens = self.counter.count(text)
        carried = hints_in(text)
        if tokens <= (self.min_tokens if max_tokens is None else max_tokens) or (carried and max_tokens is None):
            return self._untouched(text, tokens, content_type)
        with telemetry.span("ctx.optimize"):
            return self._shortened(self._job(text, tokens, max_tokens, query, content_type, carried))

    def optimize_many(
        self, chunks: Sequence[str], *, max_tokens: int, query: str | None = None
    ) -> list[CompressResult]:
        """Return every chunk, in order, so that all of them together are within `max_tokens`."""
        raise NotImplementedError

    def retrieve(
        self, ref: str, *, query: str | None = None, lines: tuple[int, int] | None = None, page: int | None = None
    ) -> str:
        """Return an original, or the part of it that is asked for; see `excerpt` for the arguments.

        Raises:
            ContentNotFound: Nothing is stored under `ref`.
            ContentExpired: It was stored, and its time ran out.
        """
        return excerpt(self.store.get(ref), query=query, lines=lines, page=page)

    async def aoptimize(
        self,
        text: str,
        *,
        max_tokens: int | None = None,
        query: str | None = None,
        content_type: ContentType | None = None,
    ) -> CompressResult:
        """Do what `optimize` does, in a worker thread."""
        return await asyncio.to_thread(
            self.optimize, text, max_tokens=max_tokens, query=query, content_type=content_type
        )

    async def aretrieve(
        self, ref: str, *, query: str | None = None, lines: tuple[int, int] | None = None, page: int | None = None
    ) -> str:
        """Do what `retrieve` does, in a worker thread."""
        return await asyncio.to_thread(self.retrieve, ref, query=query, lines=lines, page=page)

    def _job(
        self,
        text: str,
        tokens: int,
        max_tokens: int | None,
        query: str | None,
        content_type: ContentType | None,
        carried: Sequence[str],
    ) -> _Job:
        body = _without(text, carried)
        footer = "\n".join(dict.fromkeys(carried)) or hint(content_hash(text), retrieval_tool=self.retrieval_tool)
        room = None if max_tokens is None else max_tokens - self.counter.count(f"\n{footer}")
        return _Job(
            text=text,
            body=body,
            tokens=tokens,
            max_tokens=max_tokens,
            room=room,
            query=query,
            parts=self._parts(body, content_type),
            footer=footer,
            is_original=not carried,
        )

    def _parts(self, text: str, content_type: ContentType | None) -> list[Segment]:
        """Return the parts of `text`, each with what it is."""
        if content_type is not None:
            return [Segment(text=text, detection=Detection(content_type=content_type))]
        parts = segments(text)
        return [replace(part, detection=part.detection or self.router.detect(part.text)) for part in parts]

    def _shortened(self, job: _Job) -> CompressResult:
        draft = self._draft(job)
        whole = draft.lossless and job.is_original
        compressed = draft.text if whole else f"{draft.text}\n{job.footer}".lstrip("\n")
        tokens = self.counter.count(compressed)
        if job.max_tokens is None and tokens > _WORTH_IT * job.tokens:
            return self._untouched(job.text, job.tokens, job.kind)
        if job.is_original and not self._keep(job.text):
            if job.max_tokens is None:
                return self._untouched(job.text, job.tokens, job.kind)
            compressed = draft.text if whole else f"{draft.text}\n{_NOT_KEPT}".lstrip("\n")
            tokens, ref = self.counter.count(compressed), None
        else:
            ref = content_hash(job.text)[:HINT_LENGTH] if job.is_original else _last_own_ref(job.footer)
        telemetry.metric("ctx.optimize.ratio", tokens / job.tokens, content_type=job.kind)
        return CompressResult(
            compressed=compressed,
            original_tokens=job.tokens,
            compressed_tokens=tokens,
            content_type=job.kind,
            ccr_hash=ref,
            lossless=draft.lossless,
            omissions=draft.omissions,
        )

    def _draft(self, job: _Job) -> Compressed:
        """Compress all parts, within the room if there is one: asking again for less, and at last by clipping."""
        if job.room is None:
            return self._compressed(job, None)
        allowed = job.room
        for _ in range(_ATTEMPTS):
            draft = self._compressed(job, allowed)
            used = self.counter.count(draft.text)
            if used <= job.room or (draft.lossless and job.is_original and used <= (job.max_tokens or 0)):
                return draft
            allowed = max(1, int(0.95 * allowed * job.room / used))
        return clip(job.body, max(0, job.room), counter=self.counter, query=job.query)

    def _compressed(self, job: _Job, allowed: int | None) -> Compressed:
        budgets = job.shared(allowed)
        done = [
            self._compressed_part(part, Budget(max_tokens=budget, counter=self.counter), job.query)
            for part, budget in zip(job.parts, budgets, strict=True)
        ]
        return Compressed(
            text="".join(part.text for part in done), omissions=tuple(o for part in done for o in part.omissions)
        )

    def _compressed_part(self, part: Segment, budget: Budget, query: str | None) -> Compressed:
        body = part.text.rstrip("\n")
        ending = part.text[len(body) :]
        kind = part.detection or _UNKNOWN
        if self._stays(part, kind, budget):
            return Compressed(text=part.text)
        done = compress(body, kind, budget, query=query)
        if done.text == body and kind.content_type is not ContentType.TEXT and not budget.fits(body):
            done = compress(body, _UNKNOWN, budget, query=query)
        return (
            Compressed(text=done.text + ending, omissions=done.omissions)
            if len(done.text) < len(body)
            else Compressed(text=part.text)
        )

    def _stays(self, part: Segment, kind: Detection, budget: Budget) -> bool:
        if budget.max_tokens is not None:
            return budget.fits(part.text)
        return (
            part.spoken
            or (kind.content_type is ContentType.CODE and not self.compress_code)
            or (kind.content_type is ContentType.CONFIG and not _repeats_itself(part.text))
        )

    def _keep(self, text: str) -> bool:
        """Store an original; say whether it can be had back."""
        try:
            self.store.put(text)
        except Exception as error:  # noqa: BLE001 - any store, any failure: the chat goes on without it
            telemetry.degraded("ccr", error)
            return False
        return True

    def _untouched(self, text: str, tokens: int, content_type: ContentType | None) -> CompressResult:
        kind = content_type or self.router.by_shape(text).content_type
        return CompressResult(compressed=text, original_tokens=tokens, compressed_tokens=tokens, content_type=kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """One call: what came in, and what was found out about it."""

    text: str
    body: str
    tokens: int
    max_tokens: int | None
    room: int | None
    query: str | None
    parts: list[Segment]
    footer: str
    is_original: bool

    @property
    def kind(self) -> ContentType:
        """What most of the text is."""
        largest = max(self.parts, key=lambda part: len(part.text) * (not part.spoken), default=None)
        return (largest.detection if largest and largest.detection else _UNKNOWN).content_type

    def shared(self, allowed: int | None) -> list[int | None]:
        """Return the budget of each part: words of a person stay whole, the rest is shared by worth."""
        if allowed is None:
            return [None] * len(self.parts)
        if len(self.parts) == 1:
            return [allowed]
        guesses = [estimate(part.text) for part in self.parts]
        costs = [1 + guess * self.tokens // max(1, sum(guesses)) for guess in guesses]
        weights = [_WORTH_SPOKEN if part.spoken else 1.0 for part in self.parts]
        return [*shares(costs, weights, allowed)]


def _check_budget(max_tokens: int | None) -> None:
    if max_tokens is not None and max_tokens < MIN_BUDGET:
        raise InvalidInput(f"max_tokens is at least {MIN_BUDGET}, got {max_tokens!r}")


def _memory_store() -> CcrStore:
    from ctx_core.stores.memory.ccr import MemoryCcrStore  # noqa: PLC0415 - the default adapter; rooms point downwards

    return MemoryCcrStore()


def _without(text: str, hint_lines: Sequence[str]) -> str:
    for line in hint_lines:
        text = text.replace(f"\n{line}", "", 1) if f"\n{line}" in text else text.replace(line, "", 1)
    return text


def _last_own_ref(footer: str) -> str | None:
    refs = [ref for line in footer.split("\n") if (ref := own_ref(line))]
    return refs[-1] if refs else None


def _repeats_itself(text: str) -> bool:
    lines = [line for line in text.split("\n") if line.strip()]
    return len(set(lines)) < 0.5 * len(lines)
