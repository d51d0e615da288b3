"""Counts are exact, never need the network, and no text is refused."""

import pickle
from functools import lru_cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken import Encoding

from ctx_core.errors import InvalidInput
from ctx_core.tokens import RememberingCounter, TokenCounter, _load, encoding_for_model, estimate, whole_graphemes

COUNTER = TokenCounter()
ANY_TEXT = st.text(st.characters(), max_size=300)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("hello world", 2), ("<|endoftext|>", 7), ("\ud800", 1)],
)
def test_counts_in_cl100k_base(text, tokens):
    assert COUNTER.count(text) == tokens


def test_o200k_base_counts_chinese_in_fewer_tokens():
    text = "上下文引擎把日志压缩成更少的标记" * 20
    assert TokenCounter("o200k_base").count(text) < COUNTER.count(text)


# As tiktoken_ext/openai_public.py spells them (tiktoken, MIT).
PUBLISHED = {
    "cl100k_base": r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s""",
    "o200k_base": "|".join(  # noqa: FLY002 - one alternative a line
        (
            r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
            r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
            r"""\p{N}{1,3}""",
            r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
            r"""\s*[\r\n]+""",
            r"""\s+(?!\S)""",
            r"""\s+""",
        )
    ),
}
# A letter of each case and script that the patterns tell apart, what elides, digits, every kind of white space, marks.
TELLING = "aZſKé漢ǅʰ\u0301'’stdmrevl019٣½ \t\n\r\x0b\x0c\x1c\x1f\x85\xa0\u2028\u2029\u3000\u200d!/.#_-{}🙂\ud7ff"


@lru_cache
def published(encoding):
    ranks = _load(encoding)._mergeable_ranks
    return Encoding(encoding, pat_str=PUBLISHED[encoding], mergeable_ranks=ranks, special_tokens={})


@pytest.mark.parametrize("encoding", PUBLISHED)
@given(text=ANY_TEXT | st.text(TELLING, max_size=40))
def test_counts_are_those_of_the_published_pattern(encoding, text):
    assert TokenCounter(encoding).count(text) == len(published(encoding).encode_ordinary(text))


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("gpt-4o-mini", "o200k_base"),
        ("openai/gpt-5.5", "o200k_base"),
        ("o4-mini", "o200k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-4.1", "o200k_base"),
        ("claude-sonnet-4-6", "cl100k_base"),
        ("gpt-6-sol", "o200k_base"),
    ],
)
def test_models_have_encodings(model, encoding):
    assert encoding_for_model(model) == encoding


def test_an_unknown_encoding_is_the_callers_error():
    with pytest.raises(InvalidInput, match="known are cl100k_base"):
        TokenCounter("p50k")


@pytest.mark.parametrize("text", ["上下文引擎" * 80, "コンテキストエンジン" * 40, "맥락을 압축합니다 " * 40])
def test_the_estimate_of_wide_scripts_is_not_far_below_the_count(text):
    assert estimate(text) >= 0.75 * COUNTER.count(text)
    assert estimate(text) >= 0.6 * len(text.replace(" ", ""))


@given(ANY_TEXT, st.integers(0, 60))
@settings(deadline=None)
def test_a_clipped_text_is_a_prefix_within_its_budget(text, limit):
    clipped = COUNTER.clip(text, limit)
    assert text.startswith(clipped)
    assert COUNTER.count(clipped) <= limit


@pytest.mark.parametrize("cluster", ["e\u0301", "👩\u200d👩\u200d👧", "🇩🇪", "👍🏽", "\r\n", "नि"])
def test_no_cut_falls_inside_what_a_reader_sees_as_one_character(cluster):
    text = f"ab{cluster}cd"
    for cut in range(len(text) + 1):
        assert whole_graphemes(text, cut) not in range(3, 2 + len(cluster))


def test_a_counter_pickles_without_its_vocabulary():
    raw = pickle.dumps(COUNTER)
    assert len(raw) < 200
    assert pickle.loads(raw) == COUNTER


@given(st.lists(st.text(max_size=600), max_size=30))
def test_a_remembering_counter_counts_the_same(texts):
    remembering = RememberingCounter(max_characters=1000)
    assert [remembering.count(text) for text in texts * 2] == [COUNTER.count(text) for text in texts * 2]


def test_a_remembering_counter_forgets_on_the_way_through_pickle():
    counter = RememberingCounter()
    counter.count("word " * 5000)
    assert len(pickle.dumps(counter)) < 200
    assert pickle.loads(pickle.dumps(counter)).count("hello world") == 2


@pytest.mark.parametrize("encoding", ["cl100k_base", "o200k_base"])
@given(
    st.lists(
        st.text(max_size=40) | st.sampled_from(["\n", "\n\n \n", "=\n/", " \r\n", "//\n", "'s\n", "\ud800\n", "12\n"])
    ).map("a".join)
)
def test_a_long_text_counts_the_same_in_pieces(encoding, parts):
    text = "".join(parts)
    whole = TokenCounter(encoding).count(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ctx_core.tokens._PIECE_CHARS", 1)
        assert TokenCounter(encoding).count(text) == whole


@pytest.mark.parametrize("run", [" ", "\t", "\u00a0", "\n", "a", "é", "\u0301"])
def test_a_run_of_two_million_characters_is_counted(run):
    assert COUNTER.count(run * 2_000_000 + "x(") > 1
