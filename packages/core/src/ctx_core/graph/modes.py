"""Which of two purposes a render serves, and how AUTO picks one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeVar

from ctx_core.errors import InvalidInput
from ctx_core.graph.salience import causal_density

if TYPE_CHECKING:
    from ctx_core.graph.model import Bundle


class RehydrationMode(StrEnum):
    """What a render is for."""

    AUTO = "auto"
    """Pick one of the others by token pressure, endpoint, focus and causal density; nothing that fits is dropped."""
    REASON_PRESERVING = "reason_preserving"
    """Every stated reason first, wherever it stands; then everything else by salience."""
    RESUME_FOCUSED = "resume_focused"
    """The spine in full, to pick up where someone stopped. Asked for by name, it leaves all else out."""


class Endpoint(StrEnum):
    """What kind of question the bundle answers; it sets how many tokens a node should have."""

    NEIGHBORHOOD = "neighborhood"
    FOCUSED_PATH = "focused_path"
    SESSION = "session"


# Tokens per node under which a render is under pressure. A path is read closely; a session is skimmed.
_ENOUGH_TOKENS: Final = {Endpoint.NEIGHBORHOOD: 30, Endpoint.FOCUSED_PATH: 60, Endpoint.SESSION: 15}
# Roomy renders go to the spine only when almost nothing is explained, tight ones unless half of it is.
_SPARSE: Final = 0.2
_DENSE: Final = 0.5

_E = TypeVar("_E", bound=StrEnum)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeChoice:
    """A resolved mode and, in one sentence, why."""

    mode: RehydrationMode
    reason: str


def resolve_mode(
    mode: RehydrationMode | str,
    bundle: Bundle,
    *,
    max_tokens: int | None,
    focus: str | None = None,
    endpoint: Endpoint | str = Endpoint.NEIGHBORHOOD,
) -> ModeChoice:
    """Return the mode to render in; AUTO is resolved, anything else is taken as asked."""
    asked, endpoint = _member(RehydrationMode, mode, "mode"), _member(Endpoint, endpoint, "endpoint")
    if asked is not RehydrationMode.AUTO:
        return ModeChoice(mode=asked, reason="asked for by the caller")
    if max_tokens is None:
        return ModeChoice(mode=RehydrationMode.REASON_PRESERVING, reason="no budget: everything fits")
    return _by_pressure(bundle, max_tokens, focus, endpoint)


def _by_pressure(bundle: Bundle, max_tokens: int, focus: str | None, endpoint: Endpoint) -> ModeChoice:
    if focus is not None and endpoint is Endpoint.NEIGHBORHOOD:
        endpoint = Endpoint.FOCUSED_PATH
    density = causal_density(bundle)
    enough, per_node = _ENOUGH_TOKENS[endpoint], max_tokens // len(bundle.nodes)
    floor = _SPARSE if per_node >= enough else _DENSE
    is_dense = density >= floor
    pressure = f"{per_node} tokens per node ({'enough' if per_node >= enough else 'tight'}: {endpoint} wants {enough})"
    share = f"{density:.2f} of the relations give reasons ({'at least' if is_dense else 'under'} {floor})"
    chosen = RehydrationMode.REASON_PRESERVING if is_dense else RehydrationMode.RESUME_FOCUSED
    return ModeChoice(mode=chosen, reason=f"{pressure}, {share}")


def _member(kind: type[_E], value: str, what: str) -> _E:
    try:
        return kind(value)
    except ValueError:
        raise InvalidInput(f"unknown {what} {value!r}; known are {', '.join(kind)}") from None
