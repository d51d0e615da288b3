"""Bring your own store: LangChain's byte stores hold originals, LangGraph's stores hold archives."""

from __future__ import annotations

from base64 import b64decode, b64encode
from hashlib import sha256
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from ctx_core.errors import ContentExpired, ContentNotFound
from ctx_core.optimize.ccr import HASH_LENGTH, HINT_LENGTH, content_hash, decode, encode, normalized_ref, scope_digest
from ctx_core.rehydrate.blobs import BlobRef

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from langchain_core.stores import BaseStore
    from langgraph.store.base import BaseStore as LangGraphStore
    from langgraph.store.base import Item

_PAGE: Final = 200


class ByteStoreCcrStore:
    """Keeps originals in a `BaseStore[str, bytes]` of LangChain: in memory, on disk, in Redis.

    An original stands under its full hash, and its full hash under the 12 digits that hints show, so that looking one up
    never scans the store. The keys of a scope begin with its digest and a slash; deleting a scope lists them.
    """

    def __init__(self, store: BaseStore[str, bytes]) -> None:
        self._store = store

    def put(self, content: str, *, scope: str = "") -> str:
        """Store `content` for a scope and return its full hash; storing twice is a no-op."""
        ref = content_hash(content)
        folder = _folder_of(scope)
        short = ref[:HINT_LENGTH]
        known = self._get(folder + short)
        # Two originals of one short hash: then neither can be had by it.
        target = ref.encode() if known in (None, ref.encode()) else b""
        self._store.mset([(folder + ref, encode(content)), (folder + short, target)])
        return ref

    def get(self, ref: str, *, scope: str = "") -> str:
        """Return the original that a scope holds behind a hash or a prefix of at least 12 hex digits of it."""
        full = self._resolve(ref, _folder_of(scope))
        raw = self._get(_folder_of(scope) + full)
        if raw is None:
            raise ContentNotFound(ref) if full == ref.lower() else ContentExpired(ref)
        return decode(raw)

    def delete_scope(self, scope: str) -> int:
        """Forget all that a scope holds; return how many originals that were."""
        folder = _folder_of(scope)
        listed = self._store.yield_keys(prefix=folder or None)
        keys = [key for key in listed if key.startswith(folder) and normalized_ref(key[len(folder) :])]
        self._store.mdelete(keys)
        return sum(len(key) == len(folder) + HASH_LENGTH for key in keys)

    def _resolve(self, ref: str, folder: str) -> str:
        prefix = normalized_ref(ref)
        if prefix is not None and len(prefix) == HASH_LENGTH:
            return prefix
        full = (self._get(folder + prefix[:HINT_LENGTH]) or b"").decode() if prefix is not None else ""
        if prefix is None or not full.startswith(prefix):
            raise ContentNotFound(ref)
        return full

    def _get(self, key: str) -> bytes | None:
        return self._store.mget([key])[0]


def _folder_of(scope: str) -> str:
    return f"{scope_digest(scope)}/" if scope else ""


