"""What rehydration costs: a call without a trigger, a warm search, an append; against embedding every turn at every request.

    python bench/bench_rehydrate.py              10,000 turns of one user, in memory
    python bench/bench_rehydrate.py --users 1000 what other users' archives add to one search, 1,000 turns each
    python bench/bench_rehydrate.py --s3 URL     the same in a bucket, s3://bucket/prefix?endpoint=http://…

Vectors come from a seeded generator, as neither side is about the model; the model's own cost is printed beside it.
The bucket must be there; credentials are boto3's to find, as in AWS_ACCESS_KEY_ID.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any
from urllib.parse import parse_qs, urlsplit
from zlib import crc32

from ctx_core.embeddings.minilm import MiniLmEmbedder
from ctx_core.messages import Message
from ctx_core.rehydrate.archive import Archive, Turn
from ctx_core.rehydrate.blobs import BlobStore
from ctx_core.rehydrate.rehydrator import Rehydrator
from ctx_core.stores.memory.blobs import MemoryBlobs

SYLLABLES = [f"{start}{middle}{end}" for start in "bcdfglmprst" for middle in "aeou" for end in ("", "l", "n", "r")]
WORDS = [f"{one}{other}" for other in SYLLABLES[:60] for one in SYLLABLES]  # 10,560, as many as people use
PREFERENCE = list(accumulate(1 / (at + 1) for at in range(len(WORDS))))
ASK = Message(role="user", content="remember when we set the torque of the valve and the pump?")
QUIET = Message(role="user", content="Please add a test for the parser and run the linter on it afterwards.")


class SeededEmbedder:
    """Draws each text's vector from a generator seeded by the text."""

    model = "seeded"
    dimension = 384
    similarity_floor = 0.0

    def embed(self, texts: Sequence[str]) -> list[Any]:
        import numpy as np

        draw = (
            np.random.default_rng(crc32(text.encode())).standard_normal(self.dimension, dtype=np.float32)
            for text in texts
        )
        return [vector / np.linalg.norm(vector) for vector in draw]


def turns_of(user: str, count: int, rng: random.Random) -> list[Turn]:
    return [
        Turn(
            id=f"{user}-{at}",
            role=("user", "assistant")[at % 2],
            content=" ".join(rng.choices(WORDS, cum_weights=PREFERENCE, k=25)),
        )
        for at in range(count)
    ]


def timed(call: Callable[[], object], *, times: int) -> dict[str, float]:
    wall, cpu = [], time.process_time()
    for _ in range(times):
        start = time.perf_counter()
        call()
        wall.append((time.perf_counter() - start) * 1e3)
    cpu = (time.process_time() - cpu) * 1e3 / times
    wall.sort()
    return {
        "cpu_ms": round(cpu, 4),
        "median_ms": round(wall[len(wall) // 2], 4),
        "p95_ms": round(wall[int(len(wall) * 0.95)], 4),
    }


def every_turn_every_time(turns: list[Turn], embedder: SeededEmbedder, query: str) -> list[Turn]:
    """Embed the query and every archived turn anew, one call each, as the first rehydrators did."""
    (wanted,) = embedder.embed([query])
    scored = []
    for turn in turns:
        (vector,) = embedder.embed([turn.text])
        scored.append((float(vector @ wanted), turn.id, turn))
    return [turn for _, _, turn in sorted(scored, reverse=True)[:5]]


def store_at(url: str | None) -> BlobStore:
    if url is None:
        return MemoryBlobs()
    from ctx_core.stores.s3 import S3Blobs

    endpoint = parse_qs(urlsplit(url).query).get("endpoint")
    return S3Blobs.from_url(url.partition("?")[0], **({"endpoint_url": endpoint[0]} if endpoint else {}))


def one_user(count: int, blobs: BlobStore) -> dict[str, object]:
    rng = random.Random(7)
    embedder = SeededEmbedder()
    archive = Archive(blobs, embedder=embedder)
    turns = turns_of("user-1", count, rng)
    for start in range(0, count, 500):
        archive.append("user-1", turns[start : start + 500])
    archive.flush()
    rehydrator = Rehydrator(archive)
    archive.search("user-1", "warm up")
    fresh = iter(range(10**6))
    queries = (" ".join(rng.choices(WORDS, cum_weights=PREFERENCE, k=6)) for _ in range(10**6))
    report: dict[str, object] = {
        "no trigger": timed(lambda: rehydrator.rehydrate([QUIET], user_id="user-1"), times=500),
        "warm search": timed(lambda: archive.search("user-1", next(queries)), times=100),
        "triggered call": timed(lambda: rehydrator.rehydrate([ASK], user_id="user-1"), times=50),
        "append of 20 turns": timed(lambda: archive.append("user-1", turns_of(f"new{next(fresh)}", 20, rng)), times=20),
        "every turn embedded at every request": timed(
            lambda: every_turn_every_time(turns, embedder, ASK.text), times=1
        ),
    }
    if MiniLmEmbedder.available():
        model = MiniLmEmbedder()
        model.embed(["warm up"])
        report["one query through the local model"] = timed(lambda: model.embed([next(queries)]), times=20)
    return report


def many_users(users: int, count: int, blobs: BlobStore) -> dict[str, object]:
    rng = random.Random(7)
    query = " ".join(WORDS[:6])
    writer = partial(Archive, blobs, embedder=SeededEmbedder())
    report: dict[str, object] = {}
    archive = writer()
    for number in range(users):
        archive.append(f"user{number}", turns_of(f"user{number}", count, rng))
        archive.flush()  # or the vectors of all users wait in memory
        print(f"{number + 1} users", end="\r", file=sys.stderr)
        if number + 1 in (1, users // 10, users):
            report[f"cold search, {number + 1} users"] = timed(lambda: writer().search("user0", query), times=20)
            warm = writer()
            warm.search("user0", query)
            report[f"warm search, {number + 1} users"] = timed(partial(warm.search, "user0", query), times=200)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--users", type=int, default=0)
    parser.add_argument("--s3", metavar="URL")
    options = parser.parse_args()
    blobs = store_at(options.s3)
    report = many_users(options.users, 1000, blobs) if options.users else one_user(options.turns, blobs)
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
