"""The whole step: segment, detect, compress, keep the original."""

from __future__ import annotations

import asyncio
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ctx_core import telemetry
from ctx_core.errors import InvalidInput
from ctx_core.markers import NOT_KEPT, escape, same_as_chunk
from ctx_core.optimize.ccr import (
    HINT_LENGTH,
    PAGE_CHARS,
    CcrStore,
    HandedOut,
    content_hash,
    excerpt,
    hint,
    last_hint,
    own_ref,
    without_hints,
)
from ctx_core.optimize.compressors.base import NATURAL_TOKENS, Omission
from ctx_core.optimize.content import ContentType, Detection, holds_compact_json
from ctx_core.optimize.dispatch import reads_the_same
from ctx_core.optimize.draft import Assignment, Draft
from ctx_core.optimize.ends import cut_ends
from ctx_core.optimize.fold import holds_folded, unfold
from ctx_core.optimize.many import allot
from ctx_core.optimize.router import ContentRouter
from ctx_core.optimize.segment import Segment, segments
from ctx_core.select.notes import omission_note
from ctx_core.tokens import TokenCounter, estimate, replace_surrogates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctx_core.optimize.many import Allotment

MIN_BUDGET: Final = 32
"""The smallest budget: a hint and a note fit into it."""

# What a note such as `[… 12345 lines]` takes.
_NOTE_TOKENS: Final = 9
# A result that saves less than this is not worth a second form of the same text.
_WORTH_IT: Final = 0.97
_MAX_ROUNDS: Final = 4
# What is shown of a text that is too long to be read, and how much of it says what it is.
_ENDS_TOKENS: Final = 2_000
_ENDS_READ: Final = 65_536


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
        natural_tokens: Without a budget, texts are folded without loss; what is longer than this when folded loses its least
            worthy parts, down to this size. Prose, code and diffs lose only what is said twice or did not change.
        min_tokens: Texts of fewer tokens are left alone unless a budget asks for less.
        max_input_chars: A longer text is not read: it comes back as its head, its tail and its hash, at once.
        scope: Whose originals these are; what another scope has stored cannot be had back. See `owner_scope`.
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
        scope: str = "",
        natural_tokens: int = NATURAL_TOKENS,
        max_input_chars: int = 20_000_000,
    ) -> None:
        self.store: CcrStore = store if store is not None else _memory_store()
        self.counter = counter or TokenCounter()
        self.router = router or ContentRouter()
        self.compress_code = compress_code
        self.retrieval_tool = retrieval_tool
        self.min_tokens = min_tokens
        self.max_input_chars = max_input_chars
        self.natural_tokens = natural_tokens
        self.scope = scope
        self._handed_out = HandedOut()

    def scoped(self, scope: str) -> ContextOptimizer:
        """Return this optimizer for the originals of another owner, on the same store."""
        if scope == self.scope:
            return self
        other = copy(self)
        other.scope = scope
        return other

    @property
    def is_shared(self) -> bool:
        """Whether another process may read what is kept: true unless the store says that it belongs to this one alone."""
        return getattr(self.store, "is_shared", True)

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
        if max_tokens is not None:
            _check_budget(max_tokens)
        return self._optimized(text, text, max_tokens, query, content_type)

    def _optimized(
        self, text: str, shown: str, max_tokens: int | None, query: str | None, content_type: ContentType | None
    ) -> CompressResult:
        """Optimize what is to be `shown` of a text; the text itself is what can be had back."""
        if len(text) > self.max_input_chars:
            return self._ends_of(text, shown, max_tokens, content_type)
        tokens = self.counter.count(text)
        if shown is text and tokens <= (self.min_tokens if max_tokens is None else max_tokens):
            return self._untouched(text, tokens, content_type)
        carried = self._handed_out.hints(text, scope=self.scope)
        if max_tokens is None and (carried or self._is_hinted(text) or _is_settled(text)):
            return self._untouched(text, tokens, content_type)
        with telemetry.span("ctx.optimize"):
            work = Assignment(
                text=text,
                tokens=tokens,
                carried=carried,
                parts=self._parts(unfold(replace_surrogates(without_hints(shown) if carried else shown)), content_type),
                max_tokens=max_tokens,
                natural_tokens=self.natural_tokens,
                query=query,
                footer=self._footer(text, max_tokens, carried),
                compress_code=self.compress_code,
                counter=self.counter,
            )
            return self._kept(work, self._settled(work))

    def optimize_many(
        self, chunks: Sequence[str], *, max_tokens: int, query: str | None = None
    ) -> list[CompressResult]:
        """Return every chunk, in order, so that all of them together are within `max_tokens`.

        Chunks get tokens by worth: what answers the query and what speaks of trouble gets more, and what one chunk does
        not need goes to the others. A chunk that repeats an earlier one points at it, and so does a passage that an earlier
        chunk holds. What there is no room for at all is left out and counted; its result still has its hash.
        """
        _check_budget(max_tokens)
        allotted = allot(
            chunks,
            max_tokens,
            floor=MIN_BUDGET,
            counter=self.counter,
            query=query,
            is_prose=self._is_prose,
            quote=self._quoted,
        )
        left_out = [i for i, one in enumerate(allotted) if one.budget == 0 < one.tokens]
        results: dict[int, CompressResult] = {}
        spare = 0
        for i in sorted(range(len(chunks)), key=lambda i: allotted[i].tokens - allotted[i].budget):
            one = allotted[i]
            if one.same_as is not None:
                results[i] = self._told(chunks[i], one, same_as_chunk(one.same_as + 1), None)
            elif one.budget == 0 < one.tokens:
                note = omission_note(len(left_out), "chunks") if i == left_out[0] else ""
                results[i] = self._told(chunks[i], one, note, Omission(what="chunks", count=1))
            else:
                # Escaping may have made it longer than it came.
                most = one.tokens if one.shown is chunks[i] else max(one.tokens, self.counter.count(one.shown))
                budget = max(MIN_BUDGET, min(most, one.budget + spare))
                results[i] = self._served(chunks[i], one, budget, query)
                spare = max(0, one.budget + spare - results[i].compressed_tokens)
        return [results[i] for i in range(len(chunks))]

    def _is_prose(self, text: str) -> bool:
        return self.router.by_shape(text).content_type is ContentType.TEXT

    def _served(self, text: str, one: Allotment, budget: int, query: str | None) -> CompressResult:
        """Return a chunk in its share of the budget."""
        if one.shown is not text and self.counter.count(one.shown) <= budget:
            return self._told(text, one, one.shown, None)
        return self._optimized(text, one.shown, budget, query, None)

    def _told(self, text: str, one: Allotment, note: str, omission: Omission | None) -> CompressResult:
        """Return a note in place of a chunk, or of parts of it."""
        carried = self._handed_out.hints(text, scope=self.scope)
        return CompressResult(
            compressed=note,
            original_tokens=one.tokens,
            compressed_tokens=self.counter.count(note),
            content_type=self.router.by_shape(text).content_type,
            ccr_hash=_last_ref(carried) if carried else self.keep(text),
            lossless=omission is None,
            omissions=(omission,) if omission else (),
        )

    def retrieve(
        self,
        ref: str,
        *,
        query: str | None = None,
        lines: tuple[int, int] | None = None,
        page: int | None = None,
        page_chars: int = PAGE_CHARS,
    ) -> str:
        """Return an original, or the part of it that is asked for; see `excerpt` for the arguments.

        Raises:
            ContentNotFound: Nothing is stored under `ref` in this optimizer's scope.
            ContentExpired: It was stored, and its time ran out.
        """
        return excerpt(self._get(ref), query=query, lines=lines, page=page, page_chars=page_chars)

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
        self,
        ref: str,
        *,
        query: str | None = None,
        lines: tuple[int, int] | None = None,
        page: int | None = None,
        page_chars: int = PAGE_CHARS,
    ) -> str:
        """Do what `retrieve` does, in a worker thread."""
        return await asyncio.to_thread(self.retrieve, ref, query=query, lines=lines, page=page, page_chars=page_chars)

    def _parts(self, text: str, content_type: ContentType | None) -> list[Segment]:
        """Return the parts of `text`, each with what it is."""
        if content_type is not None:
            guess = self.router.by_shape(text)
            known = guess if guess.content_type is content_type else Detection(content_type=content_type)
            return [Segment(text=text, detection=known)]
        whole = self.router.by_shape(text)
        if whole.format:
            return [Segment(text=text, detection=whole)]
        parts = segments(text, whole.content_type)
        if len(parts) == 1 and whole.confidence >= self.router.confidence_threshold and parts[0].text == text:
            return [replace(parts[0], detection=whole)]
        return [replace(part, detection=part.detection or self.router.detect(part.text)) for part in parts]

    def _settled(self, work: Assignment) -> Draft:
        """Draft until another round would change nothing: what is lossless bears no hint that says it was here before."""
        draft = work.draft()
        for _ in range(_MAX_ROUNDS if work.max_tokens is None else 0):
            # What holds the compact form of JSON comes back as it is.
            if draft.omissions or draft.tokens > _WORTH_IT * work.tokens or _is_settled(draft.text):
                break
            parts = self._parts(draft.text, None)
            if reads_the_same(work.parts, parts):
                break
            work = replace(work, text=draft.text, tokens=draft.tokens, parts=parts)
            again = work.draft()
            if again.tokens > _WORTH_IT * draft.tokens:
                break
            draft = again
        return draft

    def _footer(self, text: str, max_tokens: int | None, carried: Sequence[str]) -> str:
        """Return the hint of `text`, or those that it carries, as many as leave room for a note."""
        if not carried:
            named = hint(content_hash(text), retrieval_tool=self.retrieval_tool)
            return named if self._leaves_room(named, max_tokens) else hint(content_hash(text))
        lines = list(dict.fromkeys(carried))
        while len(lines) > 1 and not self._leaves_room("\n".join(lines), max_tokens):
            lines.pop(0)
        return "\n".join(lines)

    def _leaves_room(self, footer: str, max_tokens: int | None) -> bool:
        return max_tokens is None or self.counter.count(f"\n{footer}") + _NOTE_TOKENS <= max_tokens

    def _kept(self, work: Assignment, draft: Draft) -> CompressResult:
        """Return the draft if it is worth it and the original is safe; otherwise the text as it came."""
        is_forced = work.max_tokens is not None
        if not is_forced and draft.tokens > _WORTH_IT * work.tokens:
            return self._untouched(work.text, work.tokens, work.kind)
        ref = _last_ref(work.carried) if work.carried else self.keep(work.text)
        shown, tokens = draft.text, draft.tokens
        if ref is None and not work.carried:
            if not is_forced:
                return self._untouched(work.text, work.tokens, work.kind)
            shown = "\n".join(filter(None, (draft.body.rstrip("\n"), NOT_KEPT))) if draft.omissions else draft.text
            tokens = self.counter.count(shown)
        if ref is not None and draft.omissions:
            self._handed_out.add(shown, scope=self.scope)
        telemetry.metric("ctx.optimize.ratio", tokens / work.tokens, content_type=work.kind)
        return CompressResult(
            compressed=shown,
            original_tokens=work.tokens,
            compressed_tokens=tokens,
            content_type=work.kind,
            ccr_hash=ref,
            lossless=not draft.omissions,
            omissions=draft.omissions,
        )

    def _ends_of(
        self, text: str, shown: str, max_tokens: int | None, content_type: ContentType | None
    ) -> CompressResult:
        """Return head, tail and hash of a text that is too long to be read; its tokens are an estimate."""
        limit = _ENDS_TOKENS if max_tokens is None else max_tokens
        ref = self.keep(text)
        footer = hint(ref) if ref else NOT_KEPT
        room = limit - self.counter.count(f"\n{footer}") - 2 * _NOTE_TOKENS
        while True:
            head, tail = cut_ends(shown, max(0, room), counter=self.counter)
            omission = Omission(what="chars", count=len(shown) - len(head) - len(tail))
            note = omission_note(omission.count, omission.what)
            compressed = "\n".join(filter(None, (head, note, tail, footer)))
            tokens = self.counter.count(compressed)
            if tokens <= limit or room <= 0:
                break
            room -= tokens - limit
        return CompressResult(
            compressed=compressed,
            original_tokens=estimate(text),
            compressed_tokens=tokens,
            content_type=content_type or self.router.by_shape(text[:_ENDS_READ]).content_type,
            ccr_hash=ref,
            lossless=False,
            omissions=(omission,),
        )

    def keep(self, text: str) -> str | None:
        """Store an original and return the digits its hint shows; None if it cannot be had back."""
        try:
            # Stores of one's own that know no scopes serve callers who name no owner.
            ref = self.store.put(text, scope=self.scope) if self.scope else self.store.put(text)
            return ref[:HINT_LENGTH]
        except Exception as error:  # noqa: BLE001 - any store, any failure: the chat goes on without it
            telemetry.degraded("ccr", error)
            return None

    def holds(self, text: str) -> bool:
        """Say whether `text` was stored in this scope."""
        try:
            return self._get(content_hash(text)) == text
        except Exception:  # noqa: BLE001 - what cannot be looked up is not known
            return False

    def _get(self, ref: str) -> str:
        return self.store.get(ref, scope=self.scope) if self.scope else self.store.get(ref)

    def _is_hinted(self, text: str) -> bool:
        """Say whether `text` ends in the hint of an original that this scope holds."""
        line = last_hint(text)
        return line is not None and self._is_ours(line)

    def _is_ours(self, hint_line: str) -> bool:
        try:
            self._get(own_ref(hint_line) or "")
        except Exception:  # noqa: BLE001 - what cannot be looked up is text
            return False
        return True

    def _quoted(self, chunk: str) -> str:
        """Return a chunk so that nothing in it reads as a note of ours; its last hint stays if it is one."""
        line = last_hint(chunk)
        return escape(chunk, keep=(line,) if line and self._is_ours(line) else ())

    def _untouched(self, text: str, tokens: int, content_type: ContentType | None) -> CompressResult:
        kind = content_type or self.router.by_shape(text).content_type
        return CompressResult(compressed=text, original_tokens=tokens, compressed_tokens=tokens, content_type=kind)


def _check_budget(max_tokens: int) -> None:
    if max_tokens < MIN_BUDGET:
        raise InvalidInput(f"max_tokens is at least {MIN_BUDGET}, got {max_tokens!r}")


def _is_settled(text: str) -> bool:
    """Return True if `text` holds what was folded before: without a budget it is as short as it gets."""
    return holds_compact_json(text) or holds_folded(text)


def _memory_store() -> CcrStore:
    from ctx_core.stores.memory.ccr import MemoryCcrStore  # noqa: PLC0415 - the default adapter of this port

    return MemoryCcrStore()


def _last_ref(hint_lines: Sequence[str]) -> str | None:
    return next((ref for line in reversed(hint_lines) if (ref := own_ref(line))), None)
