"""Unit vectors of one user's turns, compared with a query all at once."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Final, TypeAlias

from ctx_core.errors import DimensionMismatch, StoreCorrupt
from ctx_core.extras import installed

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Sequence

Row: TypeAlias = "array[float] | memoryview[float]"

FLOAT_BYTES: Final = 4
# 40 turns make 780 pairs, which tell the 95th percentile to about .02; six make 15, the fewest that have one.
_SAMPLED_TURNS: Final = 40
_LEAST_TURNS: Final = 6


class VectorTable:
    """Rows of 32-bit floats in the order of the turns; a row of zeros stands for a turn without a vector.

    numpy multiplies where it is installed, 10,000 rows of 384 in 1 ms; without it plain Python does the same, far slower.
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._width = dimension * FLOAT_BYTES
        self._data = bytearray()
        self._fast = installed("numpy")
        self._noise: tuple[int, float | None] | None = None  # measured again when the rows have doubled

    def __len__(self) -> int:
        return len(self._data) // self._width

    def extend(self, rows: int) -> None:
        """Add rows of zeros."""
        self._data += bytes(rows * self._width)

    def set(self, at: int, vector: Row) -> None:
        """Put a vector into row `at`."""
        if len(vector) != self.dimension:
            raise DimensionMismatch(self.dimension, len(vector))
        self._data[at * self._width : (at + 1) * self._width] = memoryview(vector).cast("B")

    def has(self, at: int) -> bool:
        """Say whether row `at` holds a vector."""
        return any(self._data[at * self._width : (at + 1) * self._width])

    def row(self, at: int) -> bytes:
        """Return the bytes of a row."""
        return bytes(self._data[at * self._width : (at + 1) * self._width])

    def cosines(self, query: Sequence[float]) -> list[float]:
        """Return the cosine of every row and the query."""
        if len(query) != self.dimension:
            raise DimensionMismatch(self.dimension, len(query))
        if not self._fast:
            return [_dot(self._row(at), query) for at in range(len(self))]
        import numpy as np  # noqa: PLC0415

        rows = np.frombuffer(self._data, np.float32).reshape(-1, self.dimension)
        # BLAS would wake its threads for this, which then spin: 12 ms of CPU for what takes one thread 0.6.
        return np.einsum("ij,j->i", rows, np.asarray(query, np.float32)).tolist()

    def likeness(self, at: int, others: Iterable[int]) -> list[float]:
        """Return the cosine of row `at` and each of the others."""
        row = self._row(at)
        if not self._fast:
            return [_dot(self._row(other), row) for other in others]
        import numpy as np  # noqa: PLC0415

        rows = np.frombuffer(self._data, np.float32).reshape(-1, self.dimension)
        return np.einsum("ij,j->i", rows[[*others]], np.asarray(row, np.float32)).tolist()

    def measure_noise(self) -> float | None:
        """Return the cosine that 1 in 20 pairs of turns exceed, on a sample; None where there are too few turns to say.

        Turns picked at random have little to do with each other, so that what answers a question is nearer to it than that.
        """
        rows = len(self)
        if self._noise is None or self._noise[1] is None or rows >= 2 * self._noise[0]:
            step = max(1, rows // _SAMPLED_TURNS)
            sample = [at for at in range(0, rows, step) if self.has(at)][:_SAMPLED_TURNS]
            cosines = sorted(
                cosine for n, at in enumerate(sample[:-1]) for cosine in self.likeness(at, sample[n + 1 :])
            )
            noise = cosines[int(0.95 * (len(cosines) - 1))] if len(sample) >= _LEAST_TURNS else None
            self._noise = rows, noise
        return self._noise[1]

    def _row(self, at: int) -> memoryview[float]:
        return memoryview(self._data)[at * self._width : (at + 1) * self._width].cast("f")


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def encode_rows(rows: Iterable[bytes], *, model: str, dimension: int) -> bytes:
    """Return vectors as a blob of JSON; stores that hold nothing but text can keep it too."""
    raw = b64encode(b"".join(rows)).decode("ascii")
    return json.dumps({"schema": 1, "model": model, "dimension": dimension, "vectors": raw}).encode()


def decode_rows(data: bytes, *, count: int, dimension: int) -> list[memoryview[float]]:
    """Read vectors back, or raise `StoreCorrupt` if they are not `count` of `dimension`."""
    try:
        raw = b64decode(json.loads(data)["vectors"], validate=True)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreCorrupt(f"no vectors can be read: {error}") from error
    return rows_of(raw, count=count, dimension=dimension)


def rows_of(data: bytes, *, count: int, dimension: int) -> list[memoryview[float]]:
    """Cut stored vectors into rows, or raise `StoreCorrupt` if they are not `count` rows of `dimension`."""
    width = dimension * FLOAT_BYTES
    if len(data) != count * width:
        raise StoreCorrupt(f"{len(data)} bytes are not {count} vectors of {dimension} floats")
    view = memoryview(data)
    return [view[at : at + width].cast("f") for at in range(0, len(data), width)]
