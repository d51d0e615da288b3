"""The laws of the optimizer, for texts of every kind and for texts of none."""

import json
import os
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ctx_core.optimize.ccr import content_hash, hints_in
from ctx_core.optimize.fold import fold, unfold
from ctx_core.optimize.optimizer import MIN_BUDGET, ContextOptimizer
from ctx_core.optimize.router import ContentRouter
from ctx_core.tokens import TokenCounter, replace_surrogates


def _samples():
    for path in sorted((Path(__file__).parent / "samples").glob("*.txt")):
        with path.open(encoding="utf-8", newline="") as file:
            yield from (sample.partition("\n")[2].removesuffix("\n") for sample in file.read().split("%% ")[1:])


SAMPLES = tuple(_samples())
count = TokenCounter().count


@st.composite
def grown(draw):
    """A sample, with its lines repeated and numbered until it is long enough to be worth shortening."""
    lines = draw(st.sampled_from(SAMPLES)).split("\n")
    times = draw(st.integers(2, 40))
    return "\n".join(line if n == 0 else line.replace("1", str(n)) for n in range(times) for line in lines)


def _json(values):
    return st.lists(values, max_size=4) | st.dictionaries(st.text(max_size=8), values, max_size=4)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20), _json, max_leaves=30
).map(lambda value: json.dumps(value, ensure_ascii=False))
ROWS = st.lists(
    st.fixed_dictionaries({"id": st.integers(0, 10**18), "name": st.text(max_size=12), "ok": st.booleans()}),
    min_size=5,
    max_size=60,
).map(json.dumps)
ODD = (
    "\ud800",
    "\udc00",
    "\0",
    "é",
    "👨‍👩‍👧",
    "🇫🇮",
    "e\u0301",
    "\r\n",
    "\r",
    "\n",
    " ",
    "[",
    "{",
    '"',
    "'",
    "error ",
    "x" * 40,
    "库存",
)
ANY = st.text(max_size=2_000) | st.lists(st.sampled_from(ODD), max_size=600).map("".join)
PIECES = grown() | st.sampled_from(SAMPLES) | JSON | ROWS | ANY
MIXED = st.lists(PIECES, min_size=2, max_size=4).flatmap(
    lambda parts: st.sampled_from(["\n", "\n\n", "\n```json\n", "\n```\n"]).map(lambda joint: joint.join(parts))
)
# In CI every law is tried on at least 2,000 texts.
law = settings(max_examples=2_000 if os.environ.get("CTX_LONG") else 150 if os.environ.get("CI") else 50)

TEXTS = PIECES | MIXED
BUDGETS = st.none() | st.integers(MIN_BUDGET, 64) | st.integers(MIN_BUDGET, 2_000)
QUERIES = st.none() | st.sampled_from(["", "why did it fail?", "Which ship is moored?", "ошибка", "\0[("])


def optimizer(**options):
    return ContextOptimizer(router=ContentRouter(magika=False), **options)


@law
@given(TEXTS, st.integers(0, 50))
def test_what_is_within_the_budget_is_the_very_same_string(text, spare):
    result = optimizer().optimize(text, max_tokens=max(MIN_BUDGET, count(text) + spare))
    assert result.compressed is text
    assert result.lossless
    assert (result.ccr_hash, result.omissions) == (None, ())


@law
@given(TEXTS, BUDGETS, QUERIES)
@example("\ud800" * 500, 32, None)
@example("👨‍👩‍👧" * 300, 40, None)
@example("[" * 20_000, 64, None)
@example("\n" * 5_000, 32, None)
def test_no_result_is_over_its_budget_or_larger_than_its_text(text, max_tokens, query):
    result = optimizer().optimize(text, max_tokens=max_tokens, query=query)
    assert result.original_tokens == count(text)
    assert result.compressed_tokens == count(result.compressed)
    assert result.compressed_tokens <= result.original_tokens
    if max_tokens is not None:
        assert result.compressed_tokens <= max_tokens


@law
@given(TEXTS, BUDGETS)
def test_every_original_comes_back_as_it_was(text, max_tokens):
    subject = optimizer()
    result = subject.optimize(text, max_tokens=max_tokens)
    if result.compressed == text:
        assert result.ccr_hash is None
    else:
        assert result.ccr_hash == content_hash(text)[:12]
        assert subject.retrieve(result.ccr_hash or "") == text


@law
@given(TEXTS, BUDGETS)
def test_a_hint_stands_there_exactly_when_something_is_left_out(text, max_tokens):
    result = optimizer().optimize(text, max_tokens=max_tokens)
    if hints_in(text):
        return
    assert result.lossless == (not result.omissions)
    assert all(omission.count > 0 for omission in result.omissions)
    assert len(hints_in(result.compressed)) == (0 if result.lossless else 1)
    if not result.lossless:
        assert result.compressed.endswith(f"<!-- CCR:{result.ccr_hash} — full content available via retrieval -->")


@law
@given(TEXTS, BUDGETS, QUERIES)
def test_optimizing_twice_changes_nothing(text, max_tokens, query):
    once = optimizer().optimize(text, max_tokens=max_tokens, query=query).compressed
    again = optimizer().optimize(once, max_tokens=max_tokens, query=query)
    assert again.compressed is once
    assert again.ccr_hash is None


@law
@given(TEXTS, BUDGETS, QUERIES)
def test_the_same_text_gives_the_same_result_in_another_optimizer(text, max_tokens, query):
    first = optimizer().optimize(text, max_tokens=max_tokens, query=query)
    assert optimizer().optimize(text, max_tokens=max_tokens, query=query) == first


