"""Blobs in a folder: readable, copyable, safe beside other processes."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ctx_core.errors import ContentNotFound, InvalidInput, StoreUnavailable
from ctx_core.rehydrate.blobs import BlobRef

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Readers list folders while writers write: what is not finished must not look like a blob.
_UNFINISHED = ".part-"


class FileBlobs:
    """Keeps each blob as a file under `root`, which is made at the first write.

    A blob appears whole or not at all: it is written beside its place, flushed to disk, and then linked there, which fails if the
    place is taken. That is also how two processes cannot take one key.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)

    def list(self, prefix: str) -> list[BlobRef]:
        """Return every blob under `prefix`; the cost does not grow with blobs in other folders."""
        folder = self._path(prefix.rstrip("/")) if prefix.strip("/") else self.root
        return list(self._walk(folder, prefix))

    def _walk(self, folder: Path, prefix: str) -> Iterator[BlobRef]:
        try:
            with os.scandir(folder) as found:
                entries = list(found)
        except FileNotFoundError:
            return
        except NotADirectoryError:
            self._require_folder()
            return
        except OSError as error:
            raise StoreUnavailable(f"cannot list {folder}: {error}") from error
        for entry in entries:
            if entry.is_dir():
                yield from self._walk(Path(entry.path), f"{prefix}{entry.name}/")
            elif not entry.name.startswith(_UNFINISHED):
                try:
                    status = entry.stat()
                except FileNotFoundError:  # deleted since it was listed
                    continue
                yield BlobRef(key=f"{prefix}{entry.name}", etag=f"{status.st_mtime_ns:x}-{status.st_size:x}")

    def get(self, key: str) -> bytes:
        """Return a blob, or raise `ContentNotFound`."""
        try:
            return self._path(key).read_bytes()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            self._require_folder()
            raise ContentNotFound(key) from None
        except OSError as error:
            raise StoreUnavailable(f"cannot read {key}: {error}") from error

    def put(self, key: str, data: bytes) -> bool:
        """Store a blob unless the key is taken; it is on disk when this returns."""
        path = self._path(key)
        part = path.with_name(f"{_UNFINISHED}{uuid.uuid4().hex}")
        self._require_folder()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.link(part, path)
        except FileExistsError:
            return False
        except OSError as error:
            raise StoreUnavailable(f"cannot write {key}: {error}") from error
        finally:
            # What is left of a failed write goes; that it cannot be removed must not hide why the write failed.
            with suppress(OSError):
                part.unlink(missing_ok=True)
        return True

    def delete(self, keys: Iterable[str]) -> None:
        """Remove blobs."""
        for key in keys:
            try:
                self._path(key).unlink(missing_ok=True)
            except OSError as error:
                raise StoreUnavailable(f"cannot delete {key}: {error}") from error

    def _require_folder(self) -> None:
        if self.root.exists() and not self.root.is_dir():
            raise StoreUnavailable(f"{self.root} is a file; blobs need a folder")

    def delete_unfinished(self, prefix: str) -> None:
        """Remove what writers that died left under `prefix`; a writer at work there right now is told that it failed."""
        folder = self._path(prefix.rstrip("/"))
        try:
            for part in folder.rglob(f"{_UNFINISHED}*") if folder.is_dir() else ():
                part.unlink(missing_ok=True)
        except OSError as error:
            raise StoreUnavailable(f"cannot delete what is unfinished under {prefix}: {error}") from error

    def _path(self, key: str) -> Path:
        parts = key.split("/")
        if any(part in ("", ".", "..") or "\\" in part or "\0" in part for part in parts):
            raise InvalidInput(f"{key!r} is no key: its parts must be plain names")
        return self.root.joinpath(*parts)
