"""One table from the scheme of a URL to the store that speaks it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from ctx_core.errors import InvalidSettings

if TYPE_CHECKING:
    from ctx_core.kernel.ports import KernelStores

_KERNELS: Final = {
    "memory": ("ctx_core.stores.memory.kernel", "open_memory_stores"),
    "sqlite": ("ctx_core.stores.sqlite.kernel", "open_sqlite_stores"),
}


def open_kernel_stores(url: str) -> KernelStores:
    """Open all stores of a kernel in one place: `sqlite:///context.db` or `memory://`."""
    return _opened(_KERNELS, url, "a whole kernel")


def _opened(table: dict[str, tuple[str, str]], url: str, what: str, **options: Any) -> Any:
    scheme = urlsplit(url).scheme.lower()
    if scheme not in table:
        raise InvalidSettings(f"no store for {what} answers to the scheme {scheme!r}; known are {', '.join(table)}")
    module, name = table[scheme]
    return getattr(import_module(module), name)(url, **options)
