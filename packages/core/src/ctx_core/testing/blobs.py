"""What every blob store must do: subclass the suite and give it a store."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from ctx_core.errors import ContentNotFound
from ctx_core.rehydrate.archive import Archive, Turn

if TYPE_CHECKING:
    from ctx_core.rehydrate.blobs import BlobStore


class BlobStoreSuite:
    """Subclass it in a test file with a fixture `store` that returns an empty `BlobStore`."""

    def test_what_was_put_is_what_one_gets(self, store: BlobStore) -> None:
        """What was put is what one gets."""
        data = '{"text": "žluťoučký 猫"}'.encode()
        assert store.put("evictions/user-1/1-0.json", data)
        assert store.get("evictions/user-1/1-0.json") == data

    def test_a_taken_key_is_not_overwritten(self, store: BlobStore) -> None:
        """A taken key is not overwritten."""
        assert store.put("evictions/user-1/1-0.json", b"first")
        assert not store.put("evictions/user-1/1-0.json", b"second")
        assert store.get("evictions/user-1/1-0.json") == b"first"

    def test_of_many_writers_of_one_key_one_wins(self, store: BlobStore) -> None:
        """Of many writers of one key one wins."""
        texts = [f"writer {number}".encode() for number in range(8)]
        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(lambda text: store.put("evictions/user-1/1-0.json", text), texts))
        assert sum(won) == 1
        assert store.get("evictions/user-1/1-0.json") == texts[won.index(True)]

    def test_a_missing_blob_is_said_to_be_missing(self, store: BlobStore) -> None:
        """A missing blob is said to be missing."""
        with pytest.raises(ContentNotFound, match="1-0"):
            store.get("evictions/user-1/1-0.json")

    def test_a_listing_shows_one_folder_and_no_other(self, store: BlobStore) -> None:
        """A listing shows one folder and no other."""
        for key in (
            "evictions/user-1/1-0.json",
            "evictions/user-1/2-0.json",
            "evictions/user-10/1-0.json",
            "other/user-1/1-0.json",
        ):
            store.put(key, b"{}")
        assert sorted(ref.key for ref in store.list("evictions/user-1/")) == [
            "evictions/user-1/1-0.json",
            "evictions/user-1/2-0.json",
        ]
        assert list(store.list("evictions/nobody/")) == []

    def test_a_listing_is_complete_beyond_one_page(self, store: BlobStore) -> None:
        """A listing is complete beyond one page."""
        keys = {f"evictions/user-1/{number}-0.json" for number in range(1050)}
        with ThreadPoolExecutor(16) as pool:
            assert all(pool.map(lambda key: store.put(key, b"{}"), keys))
        assert {ref.key for ref in store.list("evictions/user-1/")} == keys
        store.delete(keys)
        assert list(store.list("evictions/user-1/")) == []

    def test_the_tag_of_a_blob_stays_while_it_does(self, store: BlobStore) -> None:
        """The tag of a blob stays while it does."""
        store.put("evictions/user-1/1-0.json", b"{}")
        first = {ref.key: ref.etag for ref in store.list("evictions/user-1/")}
        store.put("evictions/user-1/2-0.json", b"[]")
        second = {ref.key: ref.etag for ref in store.list("evictions/user-1/")}
        assert first.items() <= second.items()
        assert all(second.values())

    def test_deleting_what_is_not_there_is_no_error(self, store: BlobStore) -> None:
        """Deleting what is not there is no error."""
        store.put("evictions/user-1/1-0.json", b"{}")
        store.delete(["evictions/user-1/1-0.json", "evictions/user-1/2-0.json"])
        assert list(store.list("evictions/user-1/")) == []

    def test_keys_of_strange_users_work(self, store: BlobStore) -> None:
        """Keys of strange users work."""
        for folder in ("%2E%2E%2Fother", "a%2Fb", "a@b.c+d", "~" + 64 * "f", "%E7%8C%AB"):
            assert store.put(f"evictions/{folder}/1-0.json", folder.encode())
            assert store.get(f"evictions/{folder}/1-0.json") == folder.encode()
            assert [ref.key for ref in store.list(f"evictions/{folder}/")] == [f"evictions/{folder}/1-0.json"]

    def test_a_store_can_be_pickled(self, store: BlobStore) -> None:
        """A store can be pickled."""
        store.put("evictions/user-1/1-0.json", b"{}")
        assert pickle.loads(pickle.dumps(store)).get("evictions/user-1/1-0.json") == b"{}"  # noqa: S301 - our own bytes

    def test_two_archives_on_one_store_see_each_other(self, store: BlobStore) -> None:
        """Two archives on one store see each other."""
        one, other = Archive(store, embedder=None), Archive(store, embedder=None)
        one.append("user-1", [Turn(id="1", role="user", content="the valve torque is 42 Nm")])
        other.append("user-1", [Turn(id="2", role="user", content="the seal is blue")])
        assert {turn.id for turn in one.export("user-1")} == {turn.id for turn in other.export("user-1")} == {"1", "2"}
        assert one.search("user-1", "which colour is the seal?")[0].turn.id == "2"

    def test_writers_at_once_lose_nothing(self, store: BlobStore) -> None:
        """Writers at once lose nothing."""
        archives = [Archive(store, embedder=None, clock=lambda: 1_764_000_000.0) for _ in range(4)]
        turns = [Turn(id=str(number), role="user", content=f"fact {number}") for number in range(24)]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda at: archives[at % 4].append("user-1", [turns[at]]), range(24)))
        assert {turn.id for turn in Archive(store, embedder=None).export("user-1")} == {turn.id for turn in turns}

    def test_a_deleted_user_is_gone_and_the_others_stay(self, store: BlobStore) -> None:
        """A deleted user is gone and the others stay."""
        archive = Archive(store, embedder=None)
        archive.append("user-1", [Turn(id="1", role="user", content="the seal is blue")])
        archive.append("user-10", [Turn(id="2", role="user", content="the seal is red")])
        assert archive.delete("user-1") == 1
        assert archive.export("user-1") == []
        assert [turn.id for turn in archive.export("user-10")] == ["2"]
