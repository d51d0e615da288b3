"""A store that does not take what it is given: the caller is told, and whatever was archived before stays."""

import threading

import pytest

from ctx_core.errors import StoreUnavailable
from ctx_core.rehydrate.archive import Archive, Turn
from ctx_core.stores.memory.blobs import MemoryBlobs
from ctx_core.testing.embeddings import FakeEmbedder


def turns(*texts, session_id=None):
    return [Turn(role="user", content=text, session_id=session_id) for text in texts]


def texts(archive):
    return [turn.text for turn in archive.export("user-1")]


class Breaking(MemoryBlobs):
    """Raises `error` on each put of a key that starts with `broken`; `late` writes first, as when only the answer is lost."""

    error: Exception | None = None
    broken = ""
    late = False

    def put(self, key, data):
        if self.error is None or not key.startswith(self.broken):
            return super().put(key, data)
        if self.late:
            super().put(key, data)
        raise self.error


@pytest.mark.parametrize("error", [StoreUnavailable("down"), ConnectionError("refused"), OSError(28, "disk full")])
def test_turns_that_could_not_be_written_are_the_callers_to_give_again(error):
    blobs = Breaking()
    kept = Archive(blobs, embedder=FakeEmbedder())
    kept.append("user-1", turns("the seal is blue"))
    blobs.error = error
    with pytest.raises(type(error)) as caught:
        kept.append("user-1", turns("the valve is red", "the pump is green"))
    assert caught.value is error
    assert texts(kept) == ["the seal is blue"], "what is not stored is not shown as if it were"
    assert [hit.turn.text for hit in kept.search("user-1", "valve")] == ["the seal is blue"]
    blobs.error = None
    assert kept.append("user-1", turns("the valve is red", "the pump is green")) == 2
    assert texts(kept) == texts(Archive(blobs, embedder=None))
    assert texts(kept) == ["the seal is blue", "the valve is red", "the pump is green"]


def test_a_write_whose_answer_was_lost_shows_no_turn_twice_when_given_again():
    blobs = Breaking()
    kept = Archive(blobs, embedder=None)
    blobs.error, blobs.late = ConnectionError("reset by peer"), True
    with pytest.raises(ConnectionError):
        kept.append("user-1", turns("the seal is blue"))
    blobs.error = None
    kept.append("user-1", turns("the seal is blue"))
    assert texts(kept) == texts(Archive(blobs, embedder=None)) == ["the seal is blue"]


def test_a_store_that_hangs_does_not_keep_append_forever_and_shows_no_turn_twice():
    answers, wrote = threading.Event(), threading.Event()

    class Hanging(MemoryBlobs):
        def put(self, key, data):
            answers.wait(10)
            done = super().put(key, data)
            wrote.set()
            return done

    kept = Archive(Hanging(), embedder=None, timeout_seconds=0.05)
    with pytest.raises(StoreUnavailable, match=r"within 0\.05 seconds"):
        kept.append("user-1", turns("the seal is blue"))
    answers.set()
    assert wrote.wait(10)
    kept.append("user-1", turns("the seal is blue"))
    assert texts(kept) == ["the seal is blue"]


def test_vectors_that_could_not_be_written_are_made_again_by_the_next_reader():
    blobs = Breaking()
    blobs.error, blobs.broken = StoreUnavailable("full"), "evictions-vectors/"
    kept = Archive(blobs, embedder=FakeEmbedder())
    kept.append("user-1", turns("the seal is blue"))
    kept.flush()
    assert kept.search("user-1", "seal")[0].cosine is not None
    blobs.error = None
    assert Archive(blobs, embedder=FakeEmbedder()).search("user-1", "seal")[0].cosine is not None
    assert len(blobs.list("evictions-vectors/user-1/")) == 1


def test_merging_and_removing_a_session_lose_nothing_when_the_store_takes_no_more():
    blobs = Breaking()
    kept = Archive(blobs, embedder=None)
    kept.append("user-1", [*turns("the seal is blue", session_id="s1"), *turns("the valve is red", session_id="s2")])
    kept.append("user-1", turns("the pump is green", session_id="s2"))
    before = texts(kept)
    blobs.error = StoreUnavailable("full")
    for change in (lambda: kept.compact("user-1"), lambda: kept.delete("user-1", session_id="s1")):
        with pytest.raises(StoreUnavailable):
            change()
        assert texts(kept) == texts(Archive(blobs, embedder=None)) == before
