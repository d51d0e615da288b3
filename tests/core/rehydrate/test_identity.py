"""A turn is its place in the conversation, not its words."""

from hypothesis import given
from hypothesis import strategies as st

from ctx_core.messages import Message
from ctx_core.rehydrate.archive import Archive
from ctx_core.rehydrate.identity import identify
from ctx_core.stores.memory.blobs import MemoryBlobs

TEXTS = st.sampled_from(["ok", "Yes, please.", "Next.", "Shall I sell the car?", "Done."])


def talk(texts):
    """Return a conversation in which user and assistant alternate."""
    return [Message(role=("user", "assistant")[at % 2], content=text) for at, text in enumerate(texts)]


def said(archive):
    return [(one.role, one.text) for one in archive.export("user-1")]


def pairs(messages):
    return [(one.role, one.text) for one in messages]


@given(st.lists(TEXTS, max_size=14))
def test_appended_one_by_one_no_turn_is_taken_for_another(texts):
    blobs, messages = MemoryBlobs(), talk(texts)
    archive = Archive(blobs, embedder=None)
    for message in messages:
        archive.append("user-1", [message], session_id="s1")
    assert said(archive) == pairs(messages)
    assert said(Archive(blobs, embedder=None)) == pairs(messages), "another process reads the same"
    archive.compact("user-1")
    assert said(Archive(blobs, embedder=None)) == pairs(messages), "and so does one after a merge"


@given(st.lists(TEXTS, max_size=14), st.lists(st.integers(0, 14), max_size=5))
def test_a_growing_history_whose_oldest_turns_leave_is_kept_once(texts, cuts):
    messages = talk(texts)
    archive = Archive(embedder=None)
    for cut in (*sorted(cuts), len(messages)):
        archive.append("user-1", identify(messages)[:cut])
    assert said(archive) == pairs(messages)


@given(st.lists(TEXTS, min_size=1, max_size=14), st.lists(TEXTS, max_size=6))
def test_a_history_handed_over_again_is_kept_once_and_what_is_new_in_it_too(texts, more):
    blobs, messages = MemoryBlobs(), talk([*texts, *more])
    for given_now in (messages[: len(texts)], messages[: len(texts)], messages, messages):
        archive = Archive(blobs, embedder=None)
        archive.export("user-1")
        archive.append("user-1", given_now)
    assert said(archive) == pairs(messages)


def test_a_window_that_slides_over_the_history_is_kept_once():
    messages = [Message(role="user", content=f"fact {n}") for n in range(12)]
    archive = Archive(embedder=None)
    for start in range(0, 8, 2):
        archive.append("user-1", messages[start : start + 6])
    assert said(archive) == pairs(messages)


def test_ids_of_the_host_are_kept_and_the_others_say_where_they_stand():
    messages = [Message(role="user", content="ok", id="m1"), *talk(["ok", "go on", "ok", "go on", "ok"])]
    ids = [turn.id for turn in identify(messages)]
    assert ids[0] == "m1"
    assert len(set(ids)) == len(ids)
    assert [turn.id for turn in identify(messages[:4])] == ids[:4]


def test_a_system_prompt_with_a_clock_changes_no_id():
    first, later = (
        [Message(role="system", content=f"It is {hour} o'clock."), *talk(["hello", "hi"])] for hour in (9, 10)
    )
    assert [turn.id for turn in identify(first)][1:] == [turn.id for turn in identify(later)][1:]
