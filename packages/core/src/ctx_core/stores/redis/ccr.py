"""Originals kept in Redis or Valkey, shared by many processes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Self, cast

from ctx_core.errors import ContentExpired, ContentNotFound, InvalidInput, StoreUnavailable
from ctx_core.extras import require
from ctx_core.optimize.ccr import HINT_LENGTH, content_hash, decode, encode, normalized_ref, scope_digest

require("redis", extra="redis")

from redis import Redis, RedisError  # noqa: E402 - says which extra is missing first

if TYPE_CHECKING:
    from collections.abc import Generator

# Hashes outlive their originals, so that what has gone can be told from what never was.
_INDEX_FACTOR: Final = 10


class RedisCcrStore:
    """Keeps originals under `{namespace}:ccr:…`; all keys of one original share a cluster slot.

    Args:
        client: A client that returns bytes, not strings.
        namespace: First part of every key.
        ttl_seconds: How long an original can be had after it was last stored; None keeps it as long as the server does.
    """

    def __init__(self, client: Redis, *, namespace: str = "ctx", ttl_seconds: float | None = None) -> None:
        if client.get_connection_kwargs().get("decode_responses"):
            raise InvalidInput("originals are bytes: the client must be made with decode_responses=False")
        self._client = client
        self._namespace = namespace
        self._ttl_seconds = ttl_seconds
        self._origin: tuple[str, dict[str, Any]] | None = None

    @classmethod
    def from_url(cls, url: str, *, namespace: str = "ctx", ttl_seconds: float | None = None, **options: Any) -> Self:
        """Connect to `redis://`, `rediss://` or `unix://`; `options` go to `Redis.from_url`."""
        store = cls(Redis.from_url(url, **options), namespace=namespace, ttl_seconds=ttl_seconds)
        store._origin = (url, options)
        return store

    def put(self, content: str, *, scope: str = "") -> str:
        """Store `content` for a scope and return its full hash."""
        ref = content_hash(content)
        milliseconds = None if self._ttl_seconds is None else max(1, int(self._ttl_seconds * 1000))
        with _translated():
            # The list of a scope first: whatever fails after it, deleting the scope finds the original.
            self._client.sadd(self._list(scope), ref)
            if milliseconds is not None:
                self._client.pexpire(self._list(scope), _INDEX_FACTOR * milliseconds)
            with self._client.pipeline(transaction=True) as pipe:
                pipe.set(self._key(scope, ref), encode(content), px=milliseconds)
                pipe.sadd(self._index(scope, ref), ref)
                if milliseconds is not None:
                    pipe.pexpire(self._index(scope, ref), _INDEX_FACTOR * milliseconds)
                pipe.execute()
        return ref

    def get(self, ref: str, *, scope: str = "") -> str:
        """Return the original that a scope holds under `ref`."""
        prefix = normalized_ref(ref)
        if prefix is None:
            raise ContentNotFound(ref)
        with _translated():
            known = self._members(self._index(scope, prefix))
            full = [member for member in known if member.startswith(prefix)]
            if len(full) != 1:
                raise ContentNotFound(ref)
            content = cast("bytes | None", self._client.get(self._key(scope, full[0])))
        if content is None:
            raise ContentExpired(ref)
        return decode(content)

    def delete_scope(self, scope: str) -> int:
        """Forget all that a scope holds, hashes included; return how many originals that were."""
        held = 0
        with _translated():
            refs = self._members(self._list(scope))
            for ref in refs:
                held += self._client.delete(self._key(scope, ref))
                self._client.delete(self._index(scope, ref))
            if refs:
                # What was stored meanwhile stays on the list.
                self._client.srem(self._list(scope), *refs)
        return held

    def close(self) -> None:
        """Close the connections of the client."""
        self._client.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._origin is None:
            raise TypeError("a store made from a client cannot be pickled: clients hold locks; make it with from_url")
        url, options = self._origin
        return _connected, (type(self), url, self._namespace, self._ttl_seconds, options)

    def _members(self, key: str) -> list[str]:
        return [member.decode() for member in cast("set[bytes]", self._client.smembers(key))]

    def _key(self, scope: str, ref: str) -> str:
        return f"{self._index(scope, ref)}:{ref}"

    def _index(self, scope: str, ref: str) -> str:
        return f"{self._place(scope)}:{{{ref[:HINT_LENGTH]}}}"

    def _list(self, scope: str) -> str:
        return f"{self._place(scope)}:all"

    def _place(self, scope: str) -> str:
        # A digest, since the owner's name is nothing that keys, logs and monitors of the server need to know.
        return f"{self._namespace}:ccr:{scope_digest(scope)}" if scope else f"{self._namespace}:ccr"


def _connected(
    cls: type[RedisCcrStore], url: str, namespace: str, ttl_seconds: float | None, options: dict[str, Any]
) -> RedisCcrStore:
    return cls.from_url(url, namespace=namespace, ttl_seconds=ttl_seconds, **options)


@contextmanager
def _translated() -> Generator[None]:
    try:
        yield
    except RedisError as error:
        raise StoreUnavailable(f"Redis failed: {error}") from error
