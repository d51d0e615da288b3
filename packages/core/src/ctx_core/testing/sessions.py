"""A long agent session that is evicted, archived, forgotten, asked about and rehydrated, on any blob store."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from ctx_core.messages import Message, ToolCall
from ctx_core.rehydrate.archive import Archive
from ctx_core.rehydrate.evict import Evictor
from ctx_core.rehydrate.pairs import call_ids, result_ids
from ctx_core.rehydrate.rehydrator import Rehydrator
from ctx_core.testing.embeddings import FakeEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctx_core.embeddings.base import Embedder
    from ctx_core.rehydrate.blobs import BlobStore

_PARTS = "valve pump seal rotor gasket flange bearing sensor nozzle piston clutch lever".split()  # noqa: SIM905 - reads as a list
_TRAITS = "torque pressure supplier batch colour tolerance".split()  # noqa: SIM905
_FILLER = "checking counting sorting weighing listing packing moving tagging".split()  # noqa: SIM905


@dataclass(frozen=True, slots=True, kw_only=True)
class Needle:
    """A fact that is told once: the question that asks for it, and the words that answer."""

    question: str
    answer: str


def long_session(seed: int = 7, *, length: int = 400) -> tuple[list[Message], list[Needle]]:
    """Return about `length` messages of one agent session, and the facts hidden in it."""
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    facts = [(part, trait) for part in _PARTS for trait in _TRAITS]
    rng.shuffle(facts)
    messages = [
        Message(role="system", content="You keep the workshop's books."),
        Message(role="user", content="Go through the stock, bin by bin, and note what I tell you.", id="task"),
        Message(role="assistant", content="Ready.", id="ready"),
    ]
    needles: list[Needle] = []
    while len(messages) < length:
        step = len(messages)
        if step % 4 == 3 and facts:
            part, trait = facts.pop()
            value = f"{part[:2].upper()}-{rng.randrange(1000, 9999)}"
            needles.append(
                Needle(question=f"Remember when I told you the {trait} of the {part}? Which was it?", answer=value)
            )
            messages.append(Message(role="user", content=f"The {trait} of the {part} is {value}.", id=f"m{step}"))
            messages.append(Message(role="assistant", content="Noted.", id=f"m{step}a"))
            continue
        calls = tuple(
            ToolCall(id=f"call-{step}-{at}", name="count_bin", arguments=f'{{"bin": {rng.randrange(99)}}}')
            for at in range(rng.choice((1, 1, 2, 3)))
        )
        messages.append(
            Message(role="assistant", content=f"Now {rng.choice(_FILLER)}.", tool_calls=calls, id=f"m{step}")
        )
        messages += [
            Message(
                role="tool",
                tool_call_id=call.id,
                id=f"r{call.id}",
                content=f"{rng.choice(_FILLER)} gave {rng.randrange(500)}",
            )
            for call in calls
        ]
    return messages, needles


def assert_legal(messages: Sequence[Message]) -> None:
    """Fail unless providers accept the order: results right behind their calls, every call answered, roles that alternate."""
    talk = [message for message in messages if message.role not in ("system", "developer")]
    assert talk[0].role == "user", "the first message is the user's"
    waiting: set[str] = set()
    for before, message in zip((None, *talk), talk, strict=False):
        if answered := set(result_ids(message)):
            assert answered <= waiting, f"results {answered - waiting} have no call right before them"
            waiting -= answered
            continue
        assert not waiting, f"calls {waiting} are not answered"
        waiting = set(call_ids(message))
        if before is not None and before.role == message.role == "user":
            raise AssertionError("two user messages stand side by side")
    assert not waiting, f"calls {waiting} are not answered"


def run_session(store: BlobStore, *, embedder: Embedder | None = None, max_tokens: int = 1200) -> None:
    """Live through a long session step by step with a small window, then ask for everything that was told."""
    messages, needles = long_session()
    archive = Archive(store, embedder=embedder or FakeEmbedder(256))
    evictor = Evictor()
    window: list[Message] = []
    for message, following in pairwise(messages):
        window.append(message)
        if following.role != "assistant":
            continue  # the window is looked at before the model is called
        evicted = evictor.evict(window, max_tokens=max_tokens)
        assert evicted.fits, evicted.reason
        assert_legal(evicted.messages)
        archive.append("user-1", evicted.evicted)
        window = evicted.messages
    kept = {message.id for message in window}
    archived = {turn.id for turn in archive.export("user-1")}
    assert {message.id for message in messages[1:-1]} <= kept | archived, "a turn was lost"
    archive.flush()
    later = Archive(store, embedder=embedder or FakeEmbedder(256))  # another process, with nothing in memory
    rehydrator = Rehydrator(later)
    for needle in needles:
        asked = [*window, Message(role="user", content=needle.question)]
        found = rehydrator.rehydrate(asked, user_id="user-1")
        assert any(needle.answer in message.text for message in found.messages), (needle, found.block)
        assert not found.warnings
    assert rehydrator.rehydrate([Message(role="user", content=needles[0].question)], user_id="user-2").block == ""