@law
@given(TEXTS, BUDGETS)
def test_no_grapheme_and_no_surrogate_pair_is_cut(text, max_tokens):
    shown = unfold(optimizer().optimize(text, max_tokens=max_tokens).compressed)
    if shown == text:
        return
    text = replace_surrogates(text)
    for before, after in pairwise(shown):
        pair = before + after
        is_half = unicodedata.combining(after) or after == "\u200d" or before == "\u200d"
        assert not is_half or pair in text, ascii(pair)
    shown.encode("utf-8")


@law
@given(TEXTS)
def test_what_is_folded_can_be_unfolded(text):
    assert unfold(fold(text)) in (text, unfold(text))


@st.composite
def records(draw):
    """Alike records of a few lines, such as tools print, with values of their own."""
    styles = (
        "{noun} {n:>4} {word:<8} {n}.{k} ms",
        "[{n}] {word}: {noun} at /srv/{noun}/{k}",
        "{noun}={word}-{k}",
        "  {word}.{noun} (id {n}) -> {k}",
        "2026-03-0{d} 1{d}:00:{k:02} INFO {noun} {word}",
        "{noun}\t{word}\t{n}",
    )
    chosen = draw(st.lists(st.sampled_from(styles), min_size=1, max_size=3, unique=True))
    random = draw(st.randoms(use_true_random=False))
    return "\n".join(
        style.format(
            n=n, k=random.randrange(60), d=random.randrange(1, 9), noun=random.choice(NOUNS), word=random.choice(NOUNS)
        )
        for n in range(draw(st.integers(8, 150)))
        for style in chosen
    )


NOUNS = ("anchor", "berth", "cable", "deck", "engine", "flag", "gauge", "hull")


@law
@given(records())
def test_without_a_budget_nothing_is_lost_below_the_natural_size(text):
    result = optimizer(natural_tokens=100_000).optimize(text)
    assert result.lossless
    smaller = optimizer().optimize(text)
    assert smaller.lossless or 0.6 * 2_000 <= smaller.compressed_tokens <= 2_000


@law
@given(records(), st.floats(0.08, 0.9))
def test_when_anything_is_left_out_the_room_is_used(text, share):
    budget = max(200, int(share * count(text)))
    result = optimizer().optimize(text, max_tokens=budget)
    assert result.lossless or result.compressed_tokens >= 0.6 * budget


KINDS = (
    "The {noun} was painted in the spring of 19{n:02}, and nobody remembers why the {word} was left as it is.\n",
    "| {noun} | {word} | {n} |\n",
    "{noun}_{n}: {word}\n",
    "src/{noun}.py:{n}: {word} = {noun}({n})\n",
    "{noun},{word},{n}\n",
    "{noun} {n} {word}\n",
)


@law
@given(st.sampled_from(KINDS), st.integers(60, 200), st.randoms(use_true_random=False), st.integers(80, 400))
def test_an_error_outlives_everything_else_in_every_kind(style, size, random, max_tokens):
    lines = [style.format(noun=random.choice(NOUNS), word=random.choice(NOUNS), n=n) for n in range(size)]
    lines.insert(random.randrange(size), "fatal error: quay.h: No such file or directory\n")
    result = optimizer().optimize("".join(lines), max_tokens=max_tokens)
    assert "fatal error: quay.h: No such file or directory" in result.compressed


STYLES = st.sampled_from(
    ["2026-01-05 10:00:00 {level} {message}", "[{level}] {message}", "{level}: {message}", "w-3 | {level} {message}"]
)


@law
@given(
    STYLES,
    st.integers(30, 300),
    st.sets(st.tuples(*[st.sampled_from(NOUNS)] * 3), min_size=1, max_size=25),
    st.randoms(),
    BUDGETS,
)
def test_every_distinct_error_outlives_every_calm_line(style, size, broken, random, max_tokens):
    calm = [
        style.format(level="INFO", message=f"{random.choice(NOUNS)} {n} checked in {n % 7} ms") for n in range(size)
    ]
    lines = list(calm)
    for part, other, place in broken:
        error = style.format(level="ERROR", message=f"the {part} broke the {other} behind the {place}")
        lines.insert(random.randrange(len(lines)), error)
    shown = optimizer().optimize("\n".join(lines), max_tokens=max_tokens).compressed
    lost = [words for words in broken if "the {} broke the {} behind the {}".format(*words) not in shown]
    assert not lost or "checked in" not in shown


@law
@given(st.lists(TEXTS, max_size=6), st.integers(MIN_BUDGET, 3_000), QUERIES)
def test_many_chunks_are_within_one_budget(chunks, max_tokens, query):
    subject = optimizer()
    results = subject.optimize_many(chunks, max_tokens=max_tokens, query=query)
    assert len(results) == len(chunks)
    assert sum(result.compressed_tokens for result in results) <= max_tokens
    for chunk, result in zip(chunks, results, strict=True):
        assert result.original_tokens == count(chunk)
        assert result.compressed_tokens == count(result.compressed)
        assert result.compressed == chunk or subject.retrieve(result.ccr_hash or "") == chunk


@pytest.mark.parametrize("max_tokens", [None, 32, 500])
@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_048_576,
        '{"a":' * 10_000 + "1" + "}" * 10_000,
        "[" * 10_000,
        "NaN " * 2_000,
        "\ud83d" * 5_000,
        "a\0b" * 5_000,
        "\x1b[31m" * 4_000,
    ],
    ids=["one line", "nested objects", "open lists", "nan", "lone surrogates", "nul", "escapes"],
)
def test_strange_texts_give_a_result(text, max_tokens):
    result = optimizer().optimize(text, max_tokens=max_tokens)
    assert result.compressed_tokens <= min(result.original_tokens, max_tokens or result.original_tokens)
