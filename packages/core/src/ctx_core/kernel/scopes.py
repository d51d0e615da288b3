"""Whether a caller's scopes are those that are required."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeCheck:
    """Whether two sets of scopes are the same, and how they differ."""

    required: tuple[str, ...]
    provided: tuple[str, ...]
    missing: tuple[str, ...]
    extra: tuple[str, ...]

    @property
    def is_allowed(self) -> bool:
        """Nothing is missing, and nothing is provided beyond what is required."""
        return not self.missing and not self.extra

    @property
    def reason(self) -> str:
        """The outcome in words."""
        parts = [f"missing {', '.join(self.missing)}"] if self.missing else []
        parts += [f"not required {', '.join(self.extra)}"] if self.extra else []
        return "; ".join(parts) or "the scopes match"


def validate_scope(required: Iterable[str], provided: Iterable[str]) -> ScopeCheck:
    """Compare two sets of scopes; blank ones and repetitions do not count."""
    wanted, given = _scopes(required), _scopes(provided)
    return ScopeCheck(
        required=tuple(sorted(wanted)),
        provided=tuple(sorted(given)),
        missing=tuple(sorted(wanted - given)),
        extra=tuple(sorted(given - wanted)),
    )


def _scopes(scopes: Iterable[str]) -> set[str]:
    return {scope.strip() for scope in scopes if scope.strip()}
