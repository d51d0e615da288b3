"""What a query asks for, and which text speaks of trouble."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_core.optimize.compressors.relevance import has_trouble, hits, query_terms
from ctx_core.select.notes import plural, spell_counts


def test_query_terms_are_the_words_that_say_something():
    assert query_terms("Why did the parse_config step fail in module Foo?") == (
        "parse",
        "config",
        "step",
        "fail",
        "module",
        "foo",
    )
    assert query_terms("退款政策 on café") == ("退款", "款政", "政策", "café")
    assert query_terms(None) == ()
    assert len(query_terms(" ".join(f"word{at}" for at in range(100)))) == 32


def test_hits_count_terms_and_not_occurrences():
    assert hits("Config, config and CONFIG of Foo", ("config", "foo", "bar")) == 2
    assert hits("anything", ()) == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [("raise KeyError(name)", True), ("// FIXME: later", True), ("praise be", False), ("return total", False)],
)
def test_trouble(text, expected):
    assert has_trouble(text) is expected


@given(
    st.dictionaries(
        st.sampled_from(["files", "changed lines", "matches", "lines of binary patch"]), st.integers(1, 5), min_size=1
    )
)
def test_counts_in_words_can_be_read_back(tally):
    read = [part.split(" ", 1) for part in spell_counts(tally).split(", ")]
    assert {plural(what): int(count) for count, what in read} == tally


def test_one_is_singular():
    assert spell_counts({"files": 1, "matches": 1, "changed lines": 2}) == "1 file, 1 match, 2 changed lines"
