"""What a tool says, inside the JSON in which it is handed over."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_core.optimize.content import ContentType
from ctx_core.optimize.envelopes import opened
from ctx_core.optimize.optimizer import ContextOptimizer

CALM = "".join(f"2026-01-05 10:{n // 60:02d}:{n % 60:02d} INFO [w-{n % 4}] served /berths/{n}\n" for n in range(200))
LOG = f"{CALM}2026-01-05 11:00:00 ERROR disk full"
ROWS = json.dumps([{"id": n, "berth": "north"} for n in range(60)], indent=1)


@pytest.mark.parametrize(
    "envelope",
    [
        {"stdout": LOG, "stderr": "", "exit_code": 1},
        {"content": [{"type": "text", "text": LOG}], "isError": True},
        {"jsonrpc": "2.0", "id": 3, "result": {"content": [{"type": "text", "text": LOG}]}},
        [{"type": "text", "text": LOG}],
        {"stdout": LOG, "stderr": LOG.replace("berths", "ropes"), "took": 1.50},
    ],
    ids=["command", "tool result", "remote call", "blocks", "two fields"],
)
@pytest.mark.parametrize("spell", [json.dumps, repr], ids=["json", "repr"])
@pytest.mark.parametrize("max_tokens", [None, 200])
def test_what_a_field_says_is_read_as_what_it_is(envelope, spell, max_tokens):
    if spell is repr and isinstance(envelope, list):
        envelope = {"content": envelope}
    text = spell(envelope)
    subject = ContextOptimizer()
    result = subject.optimize(text, max_tokens=max_tokens)
    assert result.content_type is ContentType.LOG
    assert result.compressed_tokens <= (200 if max_tokens else 0.35 * result.original_tokens)
    assert "ERROR disk full" in result.compressed
    assert subject.retrieve(result.ccr_hash or "") == text


def test_what_stands_beside_a_field_stays_as_it_was_written():
    text = '{"stdout": ' + json.dumps(LOG) + ', "exit_code": 1E2, "took": 1.50}'
    assert opened(text) == f'{{"stdout": "[text block]", "exit_code": 1E2, "took": 1.50}}\n[text block]\n{LOG}'


@pytest.mark.parametrize(
    "value",
    [
        {"stdout": ROWS},
        {"body": "one line " * 200},
        {"body": "short\n" * 20},
        [{"id": n, "body": "a line of the body\n" * 40} for n in range(9)],
        {"body": LOG[:1000], "rows": [{"id": n, "berth": "north"} for n in range(90)]},
    ],
    ids=["a document", "one line", "short", "many", "a small part"],
)
def test_other_documents_stay_closed(value):
    text = json.dumps(value)
    assert opened(text) is text


@given(st.text(max_size=600).map(lambda said: "\n".join([said, *["a line of it"] * 40])), st.integers())
def test_field_and_rest_are_all_there(said, number):
    text = json.dumps({"number": number, "said": said})
    envelope, label, below = opened(text).partition("\n[text block]\n")
    assert label
    assert below == said
    assert json.loads(envelope) == {"number": number, "said": "[text block]"}


def test_quotes_that_stay_open_take_no_more_than_linear_time():
    text = '[{"type": "text", "text": "' + '{\\"a\\":' * 100_000 + "\\n" * 9
    assert opened(text) is text
