"""Several slow calls at once, in daemon threads that cannot keep a process from ending."""

from __future__ import annotations

from collections import deque
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Final, TypeVar, cast

from ctx_core.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_MOST_THREADS: Final = 16


def each(call: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result | Exception]:
    """Return what `call` gives for each item, or the exception it raised, in order; up to 16 calls run at once."""
    results: list[_Result | Exception] = [RuntimeError("not called")] * len(items)
    waiting = deque(range(len(items)))
    done: SimpleQueue[None] = SimpleQueue()

    def work() -> None:
        while True:
            try:
                at = waiting.popleft()
            except IndexError:
                break
            try:
                results[at] = call(items[at])
            except Exception as error:  # noqa: BLE001 - the caller decides what an error means
                results[at] = error
        done.put(None)

    if len(items) < 2:
        work()
        return results
    threads = min(_MOST_THREADS, len(items))
    for _ in range(threads):
        Thread(target=work, daemon=True).start()
    for _ in range(threads):
        done.get()
    return results


def within(seconds: float, call: Callable[[], _Result]) -> _Result:
    """Return what `call` gives, or raise `StoreUnavailable` when it takes longer than `seconds`; it is left to end by itself."""
    done: SimpleQueue[tuple[_Result | None, BaseException | None]] = SimpleQueue()

    def work() -> None:
        try:
            done.put((call(), None))
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            done.put((None, error))

    Thread(target=work, daemon=True).start()
    try:
        result, error = done.get(timeout=seconds)
    except Empty:
        raise StoreUnavailable(f"no answer within {seconds:g} seconds") from None
    if error is not None:
        raise error
    return cast("_Result", result)
