"""Formats as plug-ins: each is one file that detects a format, reads it and writes it shorter.

A format is a class with the methods of `Format`. Formats of this package stand in `_BUILT_IN`; those of others are found by the
entry point group `ctx.formats`, and are asked first:

    [project.entry-points."ctx.formats"]
    har = "my_package.har:HarFormat"
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Final, Protocol, cast

from ctx_core import telemetry

if TYPE_CHECKING:
    from ctx_core.optimize.compressors.base import Budget, Compressed
    from ctx_core.optimize.content import Detection
    from ctx_core.optimize.rules.sample import Sample

GROUP: Final = "ctx.formats"

# In the order in which they are asked, as `module:Class` below this package.
_BUILT_IN: Final[dict[str, str]] = {}


class Format(Protocol):
    """One format of text: how it is told apart, and how it gets shorter."""

    def detect(self, sample: Sample) -> Detection | None:
        """Return what the text is if it is of this format, else None.

        Called for every text, so the first test must be cheap: `sample.edges`, or a word in `sample.head`. A confidence of
        1.0 ends the search; the `content_type` is the family that the format is reported as.
        """
        ...

    def compress(self, text: str, budget: Budget, *, query: str | None = None) -> Compressed:
        """Return `text` shorter; the contract is that of `ctx_core.optimize.compressors.base.Compressor`."""
        ...


@lru_cache(maxsize=1)
def formats() -> dict[str, Format]:
    """Return all formats by name, those of other distributions first; one that cannot be loaded is left out with a warning."""
    found: dict[str, Format] = {}
    for point in entry_points(group=GROUP):
        try:
            found[point.name] = cast("Format", point.load()())
        except Exception as error:  # noqa: BLE001 - a broken plug-in of someone else must not break every text
            telemetry.degraded(f"formats.{point.name}", error)
    for name, home in _BUILT_IN.items():
        module, _, attribute = home.partition(":")
        make = getattr(import_module(f"{__name__}.{module}"), attribute)
        found.setdefault(name, cast("Format", make()))
    return found
