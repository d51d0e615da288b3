"""Random conversations through a strict engine: whatever a host hands over, a prompt comes back and no input is changed.

Run: `python tests/fuzz/fuzz_engine.py [seconds] [seed]`.
"""

import copy
import random
import sys
import time

from ctx_core import Archive, ContextEngine, Message, ToolCall
from ctx_core.optimize.optimizer import ContextOptimizer
from ctx_core.optimize.router import ContentRouter
from ctx_core.testing.hostile import LOOK_ALIKES, MARKERS, ORDINARY

ROLES = ("system", "developer", "user", "assistant", "tool")
WORDS = (
    "pump",
    "Remember what we said?",
    "x" * 400,
    "INFO step 1 ok\n" * 60,
    "",
    " ",
    "\ud800",
    *MARKERS,
    *LOOK_ALIKES[:60],
    *ORDINARY,
)


def text(rng: random.Random) -> str:
    return rng.choice(("", " ", "\n", "\n\n")).join(rng.choice(WORDS) for _ in range(rng.randrange(1, 6)))


def content(rng: random.Random) -> object:
    kind = rng.randrange(8)
    if kind == 0:
        return None
    if kind == 1:
        return [{"type": "text", "text": text(rng)} for _ in range(rng.randrange(3))]
    if kind == 2:
        return [text(rng), {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}, {"type": "odd"}]
    if kind == 3:
        return [{"type": "tool_result", "tool_use_id": call_id(rng), "content": text(rng)}]
    return text(rng)


def call_id(rng: random.Random) -> str:
    return rng.choice(("c1", "c2", "c3", "", "same"))


def message(rng: random.Random) -> Message:
    role = rng.choice(ROLES)
    calls = tuple(
        ToolCall(
            id=call_id(rng),
            name=rng.choice(("read", text(rng)[:40] or "f")),
            arguments=rng.choice(("{}", "{", text(rng))),
        )
        for _ in range(rng.randrange(3))
    )
    return Message(
        role=role,
        content=content(rng),  # pyright: ignore[reportArgumentType]
        id=rng.choice((None, "i1", f"i{rng.randrange(50)}")),
        name=rng.choice((None, "ana", text(rng)[:30])),
        tool_calls=calls if role == "assistant" else (),
        tool_call_id=call_id(rng) if role == "tool" else None,
    )


def run(seconds: float, seed: int) -> int:
    rng, rounds, end = random.Random(seed), 0, time.monotonic() + seconds
    while time.monotonic() < end:
        state = rng.getstate()
        optimizer = ContextOptimizer(router=ContentRouter(magika=False))
        engine = ContextEngine(optimizer=optimizer, archive=Archive(embedder=None), strict=True)
        chat: list[Message] = []
        for _ in range(rng.randrange(1, 4)):
            chat += [message(rng) for _ in range(rng.randrange(12))]
            before = copy.deepcopy(chat)
            budget = rng.choice((64, 200, 800, 4_000))
            try:
                prepared = engine.prepare(
                    chat,
                    user_id=rng.choice((None, "u", "../x")),
                    max_tokens=budget,
                    chunks=[text(rng)] * rng.randrange(3),
                )
            except Exception:
                print(f"round {rounds}, seed {seed}: {before!r}"[:3_000])
                rng.setstate(state)
                raise
            assert chat == before, "the messages given were changed"
            assert prepared.report.fits or prepared.report.warnings, "over budget without a word"
            if rng.random() < 0.5:
                chat = list(prepared.messages)
            rounds += 1
    return rounds


if __name__ == "__main__":
    arguments = [float(argument) for argument in sys.argv[1:]]
    print(run(arguments[0] if arguments else 3_600.0, int(arguments[1]) if len(arguments) > 1 else 1), "prompts")
