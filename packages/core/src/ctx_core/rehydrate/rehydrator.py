"""Rehydration: when a message looks back, what it refers to comes back into the prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence  # noqa: TC003 - hosts put the config into pydantic models, which read its types
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ctx_core import telemetry
from ctx_core.errors import InvalidInput
from ctx_core.messages import Message, as_messages
from ctx_core.rehydrate.concurrent import within
from ctx_core.rehydrate.identity import identify
from ctx_core.rehydrate.inject import Placement, inject, render_block, without_block
from ctx_core.rehydrate.lexical import words
from ctx_core.rehydrate.pairs import result_ids
from ctx_core.rehydrate.summary import without_notes
from ctx_core.rehydrate.triggers import TriggerDetector, TriggerMode
from ctx_core.tokens import TokenCounter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from ctx_core.rehydrate.archive import Archive, Scan, ScoredTurn
    from ctx_core.rehydrate.turns import Turn

Metrics: TypeAlias = "dict[str, float | str | list[float]]"

# Without a vector, or without a floor of one's own, a turn qualifies that holds this share of the query's weight in words.
_LEXICAL_FLOOR: Final = 0.4
# Words (stop words apart) from which on a message is taken for the only one of its text.
_SAID_ONCE: Final = 3
# Hits are ranked by more than their cosine, so that some of the first ones may not qualify.
_CANDIDATES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RehydratorConfig:
    """When turns come back, which ones, and where they go.

    Args:
        trigger_mode: `look_back`, `phrases`, `always`, or a function that returns what fired.
        trigger_phrases: Phrases that fire: the only ones in mode `phrases`, further ones in mode `look_back`.
        max_rehydrated: The most turns that come back, those that belong to them not counted.
        search_depth_days: Turns older than this stay in the archive; None sets no limit.
        similarity_threshold: Cosine floor; None takes the embedder's own, and then a turn with the query's words qualifies too.
        blob_prefix: Where the archives are under the blob store; None takes the archive's own prefix.
        max_blobs_scanned: The most archives read from the store for one message; what was read before costs nothing.
        max_tokens: The most tokens of the block.
        with_answers: Whether a question comes back with its answer and an answer with its question.
        placement: `system`, the end of the system prompt; `user`, a message of its own before the last user message.
        timeout_seconds: When the chat goes on without a search that takes longer.
        wait_seconds: The longest wait for turns that are just being embedded; by default none, as words find them already.
    """

    trigger_mode: TriggerMode | str | Callable[[str], str | None] = TriggerMode.LOOK_BACK
    trigger_phrases: Sequence[str] | None = None
    max_rehydrated: int = 5
    search_depth_days: float | None = None
    similarity_threshold: float | None = None
    blob_prefix: str | None = None
    max_blobs_scanned: int = 50
    max_tokens: int = 1500
    with_answers: bool = True
    placement: Placement = "system"
    timeout_seconds: float = 10.0
    wait_seconds: float = 0.0

    def __post_init__(self) -> None:
        """Refuse values that cannot be right."""
        for name in ("max_rehydrated", "max_blobs_scanned", "max_tokens", "timeout_seconds", "wait_seconds"):
            if getattr(self, name) < 0:
                raise InvalidInput(f"{name} must not be negative, not {getattr(self, name)}")
        if self.placement not in ("system", "user"):
            raise InvalidInput(f"placement is 'system' or 'user', not {self.placement!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehydrated:
    """The messages with what came back.

    Args:
        messages: The messages to send; those given where nothing came back.
        block: The block that was injected, empty if none.
        turns: The turns in the block, oldest first.
        metrics: `rehydrator.matched` always; `rehydrator.trigger`, `rehydrator.scores` (cosines, oldest turn first) when something
            came back; `rehydrator.scanned_blobs` when archives were searched; times in milliseconds.
        warnings: One line for each thing that failed and was left out.
    """

    messages: list[Message]
    block: str = ""
    turns: tuple[Turn, ...] = ()
    metrics: Metrics = field(default_factory=lambda: {"rehydrator.matched": 0})
    warnings: tuple[str, ...] = ()


class Rehydrator:
    """Brings archived turns back when a message refers to them. It never raises for what a store or embedder does.

    Args:
        archive: Where the turns are.
        config: When turns come back, which ones, and where they go.
        counter: Counts the block's tokens.
    """

    def __init__(
        self, archive: Archive, *, config: RehydratorConfig | None = None, counter: TokenCounter | None = None
    ) -> None:
        self.config = config or RehydratorConfig()
        self.archive = archive.under(self.config.blob_prefix) if self.config.blob_prefix else archive
        self.detector = TriggerDetector(mode=self.config.trigger_mode, phrases=self.config.trigger_phrases)
        self.counter = counter or TokenCounter()

    def rehydrate(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        *,
        user_id: str,
        now: datetime | None = None,
        session_id: str | None = None,
    ) -> Rehydrated:
        """Return `messages` with what the last user message refers back to: trigger, scan, score, inject.

        Args:
            messages: The window, oldest first.
            user_id: Whose archive is searched.
            now: The time of asking; the present by default.
            session_id: The conversation the messages belong to, which `last time` does not mean.
        """
        given = as_messages(messages)
        asked = _last_asked(given)
        trigger = self.detector.detect(asked)
        if trigger is None or not self.config.max_rehydrated:
            return Rehydrated(messages=given)
        window = without_block(given)
        is_live = _live(window)
        started = perf_counter()
        try:
            scan = within(
                self.config.timeout_seconds, lambda: self._scan(asked, user_id, now, session_id, skip=is_live)
            )
        except InvalidInput:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a store or embedder raises, the chat goes on
            return _skipped(given, error)
        searched_ms = (perf_counter() - started) * 1000
        picked = [hit for hit in scan.hits if self._qualifies(hit, floor=scan.similarity_floor)][
            : self.config.max_rehydrated
        ]
        units = [_unit(hit, is_live) for hit in picked]
        block, turns = render_block(units, counter=self.counter, max_tokens=self.config.max_tokens)
        shown = sorted((hit for hit in picked if hit.position in turns), key=lambda hit: hit.position)
        return Rehydrated(
            messages=inject(window, block, placement=self.config.placement) if block else given,
            block=block,
            turns=tuple(turns.values()),
            metrics=_metrics(trigger, scan, shown, searched_ms),
            warnings=tuple(scan.warnings),
        )

    async def arehydrate(self, messages: Sequence[Message | Mapping[str, Any]], **options: Any) -> Rehydrated:
        """Do as `rehydrate`, in a worker thread."""
        return await asyncio.to_thread(self.rehydrate, messages, **options)

    def _scan(
        self,
        asked: str,
        user_id: str,
        now: datetime | None,
        session_id: str | None,
        *,
        skip: Callable[[Turn], bool],
    ) -> Scan:
        return self.archive.scan(
            user_id,
            asked,
            top_k=_CANDIDATES * self.config.max_rehydrated,
            now=now,
            session_id=session_id,
            max_age_days=self.config.search_depth_days,
            max_reads=self.config.max_blobs_scanned,
            skip=skip,
            with_answers=self.config.with_answers,
            wait_seconds=self.config.wait_seconds,
        )

    def _qualifies(self, hit: ScoredTurn, *, floor: float) -> bool:
        """Say whether a hit is near enough; a turn of the very time that was asked about always is."""
        if hit.dated:
            return True
        if hit.cosine is None:
            return hit.lexical >= _LEXICAL_FLOOR
        threshold = self.config.similarity_threshold
        if threshold is not None:
            return hit.cosine >= threshold
        return hit.cosine >= floor or hit.lexical >= _LEXICAL_FLOOR


def _last_asked(messages: Sequence[Message]) -> str:
    """Return the text of the last user message that is no mere carrier of tool results."""
    # A note on what left the window is ours, and its words refer back to nothing.
    said = (without_notes(message)[0] for message in reversed(messages) if message.role == "user")
    return next((m.text for m in said if m is not None and not (result_ids(m) and not m.text)), "")


def _live(window: Sequence[Message]) -> Callable[[Turn], bool]:
    """Return what says whether a turn still stands in the window.

    Ids decide, those of the host and those that `identify` gives. What the host named in the archive and not in the window, or
    the other way round, is known by its words, if these are more than a short reply, which is said more than once.
    """
    ids = {turn.id for turn in identify(window)}
    said = {(message.role, message.text) for message in window if len(words(message.text)) >= _SAID_ONCE}
    return lambda turn: turn.id in ids or (turn.role, turn.text) in said


def _unit(hit: ScoredTurn, is_live: Callable[[Turn], bool]) -> dict[int, Turn]:
    """Return a hit and what belongs to it, by position, without what still stands in the window."""
    return {hit.position: hit.turn} | {at: turn for at, turn in hit.beside if not is_live(turn)}


def _metrics(trigger: str, scan: Scan, shown: Sequence[ScoredTurn], searched_ms: float) -> Metrics:
    metrics: Metrics = {
        "rehydrator.matched": len(shown),
        "rehydrator.scanned_blobs": scan.scanned_blobs,
        "rehydrator.search_ms": round(searched_ms, 3),
    }
    if shown:
        metrics["rehydrator.trigger"] = trigger
        metrics["rehydrator.scores"] = [round(hit.score if hit.cosine is None else hit.cosine, 3) for hit in shown]
    return metrics


def _skipped(given: list[Message], error: Exception) -> Rehydrated:
    warning = telemetry.degraded("rehydration", error)
    metrics: Metrics = {"rehydrator.matched": 0, "rehydrator.failed": 1}
    return Rehydrated(messages=given, metrics=metrics, warnings=(warning,))