class LangGraphStoreCcrStore:
    """Keeps originals in a LangGraph `BaseStore`, as plain JSON values; each scope has a namespace of its own."""

    def __init__(self, store: LangGraphStore, *, namespace: tuple[str, ...] = ("ctx", "originals")) -> None:
        self._store = store
        self._namespace = namespace

    def put(self, content: str, *, scope: str = "") -> str:
        """Store `content` for a scope and return its full hash; storing twice is a no-op."""
        ref, place = content_hash(content), self._place(scope)
        short = self._store.get(place, ref[:HINT_LENGTH])
        # Two originals of one short hash: then neither can be had by it.
        target = ref if short is None or short.value["ref"] == ref else ""
        self._store.put(place, ref, _as_json(encode(content)), index=False)
        self._store.put(place, ref[:HINT_LENGTH], {"ref": target}, index=False)
        return ref

    def get(self, ref: str, *, scope: str = "") -> str:
        """Return the original that a scope holds behind a hash or a prefix of at least 12 hex digits of it."""
        prefix, place = normalized_ref(ref), self._place(scope)
        if prefix is None:
            raise ContentNotFound(ref)
        full = prefix
        if len(prefix) < HASH_LENGTH:
            short = self._store.get(place, prefix[:HINT_LENGTH])
            full = str(short.value["ref"]) if short is not None else ""
            if not full.startswith(prefix):
                raise ContentNotFound(ref)
        item = self._store.get(place, full)
        if item is None:
            raise ContentNotFound(ref) if full == prefix else ContentExpired(ref)
        return decode(_as_bytes(item.value))

    def delete_scope(self, scope: str) -> int:
        """Forget all that a scope holds; return how many originals that were."""
        place = self._place(scope)
        held = 0
        while found := self._store.search(place, limit=_PAGE):
            for item in found:
                self._store.delete(place, item.key)
                held += len(item.key) == HASH_LENGTH
        return held

    def _place(self, scope: str) -> tuple[str, ...]:
        return (*self._namespace, scope_digest(scope))


def _as_json(data: bytes) -> dict[str, Any]:
    """Return bytes as the JSON that every store of LangGraph takes: as text where they are, else in base64."""
    try:
        return {"data": data.decode()}
    except UnicodeDecodeError:
        return {"data": b64encode(data).decode(), "base64": True}


def _as_bytes(value: Mapping[str, Any]) -> bytes:
    return b64decode(value["data"]) if value.get("base64") else str(value["data"]).encode()


class LangGraphStoreBlobs:
    """Keeps archives in a LangGraph `BaseStore`, as plain JSON values under namespaces it accepts.

    Args:
        store: The store; a graph's own `runtime.store` too.
        namespace: Where archives live in it.
    """

    def __init__(self, store: LangGraphStore, *, namespace: tuple[str, ...] = ("ctx",)) -> None:
        self._store = store
        self._namespace = namespace
        self._lock = Lock()

    def list(self, prefix: str) -> list[BlobRef]:
        """Return every blob whose key starts with `prefix`, which ends in a slash."""
        return [BlobRef(key=item.value["key"], etag=item.value["etag"]) for item in self._items(prefix)]

    def get(self, key: str) -> bytes:
        """Return a blob, or raise `ContentNotFound`."""
        item = self._store.get(*self._place(key))
        if item is None:
            raise ContentNotFound(key)
        return _as_bytes(item.value)

    def put(self, key: str, data: bytes) -> bool:
        """Store a blob unless the key is taken; LangGraph's stores know no conditional write across processes."""
        namespace, name = self._place(key)
        with self._lock:
            if self._store.get(namespace, name) is not None:
                return False
            value = {"key": key, "etag": sha256(data).hexdigest()[:16], **_as_json(data)}
            self._store.put(namespace, name, value, index=False)
            return True

    def delete(self, keys: Iterable[str]) -> None:
        """Remove blobs; keys that are not there are no error."""
        for key in keys:
            self._store.delete(*self._place(key))

    def _items(self, prefix: str) -> Iterator[Item]:
        namespace = self._folder(prefix)
        for offset in count(0, _PAGE):
            found = self._store.search(namespace, limit=_PAGE, offset=offset)
            yield from (item for item in found if str(item.value.get("key", "")).startswith(prefix))
            if len(found) < _PAGE:
                return

    def _place(self, key: str) -> tuple[tuple[str, ...], str]:
        folder, _, name = key.rpartition("/")
        return self._folder(folder), name

    def _folder(self, path: str) -> tuple[str, ...]:
        # A label may hold no dot and no NUL and may not be empty; percent-encoding keeps two labels two.
        parts = (part for part in path.split("/") if part)
        return (
            *self._namespace,
            *(part.replace("%", "%25").replace(".", "%2E").replace("\0", "%00") for part in parts),
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = Lock()
