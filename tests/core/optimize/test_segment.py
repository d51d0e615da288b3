"""Cutting mixed content into parts."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_core.optimize.content import ContentType
from ctx_core.optimize.optimizer import ContextOptimizer
from ctx_core.optimize.segment import is_spoken, segments

LOG = "\n".join(f"2026-01-05 10:00:{n:02d} INFO [w-{n % 4}] served /berths/{n}" for n in range(40))
ROWS = json.dumps([{"id": n, "berth": "north"} for n in range(40)], indent=1)
DIFF = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n" + "\n".join(
    f" line {n}\n-old {n}\n+new {n}" for n in range(40)
)
WORDS = "The pilots keep a book of every rope that was tied, and of every ship that left."


def spoken(parts):
    return [part.text.strip() for part in parts if part.spoken]


def texts(parts):
    return [part.text for part in parts]


@pytest.mark.parametrize("text", [LOG, ROWS, DIFF, WORDS, f"{WORDS}\n\n{WORDS}\n", "", "one line", "\n\n"])
def test_a_text_of_one_kind_is_one_part(text):
    assert "".join(texts(segments(text))) == text
    assert len(segments(text)) <= 1


@pytest.mark.parametrize(
    "question",
    [
        "Question: which worker is the slowest?",
        "Why did worker 3 stop serving berths?",
        "please find the line that does not belong here",
        "Look at the log above and tell me what happened at ten o'clock.",
        "上面的日志里哪一个泊位出了问题？",
        "Какой причал на этом журнале не отвечает?",
    ],
)
def test_a_question_below_a_log_is_a_part_of_its_own(question):
    parts = segments(f"{LOG}\n{question}", ContentType.LOG)
    assert spoken(parts) == [question]
    assert texts(parts) == [f"{LOG}\n", question]


def test_words_around_a_log_are_parts_of_their_own():
    parts = segments(
        f"Here is what the night shift saw:\n\n{LOG}\n\nWhich ship was served twice?\nAnswer in one line.\n"
    )
    assert spoken(parts) == ["Here is what the night shift saw:", "Which ship was served twice?\nAnswer in one line."]


def test_a_reminder_in_tags_is_spoken():
    parts = segments(f"<system-reminder>Never restart berth south.</system-reminder>\n{LOG}")
    assert spoken(parts) == ["<system-reminder>Never restart berth south.</system-reminder>"]


@pytest.mark.parametrize(
    "line",
    [
        "    at moor (/srv/dock/index.js:14:22)",
        "ValueError: the berth is taken by another ship",
        "error: could not compile `wick` due to one previous error",
        "Traceback (most recent call last):",
        "2026-01-05 10:00:00 INFO The pilots went home early.",
        "from dock import moor as tie_up_somewhere",
        "import os",
        "E       AssertionError: assert three is four",
        "FAILED tests/test_cart.py::test_total - assert 3 == 4",
        "| ship | berth |",
        "NAME   READY   STATUS   RESTARTS",
        "Filesystem      Size  Used Avail Mounted on",
        "",
    ],
)
def test_what_programs_print_is_not_spoken(line):
    assert not is_spoken(line)


def test_prose_is_not_taken_for_words_around_something():
    text = "\n".join([WORDS] * 20)
    assert [part.spoken for part in segments(text)] == [False]


def test_long_fences_are_parts_and_short_ones_are_not():
    short = "# Dock\n\n```sh\nmoor Aurora\n```\n\nThen wait."
    assert texts(segments(short)) == [short]
    parts = segments(f"# Dock\n\n```json\n{ROWS}\n```\n\n# Ropes\n\n- {WORDS}\n")
    assert [part.detection and part.detection.content_type for part in parts] == [None, ContentType.JSON, None]
    assert parts[0].text == "# Dock\n\n```json\n"
    assert parts[1].text == f"{ROWS}\n"


def test_a_fence_that_never_closes_is_left_alone():
    text = f"# Dock\n\n```json\n{ROWS}\n"
    assert "".join(texts(segments(text))) == text


def test_json_between_words_is_a_part():
    parts = segments(f"The service answered:\n{ROWS}\n{WORDS}\nResponse: {ROWS}\nThat was all of it.")
    assert [part.text for part in parts if part.detection and part.detection.content_type is ContentType.JSON] == [
        ROWS,
        ROWS,
    ]


def test_json_in_log_lines_stays_in_its_line():
    line = f"2026-01-05 10:00:00 INFO answer: {json.dumps([{'id': n} for n in range(100)])}"
    text = "\n".join([line] * 5)
    assert texts(segments(text, ContentType.LOG)) == [text]


def test_text_blocks_lose_their_wrapping():
    wrapped = json.dumps([{"type": "text", "text": ROWS}])
    assert texts(segments(wrapped, ContentType.JSON)) == ["[text block]\n", ROWS]
    two = json.dumps([{"type": "text", "text": LOG}, {"type": "text", "text": WORDS}])
    parts = segments(two, ContentType.JSON)
    assert "".join(texts(parts)) == f"[text block 1 of 2]\n{LOG}\n[text block 2 of 2]\n{WORDS}"


@pytest.mark.parametrize(
    "blocks",
    [
        [{"type": "text", "text": "a", "annotations": {}}],
        [{"type": "image", "data": "…"}, {"type": "text", "text": "a"}],
        [{"type": "text", "text": 7}],
        [],
        ["text"],
    ],
)
def test_other_lists_keep_their_wrapping(blocks):
    text = json.dumps(blocks)
    assert "".join(texts(segments(text, ContentType.JSON))) == text


PIECES = st.sampled_from(
    [LOG, ROWS, DIFF, WORDS, "```json\n", "```\n", "\n\n", "Why?", "[text block]\n", "{", '["']
) | st.text(max_size=100)


@given(st.lists(PIECES, max_size=8).map("".join), st.sampled_from(list(ContentType)))
def test_joined_parts_are_the_text_again(text, kind):
    parts = segments(text, kind)
    assert all(part.text for part in parts)
    if not text.lstrip().startswith("["):
        assert "".join(texts(parts)) == text


@pytest.mark.parametrize("kind", ["diff", "python", "grep"])
@pytest.mark.parametrize("budget", [80, 160, 400])
def test_the_last_words_of_a_command_outlive_what_it_printed(kind, budget):
    printed = {
        "diff": "".join(
            f"diff --git a/f{n}.py b/f{n}.py\n--- a/f{n}.py\n+++ b/f{n}.py\n@@ -1,2 +1,2 @@\n-old {n}\n+new {n}\n same\n"
            for n in range(60)
        ),
        "python": "".join(
            f"def area_{n}(width, height):\n    total = width * height + {n}\n    return total\n\n" for n in range(60)
        ),
        "grep": "".join(f"src/mod{n}.py:{n + 3}:    return total_{n}\n" for n in range(120)),
    }[kind]
    alarm = "ERROR 7319: the replica refused the block"
    assert alarm in ContextOptimizer().optimize(f"{printed}{alarm}\n", max_tokens=budget).compressed
