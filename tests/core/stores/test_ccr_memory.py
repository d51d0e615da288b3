"""Originals in memory."""

import pickle

import pytest

from ctx_core.errors import ContentExpired, ContentNotFound
from ctx_core.stores.memory.ccr import MemoryCcrStore
from ctx_core.testing.ccr import CcrStoreConformance


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class TestMemoryCcrStore(CcrStoreConformance):
    @pytest.fixture
    def store(self):
        return MemoryCcrStore()

    @pytest.fixture
    def expiring(self):
        clock = Clock()

        def let_time_pass():
            clock.now += 61

        return MemoryCcrStore(ttl_seconds=60, clock=clock), let_time_pass


def test_the_least_recently_used_leaves_first():
    store = MemoryCcrStore(max_entries=2)
    first, second = store.put("first"), store.put("second")
    store.get(first)
    store.put("third")
    assert store.get(first) == "first"
    with pytest.raises(ContentExpired):
        store.get(second)


def test_bytes_are_limited_too():
    store = MemoryCcrStore(max_bytes=10)
    first = store.put("123456")
    second = store.put("abcdef")
    assert len(store) == 1
    assert store.get(second) == "abcdef"
    with pytest.raises(ContentExpired):
        store.get(first)


def test_a_text_larger_than_the_limit_is_kept_until_the_next_one():
    store = MemoryCcrStore(max_bytes=10)
    ref = store.put("far too large to fit")
    assert store.get(ref) == "far too large to fit"


def test_what_left_long_ago_is_forgotten_altogether():
    store = MemoryCcrStore(max_entries=1)
    first = store.put("text 0")
    for n in range(1, 20):
        store.put(f"text {n}")
    with pytest.raises(ContentNotFound) as caught:
        store.get(first)
    assert not isinstance(caught.value, ContentExpired)


def test_without_a_limit_in_time_nothing_expires():
    clock = Clock()
    store = MemoryCcrStore(clock=clock)
    ref = store.put("kept")
    clock.now = 10**9
    assert store.get(ref) == "kept"


def test_a_store_pickles_with_what_it_holds():
    store = MemoryCcrStore()
    ref = store.put("kept")
    assert pickle.loads(pickle.dumps(store)).get(ref) == "kept"
