"""What optimizing costs: CPU per 1,000 tokens by kind, how it grows to 10 MiB, and the memory it takes.

    python bench/bench_optimize.py                 # 32 KiB of every kind, natural level and a budget; of 3 planted faults, how many stay
    python bench/bench_optimize.py --growth        # 64 KiB to 10 MiB, as a table and as bench/growth.svg with --plot FILE
    python bench/bench_optimize.py --memory        # peak of traced memory, as a multiple of the text
    python bench/bench_optimize.py --counting      # exact counts, as a share of what the published spelling of the pattern takes
    HEADROOM_TELEMETRY=off python bench/bench_optimize.py --system headroom   # the peer, from a virtual environment of its own

Counting the tokens of the input once is part of every figure, and shown beside it: no budget can be kept without it.
"""

import argparse
import itertools
import json
import random
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

KIB = 1024
GROWTH = (64 * KIB, 256 * KIB, 1024 * KIB, 4096 * KIB, 10240 * KIB)
Compress = Callable[[str, int | None], str]


def log_lines(rng: random.Random) -> Iterator[str]:
    for n in itertools.count():
        level = "ERROR" if n % 997 == 5 else "INFO"
        yield f"2026-01-05 10:{n // 60 % 60:02d}:{n % 60:02d} {level} [w-{n % 7}] shop.Cart - cart {rng.randrange(10**6)} took {n % 90} ms"


def json_lines(rng: random.Random) -> Iterator[str]:
    for n in itertools.count():
        yield json.dumps(
            {"id": n, "ship": f"ship {rng.randrange(999)}", "berth": ("north", "south")[n % 2], "note": None}
        )


def prose_lines(rng: random.Random) -> Iterator[str]:
    words = [
        "rope",
        "berth",
        "pilot",
        "ship",
        "draft",
        "north",
        "south",
        "the",
        "a",
        "of",
        "and",
        "tied",
        "noted",
        "left",
        "wind",
    ]
    while True:
        sentence = " ".join(rng.choice(words) for _ in range(12)).capitalize()
        yield f"{sentence} {rng.randrange(99)}. " + f"{sentence} again."


def code_lines(rng: random.Random) -> Iterator[str]:
    for n in itertools.count():
        yield f"def moor_{n}(ship, rope={rng.randrange(9)}):\n    knot = tie(ship, rope)\n    return knot or {n}\n"


def diff_lines(rng: random.Random) -> Iterator[str]:
    yield "diff --git a/dock.py b/dock.py\n--- a/dock.py\n+++ b/dock.py"
    for n in itertools.count():
        yield f"@@ -{n * 9},4 +{n * 9},4 @@\n rope {n}\n-    depth = {n}\n+    depth = {rng.randrange(99)}\n berth\n ship"


def search_lines(rng: random.Random) -> Iterator[str]:
    for n in itertools.count():
        yield f"src/dock{n // 12 % 40}/berth{n // 6 % 200}.py:{n}:    raise Taken('berth {rng.randrange(9999)}')"


def csv_lines(rng: random.Random) -> Iterator[str]:
    yield "id,ship,berth,depth"
    for n in itertools.count():
        yield f"{n},ship {rng.randrange(99)},{('north', 'south')[n % 2]},{rng.random():.4f}"


KINDS = {
    "log": log_lines,
    "json lines": json_lines,
    "prose": prose_lines,
    "code": code_lines,
    "diff": diff_lines,
    "search": search_lines,
    "csv": csv_lines,
}


FAULTS = ("mooring line 4711 snapped", "pilot 0815 refused to board", "depth sensor failed at 13.7")
# How each kind of text says that something broke.
PLANTED = {
    "log": "2026-01-05 10:30:07 ERROR [w-3] shop.Cart - {}",
    "json lines": '{{"id": 7, "ship": "{}", "berth": "north", "note": null}}',
    "prose": "The harbour office reports an error: {}.",
    "code": 'def fault():\n    raise RuntimeError("{}")\n',
    "diff": '@@ -7,3 +7,4 @@\n rope\n+    raise RuntimeError("{}")\n berth\n ship',
    "search": "src/dock7/berth9.py:77:    raise RuntimeError('{}')",
    "csv": "7,{},north,0.5",
}


def pieces_of(kind: str, size: int) -> list[str]:
    total, pieces = 0, []
    for piece in KINDS[kind](random.Random(1)):
        pieces.append(piece)
        total += len(piece) + 1
        if total >= size:
            break
    return pieces


def text_of(kind: str, size: int) -> str:
    """About `size` characters of a kind."""
    return "\n".join(pieces_of(kind, size))


