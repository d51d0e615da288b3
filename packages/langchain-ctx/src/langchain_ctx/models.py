"""What is known of a chat model without asking it: its name, its provider, its window, and whether it calls tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from langchain_core.language_models import BaseChatModel

from ctx_core.errors import InvalidInput
from ctx_core.rehydrate.windows import context_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_TOKENS: Final = 32_000
"""Budget of a prompt where none is given: enough for most tasks, and a fraction of what large windows cost."""

LEAST_BUDGET: Final = 64
"""The smallest budget that the engine takes."""

DEFAULT_SHARE: Final = 0.75
"""The most of a model's window that the default takes; the rest is for its answer."""

# A chain of wrappers is short; this only stops one that holds itself.
_MOST_WRAPPERS: Final = 16


def unwrapped(model: Any) -> Any:
    """Return the chat model behind `bind`, `with_config`, `with_retry` and `with_fallbacks`."""
    for _ in range(_MOST_WRAPPERS):
        if isinstance(model, BaseChatModel):
            return model
        inner = vars(model).get("bound") or vars(model).get("runnable") if hasattr(model, "__dict__") else None
        if inner is None:
            return model
        model = inner
    return model


def model_name(model: Any) -> str | None:
    """Return the name by which the provider knows a model."""
    inner = unwrapped(model)
    names = (getattr(inner, key, None) for key in ("model", "model_name", "model_id"))
    return next((name for name in names if isinstance(name, str) and name), None)


def window_of(model: Any) -> int | None:
    """Return how many tokens a model reads, by its profile or else by its name; None if neither says."""
    profile: Mapping[str, Any] = getattr(unwrapped(model), "profile", None) or {}
    limit = profile.get("max_input_tokens")
    if isinstance(limit, int) and limit > 0:
        return limit
    name = model_name(model)
    return context_tokens(name) if name else None


def budget_for(model: Any, max_tokens: float | None) -> int:
    """Return the budget of a prompt for a model: a number of tokens, a share of its window in (0, 1), or the default."""
    window = window_of(model) if model is not None else None
    if max_tokens is None:
        return DEFAULT_TOKENS if window is None else min(DEFAULT_TOKENS, int(DEFAULT_SHARE * window))
    if 0 < max_tokens < 1:
        return int(max_tokens * (window or DEFAULT_TOKENS))
    return int(max_tokens)


def check_budget(where: str, max_tokens: Any, *, least: int) -> None:
    """Raise `InvalidInput` for what cannot be a budget."""
    if max_tokens is None:
        return
    if isinstance(max_tokens, bool) or not isinstance(max_tokens, int | float):
        raise InvalidInput(f"{where}: max_tokens is a number of tokens or a share of the window, not {max_tokens!r}")
    if not (0 < max_tokens < 1 or max_tokens >= least):
        raise InvalidInput(
            f"{where}: max_tokens is at least {least}, or a share of the window in (0, 1), not {max_tokens}"
        )


def can_call_tools(model: Any) -> bool:
    """Say whether tools can be bound to a model."""
    inner = unwrapped(model)
    profile: Mapping[str, Any] = getattr(inner, "profile", None) or {}
    if profile.get("tool_calling") is False or not hasattr(model, "bind_tools"):
        return False
    return not isinstance(inner, BaseChatModel) or type(inner).bind_tools is not BaseChatModel.bind_tools
