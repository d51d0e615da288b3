"""Answers of tools that went through `str()`."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_core.optimize.content import ContentType
from ctx_core.optimize.optimizer import ContextOptimizer
from ctx_core.optimize.python_repr import as_json

BERTHS = [{"id": n, "ship": f"ship {n % 9}", "free": n % 3 == 0, "note": None, "depth": n * 0.25} for n in range(120)]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4), inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.text(max_size=4), VALUES, min_size=1))
def test_the_same_values_are_read_from_the_json(value):
    spelled = as_json(repr(value))
    if spelled is not None:
        assert json.loads(spelled) == json.loads(json.dumps(value))


@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        (
            {"a": "it's", "b": 'said "no"', "c": "line\nline\x1b"},
            '{"a": "it\'s", "b": "said \\"no\\"", "c": "line\\nline\\u001b"}',
        ),
        ({"a": (1, 2), "b": (3,), "c": ()}, '{"a": [1, 2], "b": [3], "c": []}'),
        ({"a": 1e300, "b": -0.5, "c": 12345678901234567890}, '{"a": 1e+300, "b": -0.5, "c": 12345678901234567890}'),
        ({"a": math.inf, "b": None, "c": True}, '{"a": Infinity, "b": null, "c": true}'),
    ],
)
def test_spelling(value, spelled):
    assert as_json(repr(value)) == spelled


@pytest.mark.parametrize(
    "text",
    [
        "{'a': Decimal('1')}",
        "{'a': {1, 2}}",
        "{1: 'a'}",
        "{'a': b'raw'}",
        "{'a': 1, 'b",
        r"{'a': '\d+'}",
        r"{'a': '\U99999999'}",
        "{'a': datetime.date(2026, 1, 5)}",
        '{"a": 1}',
        "it's {'a'}",
        "",
    ],
)
def test_what_json_has_no_word_for_stays(text):
    assert as_json(text) is None


@given(st.text(st.sampled_from("{}[]()'\",: \\abnxuU0é\0\udfff\r\n\t1.e-T"), max_size=60))
def test_no_text_is_refused(text):
    as_json("{'a': '" + text)
    as_json("{'a': '" + text + "'}")


@pytest.mark.parametrize("text", [str(BERTHS), str({"total": 120, "items": BERTHS}), "\n".join(map(str, BERTHS))])
def test_a_table_is_made_of_it(text):
    result = ContextOptimizer().optimize(text)
    assert result.content_type is ContentType.JSON
    assert result.lossless
    assert len(result.compressed) < 0.5 * len(text)
    assert "119" in result.compressed
