"""The engine of a middleware: the caller's, or one on what the graph has."""

from __future__ import annotations

import re
from copy import copy
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from ctx_core.engine.engine import ContextEngine
from ctx_core.optimize.optimizer import ContextOptimizer
from ctx_core.rehydrate.archive import Archive
from langchain_ctx.counting import CallableCounter
from langchain_ctx.stores import LangGraphStoreBlobs, LangGraphStoreCcrStore

if TYPE_CHECKING:
    from collections.abc import Callable

# What every provider takes as the name of a tool.
_ILLEGAL: Final = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST: Final = 64


def legal_name(name: str) -> str:
    """Return a name that every provider takes for a tool; two names stay two."""
    legal = _ILLEGAL.sub("_", name)[:_LONGEST]
    if legal == name:
        return name
    mark = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{legal[: _LONGEST - 9]}_{mark}"


class Engines:
    """Gives each graph its engine.

    Args:
        given: The caller's engine; None makes one, on the graph's store where it has one.
        tool: The name under which the retrieval tool is bound; None where it is not.
        counter: Counts the tokens of a text.
    """

    def __init__(self, given: ContextEngine | None, *, tool: str | None, counter: Callable[[str], int] | None) -> None:
        self.is_own = given is None
        self._tool = tool
        self._counter = CallableCounter(counter) if counter else None
        self.default = self._made() if given is None else self._named(given)
        self._by_store: WeakKeyDictionary[Any, ContextEngine] = WeakKeyDictionary()

    def of(self, store: Any) -> ContextEngine:
        """Return the engine for a graph with `store`, or with none."""
        if store is None or not self.is_own:
            return self.default
        engine = self._by_store.get(store)
        if engine is None:
            engine = self._by_store[store] = self._made(store)
        return engine

    def without_tool(self, engine: ContextEngine) -> ContextEngine:
        """Return an engine whose hints name no tool, for a model that cannot call any."""
        if not engine.optimizer.retrieval_tool:
            return engine
        other = copy(engine)
        other.optimizer = copy(engine.optimizer)
        other.optimizer.retrieval_tool = None
        return other

    def _made(self, store: Any = None) -> ContextEngine:
        originals = None if store is None else LangGraphStoreCcrStore(store)
        archive = None if store is None else Archive(LangGraphStoreBlobs(store))
        optimizer = ContextOptimizer(originals, retrieval_tool=self._tool, counter=self._counter)
        return ContextEngine(optimizer=optimizer, archive=archive, counter=self._counter)

    def _named(self, engine: ContextEngine) -> ContextEngine:
        """Return an engine whose hints name the tool that is bound; the caller's own is left as it is."""
        if (engine.optimizer.retrieval_tool or not self._tool) and self._counter is None:
            return engine
        own = copy(engine)
        own.optimizer = copy(engine.optimizer)
        own.optimizer.retrieval_tool = engine.optimizer.retrieval_tool or self._tool
        own.counter = self._counter or engine.counter
        return own

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "_by_store"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _by_store=WeakKeyDictionary())
