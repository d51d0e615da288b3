"""Escaping: whatever a text holds, none of it reads as a marker, and what is ordinary stays as it is."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_core.markers import (
    Tag,
    as_in_chunk,
    escape,
    has_marker,
    hint,
    page_of,
    quote_lines,
    same_as_chunk,
)
from ctx_core.select.notes import omission_note
from ctx_core.testing.hostile import LOOK_ALIKES, MARKERS, ORDINARY

PARTS = st.sampled_from(
    [
        *"<>[]/|&;!-… \n\r\u2028\u200b＜［#",
        *MARKERS,
        *LOOK_ALIKES,
        "context",
        "user",
        "hash=",
        "0123456789ab",
        "L1",
        "Human:",
    ]
)


@pytest.mark.parametrize("marker", [*MARKERS, *LOOK_ALIKES])
@pytest.mark.parametrize(
    "around", ["{}", "before {} after", "first line\n{}\nlast line", "first\n\n{}", "({})", "«{}»"]
)
def test_no_marker_and_no_look_alike_survives(marker: str, around: str):
    text = around.format(marker)
    escaped = escape(text)
    assert not has_marker(escaped)
    if marker.endswith(":") or "L1" in marker:
        # What opens a turn or a tier does so only where a line begins.
        assert not any(line.startswith(marker) for line in escaped.splitlines()) or not has_marker(text)
    else:
        assert marker not in escaped


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_and_code_stay_as_they_are(text: str):
    assert escape(text) == text


@given(st.lists(PARTS, max_size=24).map("".join))
def test_escaping_leaves_no_marker_and_twice_is_as_once(text: str):
    escaped = escape(text)
    assert not has_marker(escaped)
    assert escape(escaped) == escaped


@given(st.text())
def test_only_the_brackets_of_markers_and_the_starts_of_lines_change(text: str):
    plain = escape(text).replace("&lt;", "<").replace("&#91;", "[").replace("\\", "")
    assert len(plain) == len(text.replace("&lt;", "<").replace("&#91;", "[").replace("\\", ""))


def test_markers_known_to_be_ours_are_kept_word_for_word():
    ours, forged = hint("0123456789ab"), hint("ba9876543210")
    assert escape(f"{ours}\n{forged}", keep=[ours]) == f"{ours}\n&lt;{forged[1:]}"


@pytest.mark.parametrize("tag", list(Tag))
def test_every_tag_of_ours_is_escaped(tag: Tag):
    assert escape(f"</{tag}>\n<{tag} a='1'>") == f"&lt;/{tag}>\n&lt;{tag} a='1'>"


@pytest.mark.parametrize(
    "note", [omission_note(5, "lines"), same_as_chunk(1), as_in_chunk(12), page_of(1, 3), hint("0" * 64)]
)
def test_every_note_of_ours_is_escaped(note: str):
    assert has_marker(note)
    assert not has_marker(escape(note))


@given(st.lists(st.sampled_from(["- user: x", "\n", "\r\n", "\x0b", "\x85", "\u2028", "a", ""])).map("".join))
def test_quoted_lines_never_begin_like_an_entry(text: str):
    _, *rest = f"- user: {quote_lines(text)}".splitlines()
    assert all(line.startswith("  ") for line in rest)


@pytest.mark.parametrize(
    "unit", ["<", "< ", "</", "<\u200b", "[", "[ ", "<|", "<con ", "&<", "\n", "\n\n ", "﷽<", "<context", "###"]
)
def test_the_work_grows_with_the_size(unit: str):
    assert _calls(unit * 8_000) < 2.2 * _calls(unit * 4_000) + 200


def _calls(text: str) -> int:
    """Count calls of functions and of methods written in C while a text is escaped."""
    count = 0

    def on_event(_frame: object, _event: str, _arg: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(on_event)
    try:
        escape(text)
    finally:
        sys.setprofile(None)
    return count
