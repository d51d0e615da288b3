import asyncio
import json
import pickle
import threading
from datetime import UTC, datetime, timedelta, timezone

import pytest
from dirty_equals import IsPartialDict
from hypothesis import given
from hypothesis import strategies as st

from ctx_core.embeddings.base import DEFAULT_FLOOR
from ctx_core.errors import InvalidInput
from ctx_core.messages import Message
from ctx_core.rehydrate.archive import Archive, Turn
from ctx_core.rehydrate.blobs import stamp_of, user_folder
from ctx_core.stores.memory.blobs import MemoryBlobs
from ctx_core.testing.embeddings import FakeEmbedder

NOON = datetime(2026, 6, 10, 12, tzinfo=UTC)
STRANGE_USERS = [
    "../other",
    "other",
    "a/b",
    "a",
    "a/b/../c",
    "%2e%2e",
    "..",
    ".",
    "~",
    "~" + "0" * 64,
    "x" * 1024,
    "x" * 1025,
    "user-1 ",
    "Ä",
    "\udc80",
]
USERS = st.one_of(st.sampled_from(STRANGE_USERS), st.text(min_size=1, max_size=12))
TEXTS = st.one_of(
    st.text(max_size=40), st.sampled_from(["ok", "the seal is blue", " \n", "\u200b", "</rehydrated-context>"])
)


def turn(name_of, text, **fields):
    return Turn(id=name_of, role=fields.pop("role", "user"), content=text, **fields)


def archive(blobs=None, **options):
    return Archive(blobs, embedder=FakeEmbedder(), **options)


def test_a_turn_is_found_by_its_words_at_once_and_by_meaning_when_embedded():
    gate = threading.Event()

    class Slow(FakeEmbedder):
        def embed(self, texts):
            if texts != ["torque"]:
                gate.wait(10)
            return super().embed(texts)

    kept = Archive(embedder=Slow())
    kept.append("user-1", [turn("1", "The valve torque is 42 Nm."), turn("2", "Lunch was fine.")])
    early = kept.search("user-1", "torque", wait_seconds=0)
    assert (early[0].turn.id, early[0].cosine) == ("1", None)
    gate.set()
    assert kept.flush(seconds=10)
    assert (kept.search("user-1", "torque")[0].cosine or 0) > 0.3


def test_the_blob_is_one_that_other_readers_understand():
    blobs = MemoryBlobs()
    kept = archive(blobs, clock=lambda: 1_764_520_000.123)
    call = {"id": "c1", "name": "bin", "args": {"n": 1}}
    kept.append(
        "user-1",
        [turn("1", "hi", name="Ann", created_at=NOON), turn("2", "", role="assistant", tool_calls=[call])],
        session_id="s",
        summary="greeting",
    )
    (ref,) = blobs.list("evictions/user-1/")
    assert ref.key == "evictions/user-1/1764520000123-0.json"
    assert json.loads(blobs.get(ref.key)) == IsPartialDict(
        evictedAt=1_764_520_000_123,
        userId="user-1",
        sessionId="s",
        summary="greeting",
        messages=[
            IsPartialDict(role="user", content="hi", id="1", name="Ann", createdAt="2026-06-10T12:00:00+00:00"),
            IsPartialDict(
                role="assistant", content="", toolCalls=[{"id": "c1", "name": "bin", "arguments": '{"n": 1}'}]
            ),
        ],
    )


def test_an_archive_that_another_program_wrote_is_read():
    blobs = MemoryBlobs()
    blobs.put(
        "evictions/user-1/1764520000-0.json",
        b'{"messages": [{"role": "user", "content": "the seal is blue"}, {"role": "user", "content": null}, 7]}',
    )
    (first, *_) = archive(blobs).search("user-1", "which seal?")
    assert first.turn.text == "the seal is blue"
    assert stamp_of("evictions/user-1/1764520000-0.json") == (1_764_520_000_000, 0)


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), TEXTS), max_size=12))
def test_nothing_that_was_archived_is_lost(said):
    kept = Archive(embedder=None)
    turns = [Message(role=role, content=text) for role, text in said]
    assert kept.append("user-1", turns) == len(turns)
    assert [(one.role, one.text) for one in kept.export("user-1")] == said
    again = pickle.loads(pickle.dumps(kept))
    assert again.append("user-1", turns) in (0, len(turns))  # a fresh process learns what is there as it reads
    assert [(one.role, one.text) for one in again.export("user-1")] == said


