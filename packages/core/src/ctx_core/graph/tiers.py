"""The three depths of a render."""

from __future__ import annotations

from enum import StrEnum

from ctx_core.errors import InvalidInput


class Tier(StrEnum):
    """How deep a render goes; a deeper tier uses the aliases that the ones above it introduce."""

    L0 = "l0_summary"
    """Objective, status, blocker, next action: about 100 tokens."""
    L1 = "l1_causal_spine"
    """The path that explains, and the nodes on it: about 500 tokens."""
    L2 = "l2_evidence_pack"
    """Everything else: other reasons, structure, neighbours, details."""


def tiers_until(max_tier: Tier | str | None) -> tuple[Tier, ...]:
    """Return the tiers down to `max_tier`, all for None; an unknown one is an error that names the known ones."""
    tiers = tuple(Tier)
    if max_tier is None:
        return tiers
    if max_tier not in tiers:
        raise InvalidInput(f"unknown tier {max_tier!r}; known are {', '.join(tiers)}")
    return tiers[: tiers.index(Tier(max_tier)) + 1]
