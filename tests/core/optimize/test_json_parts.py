"""JSON as tools hand it over: cut at a limit, several documents in a row, broken lines, words below."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_core.optimize.content import ContentType
from ctx_core.optimize.json_parts import is_one_document, json_pieces
from ctx_core.optimize.optimizer import ContextOptimizer

BERTHS = [{"id": n, "ship": f"ship {n % 9}", "berth": "north", "depth": n * 0.25} for n in range(120)]
LINES = [json.dumps(berth) for berth in BERTHS]
ROWS = json.dumps(BERTHS)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=40,
)


def shown(text: str) -> str:
    result = ContextOptimizer().optimize(text)
    assert result.lossless
    return result.compressed


@pytest.mark.parametrize(
    "text",
    [
        ROWS[:-30],
        json.dumps({"total": 120, "items": BERTHS})[:-50],
        json.dumps(BERTHS, indent=2)[:-50],
        ROWS[:-30] + "... [truncated]",
        "\n".join(LINES)[:-20],
        "\n".join(LINES)[20:],
        "\n".join([*LINES[:60], '{"id": 5, "ship', *LINES[60:]]),
        json.dumps(BERTHS[:60]) + "\n" + json.dumps(BERTHS[60:]),
        json.dumps(BERTHS[:60], indent=1) + "\n" + json.dumps(BERTHS[60:], indent=1),
        ROWS + "\n\nExit code: 1\nError: harbour closed",
    ],
    ids=[
        "cut in a row",
        "cut in its envelope",
        "cut while indented",
        "cut with a mark",
        "last line cut",
        "first line cut",
        "broken line",
        "two documents",
        "two indented documents",
        "words below",
    ],
)
def test_a_table_is_made_of_what_is_whole(text):
    compressed = shown(text)
    assert len(compressed) < 0.5 * len(text)
    for berth in (1, 59, 61, 118):
        assert f"{berth},ship {berth % 9}," in compressed


def test_what_stands_behind_the_last_whole_row_follows_under_a_note():
    document, rest = json_pieces('{"rows": [{"id": 1}' + ', {"id": 2}' * 60 + ', {"id": 3, "na')
    assert json.loads(document.text)["rows"][-1] == {"id": 2}
    assert rest.text.startswith("\n[the JSON is cut short here")
    assert rest.text.endswith(' {"id": 3, "na')


def test_words_below_a_document_are_quoted():
    assert shown(ROWS + "\n\nExit code: 1\nError: harbour closed").endswith("\n\nExit code: 1\nError: harbour closed")


def test_lines_among_those_of_a_log_stay_in_the_log():
    lines = []
    for n in range(60):
        lines += [json.dumps({"level": "info", "msg": f"served berth {n}", "took_ms": k}) for k in range(5)]
        lines += ["GC pause 12 ms", "retrying in 5 s"][: 1 + n % 2]
    text = "\n".join(lines)
    assert [*json_pieces(text)] == [(text, False)]
    assert ContextOptimizer().optimize(text).content_type is ContentType.LOG


@given(st.lists(VALUES.map(json.dumps) | st.sampled_from([ROWS, *LINES[:9], "{", '["', "words\n", "\n"]), max_size=8))
def test_pieces_are_the_text_and_json_pieces_parse(parts):
    text = "\n".join(parts)
    pieces = [*json_pieces(text)]
    is_cut = any(piece.text.startswith("\n[the JSON is cut short") for piece in pieces)
    assert is_cut or "".join(piece.text for piece in pieces) == text
    for piece in pieces:
        if piece.is_json:
            assert is_one_document(piece.text)


@given(VALUES, st.data())
def test_a_document_cut_anywhere_gives_its_beginning_and_its_end(value, data):
    text = json.dumps({"rows": BERTHS[:20], "value": value})
    end = data.draw(st.integers(0, len(text) - 1))
    pieces = [*json_pieces(text[:end])]
    assert text[:end].endswith(pieces[-1].text.removeprefix("\n[the JSON is cut short here; it went on:]\n"))
    for piece in pieces:
        if piece.is_json:
            json.loads(piece.text)


@pytest.mark.parametrize(
    "unit", ["[\n{}\n,", "[", '{"a":', '["', "{}\n[\n", '{"a": 1}\n{"a\n', '[{"a": [1, 2],\n', "\n\n["]
)
def test_no_text_takes_more_than_linear_time(unit):
    assert "".join(piece.text for piece in json_pieces(unit * (1_000_000 // len(unit)))).count(unit[0]) > 1000
