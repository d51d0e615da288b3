"""Blobs in a bucket of S3, or of anything that speaks its protocol."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from ctx_core.errors import ContentNotFound, InvalidSettings, StoreUnavailable
from ctx_core.extras import require
from ctx_core.rehydrate.blobs import BlobRef

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mypy_boto3_s3.client import S3Client

require("boto3", extra="s3")

_MISSING: Final = frozenset(("NoSuchKey", "404", "NotFound"))
# 412: the key is taken. 409: another conditional write of it is under way, and S3 asks to try again.
_TAKEN: Final = frozenset(("PreconditionFailed", "412"))
_BUSY: Final = frozenset(("ConditionalRequestConflict", "409"))
_MOST_TRIES: Final = 5
_MOST_DELETED_AT_ONCE: Final = 1000
_CONNECTIONS: Final = 32


class S3Blobs:
    """Keeps blobs as objects of a bucket, written on the condition that the key is free.

    Args:
        bucket: The bucket; it must be there.
        prefix: What all keys begin with in the bucket.
        options: Arguments of boto3's S3 client, such as `endpoint_url` or `region_name`; credentials are boto3's to find.
    """

    def __init__(self, bucket: str, *, prefix: str = "", **options: Any) -> None:
        self.bucket = bucket
        self.prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._options = options
        self._made: S3Client | None = None
        self._lock = Lock()

    @classmethod
    def from_url(cls, url: str, **options: Any) -> S3Blobs:
        """Open `s3://bucket/prefix`."""
        parts = urlsplit(url)
        if parts.scheme != "s3" or not parts.netloc:
            raise InvalidSettings(f"{url!r} names no bucket; write s3://bucket/prefix")
        return cls(parts.netloc, prefix=unquote(parts.path), **options)

    def __repr__(self) -> str:
        return f"S3Blobs({self.bucket!r}, prefix={self.prefix!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {"bucket": self.bucket, "prefix": self.prefix, "options": self._options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["bucket"], prefix=state["prefix"], **state["options"])

    def list(self, prefix: str) -> list[BlobRef]:
        """Return every blob under `prefix`, page by page; the cost does not grow with blobs elsewhere."""
        found: list[BlobRef] = []
        with _errors(f"listing {prefix}"):
            pages = self._client().get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self.bucket, Prefix=self.prefix + prefix):
                for item in page.get("Contents", ()):
                    key = item.get("Key", "").removeprefix(self.prefix)
                    found.append(BlobRef(key=key, etag=item.get("ETag", "").strip('"')))
        return found

    def get(self, key: str) -> bytes:
        """Return a blob, or raise `ContentNotFound`."""
        with _errors(f"reading {key}", key=key):
            return self._client().get_object(Bucket=self.bucket, Key=self.prefix + key)["Body"].read()

    def put(self, key: str, data: bytes) -> bool:
        """Store a blob unless the key is taken."""
        from botocore.exceptions import ClientError  # noqa: PLC0415

        for attempt in range(_MOST_TRIES):
            try:
                with _errors(f"writing {key}", apart=(_TAKEN | _BUSY)):
                    self._client().put_object(Bucket=self.bucket, Key=self.prefix + key, Body=data, IfNoneMatch="*")
            except ClientError as error:
                if _code(error) in _TAKEN:
                    return attempt > 0 and self._is(key, data)
            else:
                return True
        raise StoreUnavailable(f"writing {key}: other writers kept it busy")

    def _is(self, key: str, data: bytes) -> bool:
        """Say whether a key holds `data`: a retry may find what its own first try has written."""
        try:
            return self.get(key) == data
        except ContentNotFound:
            return False

    def delete(self, keys: Iterable[str]) -> None:
        """Remove blobs, a thousand with each request."""
        wanted = [{"Key": self.prefix + key} for key in keys]
        for start in range(0, len(wanted), _MOST_DELETED_AT_ONCE):
            batch = wanted[start : start + _MOST_DELETED_AT_ONCE]
            with _errors("deleting blobs"):
                answer = self._client().delete_objects(Bucket=self.bucket, Delete={"Objects": batch, "Quiet": True})  # pyright: ignore[reportArgumentType]
            if failed := answer.get("Errors"):
                raise StoreUnavailable(
                    f"{len(failed)} blobs were not deleted, the first one because of {failed[0].get('Code')}"
                )

    def _client(self) -> S3Client:
        with self._lock:
            if self._made is None:
                import boto3  # noqa: PLC0415 - half a second
                from botocore.config import Config  # noqa: PLC0415

                retries: Any = {"mode": "standard", "total_max_attempts": 4}
                config = Config(connect_timeout=5, read_timeout=20, max_pool_connections=_CONNECTIONS, retries=retries)
                options: Any = {"config": config, **self._options}
                # A session of our own: the default one is shared by the whole process and is not thread-safe.
                self._made = boto3.session.Session().client("s3", **options)
            return self._made


@contextmanager
def _errors(what: str, *, key: str | None = None, apart: frozenset[str] = frozenset()) -> Iterator[None]:
    """Turn boto3's errors into ours; those with a code in `apart` are passed on."""
    from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError  # noqa: PLC0415

    try:
        yield
    except ClientError as error:
        if _code(error) in apart:
            raise
        if key is not None and _code(error) in _MISSING:
            raise ContentNotFound(key) from None
        raise StoreUnavailable(f"{what}: {error}") from error
    except (BotoCoreError, HTTPClientError, OSError) as error:
        raise StoreUnavailable(f"{what}: {error}") from error


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