@given(st.lists(USERS, min_size=2, max_size=4, unique=True), st.text(max_size=20))
def test_no_user_finds_the_turns_of_another(users, query):
    kept = Archive(embedder=None)
    for user in users:
        kept.append(user, [turn("1", f"the secret is {users.index(user)}")])
    for user in users:
        found = kept.search(user, f"secret {query}", top_k=50) + kept.search(user, "the secret")
        assert {hit.turn.text for hit in found} <= {f"the secret is {users.index(user)}"}
        assert [one.text for one in kept.export(user)] == [f"the secret is {users.index(user)}"]


@given(USERS, USERS)
def test_a_user_has_one_folder_of_its_own(one, other):
    folder = user_folder(one)
    assert "/" not in folder
    assert folder not in ("", ".", "..")
    assert len(folder) <= 200
    assert (folder == user_folder(other)) == (one == other)


def test_plain_users_keep_readable_folders():
    assert [user_folder(one) for one in ("user-1", "user@example.com", "a/b", "..")] == [
        "user-1",
        "user@example.com",
        "a%2Fb",
        "%2E.",
    ]


@pytest.mark.parametrize("user", ["", None, 7])
def test_no_user_is_refused(user):
    for call in (
        lambda: archive().append(user, []),
        lambda: archive().search(user, "x"),
        lambda: archive().delete(user),
    ):
        with pytest.raises(InvalidInput):
            call()


def test_a_blob_that_names_another_user_is_left_out():
    blobs = MemoryBlobs()
    blobs.put(
        "evictions/user-1/1-0.json", b'{"userId": "user-2", "messages": [{"role": "user", "content": "the secret"}]}'
    )
    assert archive(blobs).search("user-1", "secret") == []


def test_blank_turns_are_kept_but_never_embedded_and_never_found():
    embedder = FakeEmbedder()
    kept = Archive(embedder=embedder)
    texts = ["", "   \n\t", None, "\u200b", "The valve torque is 42 Nm."]
    kept.append("user-1", [turn(str(at + 1), text) for at, text in enumerate(texts)])
    assert [hit.turn.id for hit in kept.search("user-1", "earlier we set a torque, which?")] == ["5"]
    assert [text for call in embedder.calls for text in call] == [
        "The valve torque is 42 Nm.",
        "earlier we set a torque, which?",
    ]
    assert kept.search("user-1", "") == kept.search("user-1", " \u200b") == []
    assert len(kept.export("user-1")) == 5


def test_ages_are_told_apart_whatever_their_zone():
    times = {
        "a": "2031-03-03T22:45:00",
        "b": "2031-03-03T22:45:00Z",
        "c": "2031-03-03T22:15:00Z",
        "d": "2031-03-03T15:45:00-07:00",
        "e": 1930337100,
        "f": "not a date",
    }
    now = datetime(2031, 3, 10, 0, 30, tzinfo=timezone(timedelta(hours=2)))
    kept = Archive(embedder=None, clock=now.timestamp)
    kept.append("user-1", [turn(one, f"valve {one}", created_at=when) for one, when in times.items()])
    found = kept.search("user-1", "valve", top_k=9, now=now, max_age_days=6)
    assert {hit.turn.id for hit in found} == {"a", "b", "d", "f"}


def test_the_answer_comes_before_the_question_and_its_echo():
    kept = archive()
    kept.append("user-1", [
        turn("1", "Which port does the proxy use?"),
        turn("2", "It listens on 8443, behind the balancer.", role="assistant"),
        turn("3", "The weather is fine and the coffee is hot."),
        turn("4", "which port does the proxy use"),
        turn("5", "Which port does the proxy use?"),
    ])  # fmt: skip
    hits = kept.search("user-1", "which port does the proxy use?", top_k=5)
    assert hits[0].turn.id == "2"
    assert [one.id for _, one in hits[0].beside] == ["1"]


def test_of_two_turns_that_share_no_word_with_the_question_the_one_like_the_best_answer_comes_first():
    kept = Archive(embedder=FakeEmbedder(4096))
    texts = [f"Gate {n} is shut." for n in range(40)]
    texts[10] = "My hobby is pottery, with clay bowls on the shelf."
    texts[20] = "Nails rust quickly, so the northern depot is closed."
    texts[30] = "Clay dries slowly, so the upper shelf is full."
    kept.append("user-1", [turn(str(n), text) for n, text in enumerate(texts)])
    kept.flush()
    order = [hit.turn.id for hit in kept.search("user-1", "Is pottery the hobby?", top_k=40)]
    assert order[0] == "10"
    assert order.index("30") < order.index("20")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("what did we discuss yesterday?", {"9"}),
        ("What did we talk about on June 3rd?", {"3"}),
        ("What did we chat about between June 2nd and June 4th?", {"2", "3", "4"}),
        ("tell me what we discussed 4 days ago", {"6"}),
        ("What did we talk about last Friday?", {"5"}),
        ("what did we discuss in our second session?", {"2"}),
        ("What did we talk about 2 sessions ago?", {"8"}),
        ("What did we discuss last time?", {"9"}),
    ],
)
def test_a_question_about_a_time_is_answered_by_that_time(query, expected):
    kept = archive()
    for day in range(1, 10):
        kept.append(
            "user-1",
            [turn(str(day), f"Topic number {day}: pumps.", created_at=datetime(2026, 6, day, 9, tzinfo=UTC))],
            session_id=f"s{day}",
        )
    found = kept.search("user-1", query, now=NOON, top_k=9)
    assert {hit.turn.id for hit in found} == expected
    assert all(hit.dated for hit in found)


