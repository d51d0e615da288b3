"""What every `CcrStore` must do, as tests to inherit.

```python
class TestMyStore(CcrStoreConformance):
    @pytest.fixture
    def store(self):
        return MyStore()
```
"""

# ruff: noqa: D102 - the name of a test says what it shows

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import pytest

from ctx_core.errors import ContentExpired, ContentNotFound

if TYPE_CHECKING:
    from ctx_core.optimize.ccr import CcrStore

_TEXTS: Final = (
    "",
    "one line",
    "two\r\nlines\n",
    "nul \x00 and escape \x1b[31m",
    "lone \ud800 surrogate",
    "库存 склад 📦",
    "x" * 1_000_000,
)

_SCOPES: Final = (
    "",
    "user:user-1",
    "user:user-2",
    "user:*",
    "conversation:user-1",
    "a/b",
    "a",
    "ü \ud800 \x00 :{}",
    "0" * 64,
)
"""Whose originals they are: names that a key, a path, a pattern or a label would have to escape."""

Expiring = tuple["CcrStore", Callable[[], None]]
"""A store whose originals expire, and a call that lets that time pass."""


class CcrStoreConformance:
    """Subclass this, give a fixture `store`, and one `expiring` if originals can expire."""

    @pytest.fixture
    def store(self) -> CcrStore:
        """Return an empty store."""
        raise NotImplementedError

    @pytest.fixture
    def expiring(self) -> Expiring:
        """Return an empty store whose originals expire, and a call that lets that time pass."""
        pytest.skip("originals do not expire here")

    @pytest.mark.parametrize("text", _TEXTS, ids=range(len(_TEXTS)))
    def test_any_text_comes_back_as_it_was(self, store: CcrStore, text: str) -> None:
        assert store.get(store.put(text)) == text

    def test_the_reference_is_the_sha256_of_the_content(self, store: CcrStore) -> None:
        assert store.put("log of a build") == hashlib.sha256(b"log of a build").hexdigest()

    def test_storing_twice_changes_nothing(self, store: CcrStore) -> None:
        assert store.put("same") == store.put("same")
        assert store.get(store.put("same")) == "same"

    @pytest.mark.parametrize("digits", [12, 13, 24, 63, 64])
    def test_a_prefix_of_twelve_digits_or_more_is_enough(self, store: CcrStore, digits: int) -> None:
        ref = store.put("found by a prefix")
        store.put("something else")
        assert store.get(ref[:digits]) == "found by a prefix"

    def test_upper_case_digits_mean_the_same(self, store: CcrStore) -> None:
        assert store.get(store.put("upper").upper()[:16]) == "upper"

    @pytest.mark.parametrize("ref", ["", "abc", "0" * 12, "0" * 64, "0" * 65, "zz" * 8, "%" * 12, "*" * 12, "é" * 12])
    def test_what_is_no_reference_finds_nothing(self, store: CcrStore, ref: str) -> None:
        store.put("a text")
        with pytest.raises(ContentNotFound) as caught:
            store.get(ref)
        assert not isinstance(caught.value, ContentExpired)

    def test_a_prefix_of_eleven_digits_finds_nothing(self, store: CcrStore) -> None:
        ref = store.put("too short a prefix")
        with pytest.raises(ContentNotFound):
            store.get(ref[:11])

    def test_wrong_digits_after_a_right_prefix_find_nothing(self, store: CcrStore) -> None:
        ref = store.put("nearly")
        wrong = ref[:20] + ("0" if ref[20] != "0" else "1")
        with pytest.raises(ContentNotFound):
            store.get(wrong)

    @pytest.mark.parametrize("scope", _SCOPES, ids=range(len(_SCOPES)))
    def test_what_a_scope_holds_is_found_in_it_alone(self, store: CcrStore, scope: str) -> None:
        ref = store.put("a secret of one owner", scope=scope)
        for other in {*_SCOPES, f"{scope}1", scope[:-1], scope.upper()} - {scope}:
            for asked in (ref, ref[:12]):
                with pytest.raises(ContentNotFound) as caught:
                    store.get(asked, scope=other)
                assert not isinstance(caught.value, ContentExpired)
        assert store.get(ref, scope=scope) == store.get(ref[:12], scope=scope) == "a secret of one owner"

    def test_the_same_content_in_two_scopes_is_two_originals(self, store: CcrStore) -> None:
        ref = store.put("both have it", scope="a")
        assert store.put("both have it", scope="b") == ref
        assert store.delete_scope("a") == 1
        assert store.get(ref[:12], scope="b") == "both have it"

    @pytest.mark.parametrize("scope", _SCOPES, ids=range(len(_SCOPES)))
    def test_deleting_a_scope_forgets_all_of_it_and_nothing_else(self, store: CcrStore, scope: str) -> None:
        kept = {other: store.put(f"kept for {other!r}", scope=other) for other in _SCOPES if other != scope}
        gone = [store.put(f"text {n}", scope=scope) for n in range(3)]
        assert store.delete_scope(scope) == 3
        for ref in gone:
            for asked in (ref, ref[:12]):
                with pytest.raises(ContentNotFound) as caught:
                    store.get(asked, scope=scope)
                assert not isinstance(caught.value, ContentExpired)
        assert all(store.get(ref, scope=other) == f"kept for {other!r}" for other, ref in kept.items())
        assert store.delete_scope(scope) == 0
        assert store.get(store.put("text 0", scope=scope), scope=scope) == "text 0"

    def test_expired_is_told_apart_from_unknown(self, expiring: Expiring) -> None:
        store, let_time_pass = expiring
        ref = store.put("short-lived")
        assert store.get(ref) == "short-lived"
        let_time_pass()
        with pytest.raises(ContentExpired):
            store.get(ref)
        with pytest.raises(ContentExpired):
            store.get(ref[:12])

    def test_storing_again_after_expiry_brings_it_back(self, expiring: Expiring) -> None:
        store, let_time_pass = expiring
        ref = store.put("short-lived")
        let_time_pass()
        store.put("short-lived")
        assert store.get(ref) == "short-lived"

    def test_many_threads_write_and_read(self, store: CcrStore) -> None:
        def write(writer: int) -> list[str]:
            return [store.put(f"writer {writer}, text {n}") for n in range(100)]

        with ThreadPoolExecutor(8) as pool:
            refs = list(pool.map(write, range(8)))
        for writer, mine in enumerate(refs):
            assert [store.get(ref[:12]) for ref in mine] == [f"writer {writer}, text {n}" for n in range(100)]
