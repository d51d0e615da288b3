"""The address of an archive, so that a memory block that travels as JSON finds its archive again."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote, urlsplit
from urllib.request import url2pathname
from uuid import uuid4
from weakref import WeakValueDictionary

from ctx_core import telemetry
from ctx_core.errors import InvalidInput
from ctx_core.rehydrate.archive import Archive
from ctx_core.stores.files import FileBlobs
from ctx_core.stores.s3 import S3Blobs

# What says where an S3 store is; other options may hold secrets.
_WHERE: Final = ("endpoint_url", "region_name")
# Archives that only this process can find again, as long as something else holds them.
_HERE: WeakValueDictionary[str, Archive] = WeakValueDictionary()


def write_address(archive: Archive) -> dict[str, Any]:
    """Return where an archive is, as plain JSON without secrets; `memory:` is an address within this process only."""
    blobs = archive.blobs
    if isinstance(blobs, FileBlobs):
        return {"url": blobs.root.absolute().as_uri(), "prefix": archive.prefix}
    if isinstance(blobs, S3Blobs):
        options: dict[str, Any] = blobs.__getstate__()["options"]
        where = {name: options[name] for name in _WHERE if name in options}
        return {"url": f"s3://{blobs.bucket}/{quote(blobs.prefix)}", "prefix": archive.prefix, **where}
    known = next((key for key, held in list(_HERE.items()) if held is archive), None) or uuid4().hex
    _HERE[known] = archive
    return {"url": f"memory:{known}", "prefix": archive.prefix}


def open_address(address: dict[str, Any]) -> Archive:
    """Return the archive at an address, with the default embedder.

    An archive in the memory of a process that ended is gone: that is logged, and an empty one is returned.

    Raises:
        InvalidInput: The address names no store that is known.
    """
    url, prefix = str(address.get("url", "")), str(address.get("prefix", "evictions"))
    parts = urlsplit(url)
    if parts.scheme == "file":
        return Archive(FileBlobs(url2pathname(parts.path)), prefix=prefix)
    if parts.scheme == "s3":
        options = {name: address[name] for name in _WHERE if name in address}
        return Archive(S3Blobs.from_url(url, **options), prefix=prefix)
    if parts.scheme == "memory":
        if (held := _HERE.get(parts.path)) is not None:
            return held
        telemetry.degraded(
            "llamaindex_ctx.memory",
            LookupError("the archive was in the memory of another process; an empty one is used"),
        )
        return Archive(prefix=prefix)
    raise InvalidInput(f"no archive answers to the address {url!r}; known are file:, s3: and memory:")