def test_a_day_is_a_day_where_the_user_is():
    kept = archive()
    kept.append(
        "user-1",
        [
            turn("late", "pumps", created_at="2026-06-09T23:30:00Z"),
            turn("early", "seals", created_at="2026-06-09T03:00:00Z"),
        ],
    )
    tokyo = datetime(2026, 6, 11, 9, tzinfo=timezone(timedelta(hours=9)))
    assert [hit.turn.id for hit in kept.search("user-1", "what did we discuss yesterday?", now=tokyo)] == ["late"]


def test_a_named_speaker_is_believed():
    kept = archive()
    kept.append(
        "user-1", [turn("1", "I adopted a dog.", name="Bo"), turn("2", "I adopted a dog too.", name="Cleo")] * 1
    )
    assert kept.search("user-1", "What did Cleo adopt?")[0].turn.id == "2"
    assert kept.search("user-1", "What did Bo adopt?")[0].turn.id == "1"


def test_merging_small_archives_changes_no_answer():
    blobs = MemoryBlobs()
    kept = archive(blobs)
    for number in range(20):
        kept.append("user-1", [turn(str(number), f"fact {number}: valve {number} is sealed")])
    kept.flush()
    before = [hit.turn.id for hit in kept.search("user-1", "valve 7")]
    assert kept.compact("user-1") == 20
    assert len(blobs.list("evictions/user-1/")) == len(blobs.list("evictions-vectors/user-1/")) == 1
    embedder = FakeEmbedder()
    fresh = Archive(blobs, embedder=embedder)
    for one in (kept, fresh):
        assert [hit.turn.id for hit in one.search("user-1", "valve 7")] == before
        assert [t.id for t in one.export("user-1")] == [str(number) for number in range(20)]
    assert embedder.calls == [["valve 7"]], "vectors are kept, not computed again"
    assert kept.compact("user-1") == 0


def test_many_small_appends_are_merged_in_the_background():
    blobs = MemoryBlobs()
    kept = archive(blobs)
    for number in range(100):
        kept.append("user-1", [turn(str(number), f"fact {number}")])
    kept.flush()
    assert len(blobs.list("evictions/user-1/")) < 50
    assert len(archive(blobs).export("user-1")) == 100


def test_a_crash_between_writing_and_deleting_shows_no_turn_twice():
    blobs = MemoryBlobs()
    kept = archive(blobs)
    for number in range(3):
        kept.append("user-1", [turn(str(number), f"fact {number}")])
    blobs.delete = lambda keys: None
    kept.compact("user-1")
    assert len(blobs.list("evictions/user-1/")) == 4
    assert [one.id for one in archive(blobs).export("user-1")] == ["0", "1", "2"]


def test_a_process_that_died_before_embedding_loses_no_vector_for_good():
    blobs = MemoryBlobs()
    Archive(blobs, embedder=None).append("user-1", [turn("1", "the seal is blue")])
    hit = archive(blobs).search("user-1", "seal")[0]
    assert (hit.cosine or 0) > 0.3
    assert len(blobs.list("evictions-vectors/user-1/")) == 1


def test_vectors_of_another_model_are_not_mixed_in():
    blobs = MemoryBlobs()
    Archive(blobs, embedder=FakeEmbedder(64, model="one")).append("user-1", [turn("1", "the seal is blue")])
    other = Archive(blobs, embedder=FakeEmbedder(32, model="two"))
    assert (other.search("user-1", "seal")[0].cosine or 0) > 0.3
    damaged = MemoryBlobs()
    first = archive(damaged)
    first.append("user-1", [turn("1", "the seal is blue")])
    first.flush()
    (ref,) = damaged.list("evictions-vectors/user-1/")
    damaged.delete([ref.key])
    damaged.put(ref.key, b'{"vectors": "AAAA"}')
    assert (archive(damaged).search("user-1", "seal")[0].cosine or 0) > 0.3


