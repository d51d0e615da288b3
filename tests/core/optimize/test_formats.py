"""A format is one class: detected, dispatched to, and found by entry point."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from ctx_core import ContentType, Detection
from ctx_core.optimize import formats
from ctx_core.optimize.compressors.base import Compressed
from ctx_core.optimize.optimizer import ContextOptimizer


class Tides:
    """Tables of tides that begin with `TIDES`; only the highest matters."""

    def detect(self, sample):
        return Detection(content_type=ContentType.TABLE, language="tides") if sample.head.startswith("TIDES") else None

    def compress(self, text, budget, *, query=None):
        del budget, query
        head, *rows = text.split("\n")
        return Compressed(text=f"{head}\n{max(rows)}")


class Broken:
    def __init__(self):
        raise RuntimeError("no such harbour")


@pytest.fixture
def points(monkeypatch):
    def install(**classes):
        found = [EntryPoint(name, f"{__name__}:{cls.__name__}", formats.GROUP) for name, cls in classes.items()]
        for point, cls in zip(found, classes.values(), strict=True):
            monkeypatch.setattr(
                EntryPoint,
                "load",
                lambda self: {p.name: c for p, c in zip(found, classes.values(), strict=True)}[self.name],
            )
            assert point.name, cls
        monkeypatch.setattr(formats, "entry_points", lambda group: found if group == formats.GROUP else [])
        formats.formats.cache_clear()

    yield install
    formats.formats.cache_clear()


TEXT = "TIDES of Brest\n" + "\n".join(f"2026-03-{day:02} {day % 9}.{day} m" for day in range(1, 29))


def test_a_format_of_another_distribution_reads_what_it_detects(points):
    points(tides=Tides)
    result = ContextOptimizer().optimize(TEXT)
    assert (result.compressed, result.content_type) == ("TIDES of Brest\n2026-03-28 1.28 m", ContentType.TABLE)


def test_a_format_that_cannot_be_loaded_is_left_out(points, caplog):
    points(broken=Broken, tides=Tides)
    assert "broken" not in formats.formats()
    assert "tides" in formats.formats()
    assert "no such harbour" in caplog.text
