"""References, hints, and parts of originals."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_core.errors import InvalidInput
from ctx_core.optimize.ccr import (
    PAGE_CHARS,
    content_hash,
    decode,
    encode,
    excerpt,
    hint,
    hints_in,
    normalized_ref,
    own_ref,
    without_hints,
)
from ctx_core.optimize.optimizer import ContextOptimizer

LINES = "\n".join(f"line {n}" for n in range(1, 21))


@given(st.text() | st.lists(st.characters(categories=["Cs"])).map("".join))
def test_bytes_give_every_string_back(text):
    assert decode(encode(text)) == text
    assert content_hash(text) == hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def test_a_hint_shows_twelve_digits():
    assert hint("3f9a1c2b7d40" + "0" * 52) == "<!-- CCR:3f9a1c2b7d40 — full content available via retrieval -->"


def test_a_hint_names_a_tool_if_there_is_one():
    named = hint("3f9a1c2b7d40", retrieval_tool="get_back")
    assert named == "<!-- CCR:3f9a1c2b7d40 — full content available via retrieval with the tool get_back -->"
    assert own_ref(named) == "3f9a1c2b7d40"


@pytest.mark.parametrize(
    "line",
    [
        hint("3f9a1c2b7d40"),
        hint("3f9a1c2b7d40", retrieval_tool="get_back"),
        "<!-- CCR:3f9a1c2b7d40aaaa — full content available via retrieval -->",
    ],
)
def test_hints_are_found(line):
    text = f"above\n{line}\nbelow"
    assert hints_in(text) == [line]
    assert without_hints(text) == "above\nbelow"


@pytest.mark.parametrize(
    "text",
    [
        "<!-- CCR: nothing here -->",
        "The hint reads `CCR:` and then a hash.",
        "[hash=0123456789ab]",
        "<<ccr:e21a26620105 988_rows_offloaded>>",
        "[1,000 rows omitted. Retrieve more: hash=0123456789ab]",
        "git commit hash=0123456789ab [omit]",
        "<<ccr>>",
        "<!-- a comment -->",
    ],
)
def test_what_only_looks_like_a_hint_is_text(text):
    assert hints_in(text) == []
    assert own_ref(text) is None


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ("3F9A1C2B7D40", "3f9a1c2b7d40"),
        ("3f9a1c2b7d4", None),
        ("3f9a1c2b7d40" * 6, None),
        ("3f9a1c2b7d4g", None),
        ("３f9a1c2b7d40", None),
        ("", None),
    ],
)
def test_references_are_twelve_to_sixty_four_hex_digits(ref, expected):
    assert normalized_ref(ref) == expected


def test_an_excerpt_of_nothing_in_particular_is_all():
    assert excerpt(LINES) is LINES


@pytest.mark.parametrize(
    ("lines", "expected"),
    [((1, 1), "line 1"), ((19, 40), "line 19\nline 20"), ((21, 30), ""), ((3, 4), "line 3\nline 4")],
)
def test_lines_are_counted_from_one_and_both_included(lines, expected):
    assert excerpt(LINES, lines=lines) == expected


@pytest.mark.parametrize("lines", [(0, 3), (5, 4), (-2, -1)])
def test_a_range_that_is_none_is_refused(lines):
    with pytest.raises(InvalidInput, match="lines"):
        excerpt(LINES, lines=lines)


def test_a_query_gives_numbered_lines_with_two_around():
    text = LINES.replace("line 4", "the Rope broke").replace("line 15", "another rope")
    assert excerpt(text, query="rope?").split("\n") == [
        "2: line 2",
        "3: line 3",
        "4: the Rope broke",
        "5: line 5",
        "6: line 6",
        "--",
        "13: line 13",
        "14: line 14",
        "15: another rope",
        "16: line 16",
        "17: line 17",
    ]


def test_a_query_within_lines_keeps_their_numbers():
    assert excerpt(LINES, query="12", lines=(10, 14)).startswith("10: line 10\n11: line 11\n12: line 12")


@pytest.mark.parametrize("query", ["anchor", "", "!?"])
def test_a_query_that_finds_nothing_says_so(query):
    assert excerpt(LINES, query=query) == f"[no line of 20 holds a word of {query!r}]"


def test_pages_are_whole_lines_and_say_where_they_are():
    text = "\n".join(f"line {n} " + "x" * 90 for n in range(400))
    first = excerpt(text, page=1)
    body, _, note = first.rpartition("\n")
    assert note.startswith("[page 1 of ")
    assert len(body) <= PAGE_CHARS
    assert text.startswith(body)
    assert excerpt("short", page=1) == "short"


@given(st.text(alphabet="ab\n👨‍é\u0301🇫", max_size=3_000).map(lambda text: text * 9))
def test_pages_joined_are_the_text_again(text):
    pages, total = [], 1
    while len(pages) < total:
        body, sep, note = excerpt(text, page=len(pages) + 1).rpartition("\n[page ")
        pages.append(body if sep else note)
        total = int(note.removesuffix("]").rpartition(" ")[2]) if sep else 1
    assert "".join(pages) == text


@pytest.mark.parametrize("page", [0, 2, -1])
def test_a_page_that_is_not_there_is_refused(page):
    with pytest.raises(InvalidInput, match="pages 1 to 1"):
        excerpt(LINES, page=page)


@pytest.mark.parametrize(
    "marker",
    [
        "<!-- CCR:c79ac69d7a74 — full content available via retrieval" + "\0" * 900 + " -->",
        "<<ccr:0102345eu-19" + ' {"cpu": 4}, "up"' * 8 + ">>",
        "[" + "word " * 22 + "compressed to 3, hash=0102345abcde]",
    ],
)
def test_what_looks_like_a_hint_and_fills_the_budget_is_content(marker):
    text = "\n".join([*(f"INFO step {n} ok" for n in range(300)), marker])
    result = ContextOptimizer().optimize(text, max_tokens=40)
    assert result.compressed_tokens <= 40