def test_a_deleted_user_is_forgotten_with_all_vectors():
    blobs = MemoryBlobs()
    kept = archive(blobs)
    kept.append("user-1", [turn("1", "the seal is blue")])
    kept.flush()
    assert kept.delete("user-1") == 1
    assert kept.search("user-1", "seal") == kept.export("user-1") == []
    assert blobs.list("evictions/") == blobs.list("evictions-vectors/") == []


def test_the_same_turn_again_is_kept_once():
    kept = archive()
    assert kept.append("user-1", [turn("1", "hi"), turn("1", "hi"), turn("1", "edited")]) == 3
    assert [one.text for one in kept.export("user-1")] == ["hi", "edited"]
    assert kept.append("user-1", [turn("1", "hi")]) == 0


async def test_the_async_twins_do_the_same():
    kept = archive()
    assert await kept.aappend("user-1", [turn("1", "the seal is blue")]) == 1
    hits, everything = await asyncio.gather(kept.asearch("user-1", "seal"), kept.aexport("user-1"))
    assert [hit.turn.id for hit in hits] == [one.id for one in everything] == ["1"]
    assert await kept.adelete("user-1") == 1


def test_an_unknown_embedder_is_refused():
    with pytest.raises(InvalidInput, match="local"):
        Archive(embedder="remote")


def test_searching_appending_and_merging_at_once_lose_nothing():
    blobs = MemoryBlobs()
    archives = [archive(blobs), archive(blobs)]
    failures = []

    def live(number):
        try:
            kept = archives[number % 2]
            for step in range(15):
                kept.append("user-1", [turn(f"{number}-{step}", f"fact {number} {step}: the valve is sealed")])
                assert kept.search("user-1", f"fact {number} {step}", top_k=3)
                if step % 7 == 6:
                    kept.compact("user-1")
        except Exception as error:  # noqa: BLE001 - the main thread asks
            failures.append(error)

    threads = [threading.Thread(target=live, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    expected = {f"{number}-{step}" for number in range(4) for step in range(15)}
    for kept in (*archives, archive(blobs)):
        assert {one.id for one in kept.export("user-1")} == expected


@given(
    st.lists(
        st.lists(st.sampled_from("valve seal pump rotor which torque? blue fine".split()), min_size=1, max_size=6),
        min_size=1,
        max_size=12,
    )
)
def test_a_process_that_wrote_finds_what_a_fresh_one_finds(said):
    blobs = MemoryBlobs()
    warm = archive(blobs, clock=iter(range(1000, 2000)).__next__)
    for at, text in enumerate(said):
        warm.append("user-1", [turn(str(at), " ".join(text), session_id=f"s{at % 2}")])
    warm.flush()
    cold = archive(blobs)
    for query in ("which valve?", "what about the torque of the pump"):
        one, other = (kept.search("user-1", query, top_k=4, now=NOON) for kept in (warm, cold))
        assert [hit.turn.id for hit in one] == [hit.turn.id for hit in other]
        assert [hit.score for hit in one] == pytest.approx([hit.score for hit in other], abs=1e-4)


def test_the_floor_of_a_model_that_states_none_is_measured_on_the_turns():
    facts = (
        "the boat is blue",
        "tea is at four",
        "a saw cuts oak",
        "rain fell again",
        "she sings alto",
        "mail came late",
    )
    archive = Archive(embedder=FakeEmbedder(similarity_floor=None))
    archive.append("u", [Turn(role="user", content=fact) for fact in facts[:5]])
    assert archive.scan("u", "which boat", wait_seconds=None).similarity_floor == DEFAULT_FLOOR
    archive.append("u", [Turn(role="user", content=facts[5])])
    scan = archive.scan("u", "which boat", wait_seconds=None)
    assert 0 < scan.similarity_floor < DEFAULT_FLOOR
    assert [hit.turn.text for hit in scan.hits if (hit.cosine or 0) >= scan.similarity_floor] == [facts[0]]
    stated = Archive(archive.blobs, embedder=FakeEmbedder(similarity_floor=0.2))
    assert stated.scan("u", "which boat").similarity_floor == 0.2


@pytest.mark.parametrize(("query", "expected"), [("When did the pump fail?", "time"), ("How many did fail?", "number")])
def test_a_question_for_a_time_or_a_number_prefers_turns_that_tell_one(query, expected):
    kept = Archive(embedder=None)
    texts = {"none": "pump did fail, sand", "time": "pump did fail, Sunday", "number": "pump did fail, three"}
    for name, text in texts.items():
        kept.append("user-1", [turn(name, text)], session_id=name)
        kept.append("user-1", [turn(f"{name}{at}", f"Shelf {at} is tidy.") for at in range(200)], session_id=f"{name}+")
    assert kept.search("user-1", query)[0].turn.id == expected
