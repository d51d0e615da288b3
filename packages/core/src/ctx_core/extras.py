"""Optional dependencies fail once, at import, with the command that installs them."""

from __future__ import annotations

from importlib.util import find_spec

from ctx_core.errors import MissingExtra


def installed(module: str) -> bool:
    """Say whether `module` could be imported, without importing it."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def require(module: str, *, extra: str, distribution: str = "ctx-core") -> None:
    """Raise `MissingExtra` unless `module` can be imported."""
    if not installed(module):
        raise MissingExtra(module, extra, distribution)
