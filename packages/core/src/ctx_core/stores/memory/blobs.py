"""Blobs kept in this process."""

from __future__ import annotations

import hashlib
from threading import Lock
from typing import TYPE_CHECKING, Any

from ctx_core.errors import ContentNotFound
from ctx_core.rehydrate.blobs import BlobRef

if TYPE_CHECKING:
    from collections.abc import Iterable


class MemoryBlobs:
    """Keeps blobs in a dictionary; safe to share between threads, gone with the process."""

    def __init__(self) -> None:
        self._folders: dict[str, dict[str, tuple[bytes, str]]] = {}
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {"_folders": {folder: dict(blobs) for folder, blobs in self._folders.items()}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()
        self._folders = state["_folders"]

    def list(self, prefix: str) -> list[BlobRef]:
        """Return every blob under `prefix`; the cost does not grow with blobs in other folders."""
        with self._lock:
            folders = (
                [prefix.rstrip("/")]
                if prefix.rstrip("/") in self._folders
                else [folder for folder in self._folders if f"{folder}/".startswith(prefix)]
            )
            return [
                BlobRef(key=key, etag=etag) for folder in folders for key, (_, etag) in self._folders[folder].items()
            ]

    def get(self, key: str) -> bytes:
        """Return a blob, or raise `ContentNotFound`."""
        folder = _folder(key)
        with self._lock:
            if key not in self._folders.get(folder, {}):
                raise ContentNotFound(key)
            return self._folders[folder][key][0]

    def put(self, key: str, data: bytes) -> bool:
        """Store a blob unless the key is taken."""
        with self._lock:
            blobs = self._folders.setdefault(_folder(key), {})
            if key in blobs:
                return False
            blobs[key] = bytes(data), hashlib.sha256(data).hexdigest()[:16]
            return True

    def delete(self, keys: Iterable[str]) -> None:
        """Remove blobs."""
        with self._lock:
            for key in keys:
                folder = _folder(key)
                self._folders.get(folder, {}).pop(key, None)
                if not self._folders.get(folder, True):
                    del self._folders[folder]


def _folder(key: str) -> str:
    return key.rpartition("/")[0]
