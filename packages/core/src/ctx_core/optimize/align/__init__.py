"""Prompts that keep their prefix: volatile lines at the tail, tools in one order, and what a cache would still serve."""

from ctx_core.optimize.align.aligner import Aligned, CacheAligner
from ctx_core.optimize.align.drift import Drift
from ctx_core.optimize.align.providers import CACHE_RULES, CacheRule
from ctx_core.optimize.align.tools import align_tools

__all__ = ["CACHE_RULES", "Aligned", "CacheAligner", "CacheRule", "Drift", "align_tools"]