def with_faults(kind: str, size: int) -> str:
    """The same, with a fault after each quarter."""
    pieces = pieces_of(kind, size)
    for number, fault in enumerate(FAULTS, start=1):
        pieces.insert(number * len(pieces) // 4, PLANTED[kind].format(fault))
    return "\n".join(pieces)


def ours() -> tuple[Compress, Callable[[str], int]]:
    from ctx_core import ContextOptimizer, MemoryCcrStore

    # What is kept for retrieval is the store's memory, not the optimizer's.
    optimizer = ContextOptimizer(MemoryCcrStore(max_bytes=0))
    return lambda text, budget: optimizer.optimize(text, max_tokens=budget).compressed, optimizer.counter.count


def headroom() -> tuple[Compress, Callable[[str], int]]:
    import tiktoken
    from headroom.transforms.content_router import (  # pyright: ignore[reportMissingImports] - from its own environment
        ContentRouter,
        ContentRouterConfig,
    )

    router = ContentRouter(ContentRouterConfig())
    encoding = tiktoken.get_encoding("cl100k_base")
    return lambda text, _: router.compress(text).compressed, lambda text: len(encoding.encode_ordinary(text))


def cpu_ms(function: Callable[[], object], runs: int) -> float:
    """Median CPU time of a few runs."""
    spent = []
    for _ in range(runs):
        start = time.process_time()
        function()
        spent.append((time.process_time() - start) * 1e3)
    return statistics.median(spent)


def by_kind(compress: Compress, count: Callable[[str], int]) -> None:
    print(
        f"{'kind':12}{'budget':>8}{'tokens':>9}{'after':>8}{'faults':>8}{'ms':>8}{'counting':>10}{'ms/1k tokens':>14}"
    )
    for kind, budget in itertools.product(KINDS, (None, 2000)):
        text = with_faults(kind, 32 * KIB)
        short = compress(text, budget)
        after, kept = count(short), sum(fault in short for fault in FAULTS)
        spent, counting = cpu_ms(partial(compress, text, budget), 7), cpu_ms(partial(count, text), 7)
        tokens = count(text)
        print(
            f"{kind:12}{budget or '-':>8}{tokens:9}{after:8}{kept:8}{spent:8.1f}{counting:10.1f}{1e3 * spent / tokens:14.2f}"
        )


def growth(compress: Compress, plot: Path | None) -> None:
    rows: dict[str, list[float]] = {}
    print(f"{'ms per MiB of':14}" + "".join(f"{size // KIB:>9} KiB" for size in GROWTH))
    for kind in KINDS:
        compress(text_of(kind, 32 * KIB), None)
        rows[kind] = [cpu_ms(partial(compress, text, None), 1) for text in (text_of(kind, size) for size in GROWTH)]
        print(
            f"{kind:14}"
            + "".join(f"{ms * 1024 * KIB / size:13.0f}" for ms, size in zip(rows[kind], GROWTH, strict=True))
        )
    if plot:
        plot.write_text(drawn(rows), encoding="utf-8")


def drawn(rows: dict[str, list[float]]) -> str:
    """One line a kind: CPU seconds over MiB, both axes logarithmic."""
    import math

    def x(size: float) -> float:
        return 60 + 480 * math.log(size / GROWTH[0]) / math.log(GROWTH[-1] / GROWTH[0])

    def y(ms: float) -> float:
        return 330 - 75 * math.log10(max(ms, 5) / 5)

    colours = ("#1b6ca8", "#c0392b", "#27864b", "#8e44ad", "#c77d0a", "#16808a", "#555555")
    out = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 660 370" font-family="sans-serif" font-size="12">',
        '<rect width="660" height="370" fill="white"/>',
    ]
    out += [
        f'<path d="M{x(size):.0f} 20V330" stroke="#ddd"/><text x="{x(size):.0f}" y="348" text-anchor="middle">{size / KIB / 1024:g}</text>'
        for size in GROWTH
    ]
    out += [
        f'<path d="M60 {y(ms):.0f}H540" stroke="#ddd"/><text x="52" y="{y(ms) + 4:.0f}" text-anchor="end">{ms / 1e3:g} s</text>'
        for ms in (10, 100, 1000, 10000)
    ]
    for colour, (kind, spent) in zip(colours, rows.items(), strict=False):
        points = " ".join(f"{x(size):.1f},{y(ms):.1f}" for size, ms in zip(GROWTH, spent, strict=True))
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out.append(f'<text x="548" y="{y(spent[-1]) + 4:.0f}" fill="{colour}">{kind}</text>')
    return "\n".join(
        [
            *out,
            '<text x="300" y="365" text-anchor="middle">MiB of text; CPU time, both axes logarithmic</text>',
            "</svg>\n",
        ]
    )


def memory(compress: Compress) -> None:
    print("peak of traced memory while optimizing 4 MiB, as a multiple of the text in UTF-8")
    for kind in KINDS:
        text = text_of(kind, 4096 * KIB)
        compress(text[: 64 * KIB], None)
        tracemalloc.start()
        compress(text, None)
        print(f"{kind:12}{tracemalloc.get_traced_memory()[1] / len(text.encode()):6.1f}")
        tracemalloc.stop()


# cl100k_base as tiktoken_ext/openai_public.py spells it (tiktoken, MIT).
PUBLISHED = r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""


def counting() -> None:
    from tiktoken import Encoding

    from ctx_core.tokens import TokenCounter, _load  # pyright: ignore[reportPrivateUsage] - the same ranks, other cuts

    ranks = _load("cl100k_base")._mergeable_ranks  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    published = Encoding("published", pat_str=PUBLISHED, mergeable_ranks=ranks, special_tokens={})
    print(f"{'kind':12}{'ms':>8}{'published':>11}{'share':>8}")
    for kind in KINDS:
        text = text_of(kind, 256 * KIB)
        spent = cpu_ms(partial(TokenCounter().count, text), 9)
        before = cpu_ms(partial(published.encode_ordinary, text), 9)
        print(f"{kind:12}{spent:8.1f}{before:11.1f}{spent / before:8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", choices=("ours", "headroom"), default="ours")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--counting", action="store_true")
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    compress, count = ours() if options.system == "ours" else headroom()
    if options.growth:
        growth(compress, options.plot)
    elif options.memory:
        memory(compress)
    elif options.counting:
        counting()
    else:
        by_kind(compress, count)


if __name__ == "__main__":
    main()
