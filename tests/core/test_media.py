"""What is not text is priced by what providers publish, wherever in a message it stands and whatever form it has."""

import base64
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_core import Message, TokenCounter
from ctx_core.messages import message_tokens

COUNTER = TokenCounter()


def png(width, height, padding=300_000):
    header = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)
    return base64.b64encode(header + bytes(padding)).decode()


def pdf(pages):
    tree = b"".join(b"%d 0 obj << /Type /Page /Parent 1 0 R >> endobj\n" % n for n in range(pages))
    return b"%PDF-1.7\n1 0 obj << /Type /Pages /Count " + str(pages).encode() + b" >> endobj\n" + tree + bytes(200_000)


def tokens(*blocks):
    return message_tokens(Message(role="user", content=list(blocks)), COUNTER)


def forms_of(data, mime):
    """Return one picture in the form of every provider."""
    return {
        "openai chat": {"type": "image_url", "image_url": {"url": f"data:{mime};base64,{data}"}},
        "openai responses": {"type": "input_image", "image_url": f"data:{mime};base64,{data}"},
        "anthropic": {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}},
        "bedrock": {"image": {"format": "png", "source": {"bytes": base64.b64decode(data)}}},
        "google": {"type": "media", "mime_type": mime, "data": data},
        "google part": {"inline_data": {"mime_type": mime, "data": data}},
        "langchain": {"type": "image", "base64": data, "mime_type": mime},
        "screenshot": {
            "type": "computer_call_output",
            "output": {"type": "computer_screenshot", "image_url": f"data:{mime};base64,{data}"},
        },
        "result": {
            "type": "tool_result",
            "tool_use_id": "c",
            "content": [{"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}],
        },
    }


@pytest.mark.parametrize("form", list(forms_of("", "")))
def test_an_image_costs_what_its_pixels_cost_in_every_form(form):
    small, large = (tokens(forms_of(png(side, side), "image/png")[form]) for side in (300, 3000))
    assert 85 < small <= large <= 1700


def test_the_published_examples_come_out():
    # Anthropic: 1,000 by 1,000 pixels take about 1,334 tokens. OpenAI: 1,024 by 1,024 take 765, anything at low detail 85.
    anthropic = forms_of(png(1000, 1000), "image/png")["anthropic"]
    openai = forms_of(png(1024, 1024), "image/png")["openai chat"]
    low = {**openai, "image_url": {"url": openai["image_url"]["url"], "detail": "low"}}
    frame = tokens()
    assert tokens(anthropic) - frame == pytest.approx(1334, abs=12)
    assert tokens(openai) - frame == pytest.approx(765, abs=12)
    assert tokens(low) - frame == pytest.approx(85, abs=12)


@pytest.mark.parametrize("pages", [1, 3, 12])
def test_a_pdf_costs_by_its_pages(pages):
    block = {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": base64.b64encode(pdf(pages)).decode()},
    }
    assert tokens(block) == pytest.approx(4600 * pages, rel=0.02)


def test_pages_in_a_packed_list_are_counted():
    packed = zlib.compress(b"<< /Type /Pages /Count 7 >>" + b"<< /Type /Page >>" * 7)
    data = (
        b"%PDF-1.7\n1 0 obj << /Type /ObjStm /N 8 /Filter /FlateDecode >> stream\n"
        + packed
        + b"\nendstream"
        + bytes(900)
    )
    assert (
        tokens({"type": "file", "base64": base64.b64encode(data).decode(), "mime_type": "application/pdf"}) > 7 * 4000
    )


@pytest.mark.parametrize(
    "block",
    [
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "{}"}},
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "{}"}]}},
        {"type": "search_result", "source": "u", "title": "t", "content": [{"type": "text", "text": "{}"}]},
        {"type": "text-plain", "text": "{}", "mime_type": "text/plain"},
        {"type": "tool_result", "tool_use_id": "c", "content": "{}"},
    ],
    ids=lambda block: block["type"],
)
def test_a_document_with_text_costs_and_shrinks_as_text(block):
    import json

    text = "The committee met again. " * 400
    filled = json.loads(json.dumps(block).replace("{}", text))
    message = Message(role="user", content=[filled])
    assert message_tokens(message, COUNTER) >= COUNTER.count(text)
    assert text not in str(message.map_text(lambda _: "short").content)


def test_text_in_base64_costs_what_it_says():
    text = "Supplier Orbital-7 delivers in May. " * 300
    block = {"type": "file", "mime_type": "text/plain", "base64": base64.b64encode(text.encode()).decode()}
    assert tokens(block) == pytest.approx(COUNTER.count(text), rel=0.05)


def test_a_call_written_in_two_places_costs_once():
    call = {"id": "c", "name": "write", "args": {"text": "word " * 300}}
    block = {"type": "tool_use", "id": "c", "name": "write", "input": call["args"]}
    both = Message(role="assistant", content=[block], tool_calls=[call])
    assert message_tokens(both, COUNTER) < 1.2 * message_tokens(Message(role="assistant", tool_calls=[call]), COUNTER)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(max_size=40),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "source", "data", "image", "document", "file", "content", "text", "mime_type", "url", "bytes"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(
        st.sampled_from(["type", "source", "data", "image", "file", "content"]),
        json_values | st.sampled_from(["image", "document", "media", "audio", "text"]),
    )
)
def test_any_block_has_a_price(block):
    assert tokens(block) >= 0
    Message(role="user", content=[block]).map_text(str.upper)
