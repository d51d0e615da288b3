"""Mutates samples of every kind and holds the optimizer to its laws, until its time is up.

    python tests/fuzz/fuzz_optimize.py 60 --seed 7 --keep /tmp/findings

Exits with 1 and prints how to repeat it when a law breaks. `--kind json` starts from the samples of one kind.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from ctx_core.optimize.ccr import content_hash, hints_in
from ctx_core.optimize.optimizer import ContextOptimizer
from ctx_core.optimize.router import ContentRouter

if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLES = Path(__file__).parents[1] / "core" / "optimize" / "samples"
ODD = (
    "\0",
    "\ud800",
    "\udfff",
    "\ufeff",
    "\u2028",
    "\x1b[31m",
    "\r",
    "\r\n",
    "\t",
    "é",
    "e\u0301",
    "👨‍👩‍👧",
    "🇫🇮",
    "库存",
    "…",
    "\\",
    '"',
    "'",
    "`",
)
ODD_LINES = (
    "```",
    "```json",
    "---",
    "#json",
    "[… 3 lines]",
    "<<ccr:0123456789ab>>",
    "--",
    "|---|---|",
    "@@ -1 +1 @@",
    "{",
    "]",
    "ERROR 0 errors",
    "",
)
# Far above what any text of these sizes should take; a machine may be busy.
MAX_SECONDS_PER_MEGABYTE = 60.0


def samples(kind: str | None) -> list[str]:
    """Return the texts of all samples, or of one kind."""
    found = sorted(SAMPLES.glob(f"{kind or '*'}.txt"))
    texts = [path.read_bytes().decode() for path in found]
    return [sample.partition("\n")[2] for text in texts for sample in text.split("%% ")[1:]]


def grow(rng: random.Random, text: str) -> str:
    """Repeat the lines of a text, numbered."""
    times = rng.choice((2, 5, 20, 60))
    return "\n".join(line.replace("1", str(n)) for n in range(times) for line in text.split("\n"))[:200_000]


def cut(rng: random.Random, text: str) -> str:
    """Drop a stretch of characters."""
    start, end = sorted(rng.randrange(len(text) + 1) for _ in range(2))
    return text[:start] + text[end:]


def insert(rng: random.Random, text: str) -> str:
    """Put odd characters in a few places."""
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(ODD) * rng.choice((1, 1, 3, 300)) + text[at:]
    return text


def swap_lines(rng: random.Random, text: str) -> str:
    """Put lines in another order, and lines that mean something to one compressor among them."""
    lines = text.split("\n")
    for _ in range(rng.randrange(1, 6)):
        lines.insert(rng.randrange(len(lines) + 1), lines.pop(rng.randrange(len(lines))))
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(ODD_LINES))
    return "\n".join(lines)


def join_lines(rng: random.Random, text: str) -> str:
    """Make one long line of all."""
    return text.replace("\n", rng.choice(("", " ", "\r", "\t", "\\n")))


def wrap(rng: random.Random, text: str) -> str:
    """Put a text into a JSON string, a list of text blocks, a fence, or the result of another call."""
    return rng.choice(
        (
            lambda: json.dumps({"result": text, "ok": True}),
            lambda: json.dumps([{"type": "text", "text": text}]),
            lambda: f"Here it is:\n```\n{text}\n```\nWhat is wrong with it?",
            lambda: new_optimizer().optimize(text, max_tokens=rng.choice((None, 60, 400))).compressed,
        )
    )()


def nest(rng: random.Random, text: str) -> str:
    """Put a text below many levels of brackets."""
    depth = rng.choice((3, 200, 5_000))
    return rng.choice(('{"a":', "[")) * depth + text + rng.choice(("}", "]", "")) * depth


MUTATIONS: tuple[Callable[[random.Random, str], str], ...] = (
    grow,
    grow,
    cut,
    insert,
    swap_lines,
    join_lines,
    wrap,
    nest,
)


def new_optimizer() -> ContextOptimizer:
    """Return an optimizer that asks no model: rules and compressors are what is looked for."""
    return ContextOptimizer(router=ContentRouter(magika=False), compress_code=True)


def check(text: str, max_tokens: int | None, query: str | None) -> None:
    """Raise if a law breaks."""
    subject = new_optimizer()
    start = time.process_time()
    result = subject.optimize(text, max_tokens=max_tokens, query=query)
    seconds = time.process_time() - start
    count = subject.counter.count
    assert result.original_tokens == count(text), "wrong count of the input"
    assert result.compressed_tokens == count(result.compressed), "wrong count of the result"
    assert result.compressed_tokens <= min(result.original_tokens, max_tokens or result.original_tokens), "over budget"
    assert result.lossless == (not result.omissions), "lossless, and yet something is left out"
    again = new_optimizer().optimize(text, max_tokens=max_tokens, query=query)
    assert again == result, "another result the second time"
    twice = subject.optimize(result.compressed, max_tokens=max_tokens, query=query)
    assert twice.compressed == result.compressed, "optimizing twice changed it"
    if result.compressed != text and not hints_in(text):
        assert result.ccr_hash == content_hash(text)[:12], "wrong reference"
        assert subject.retrieve(result.ccr_hash) == text, "the original did not come back"
    assert seconds < 1 + MAX_SECONDS_PER_MEGABYTE * len(text) / 1e6, f"took {seconds:.1f} s for {len(text)} characters"


def one_round(seed: int, texts: list[str]) -> str | None:
    """Build one input from `seed` and check it; return what broke."""
    rng = random.Random(seed)
    text = rng.choice(texts)
    for _ in range(rng.randrange(1, 6)):
        text = rng.choice(MUTATIONS)(rng, text)[:400_000]
        if rng.random() < 0.1:
            text += "\n" + rng.choice(texts)
    max_tokens = rng.choice((None, None, 32, 40, 100, 500, 4_000))
    query = rng.choice((None, None, "why did it fail?", "which berth is open"))
    try:
        check(text, max_tokens, query)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"seed {seed}, max_tokens={max_tokens}, query={query!r}, {len(text)} characters\n{traceback.format_exc(limit=-4)}\n\0{text}"
    return None


def main() -> int:
    """Run rounds until the time is up; return how many broke a law."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--seed", type=int, default=0, help="of the first round; the next one has the next seed")
    parser.add_argument("--kind", help="start from the samples of one kind")
    parser.add_argument("--keep", type=Path, help="write failing inputs into this folder")
    parser.add_argument("--stop-after", type=int, default=1, help="findings")
    options = parser.parse_args()
    texts, end, seed, findings = samples(options.kind), time.monotonic() + options.seconds, options.seed, 0
    while time.monotonic() < end and findings < options.stop_after:
        if broken := one_round(seed, texts):
            findings += 1
            report, _, text = broken.partition("\0")
            print(report, flush=True)
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / f"{seed}.txt").write_bytes(text.encode("utf-8", "surrogatepass"))
        seed += 1
    print(f"{seed - options.seed} rounds from seed {options.seed}, {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
