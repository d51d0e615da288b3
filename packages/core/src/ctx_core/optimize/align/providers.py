"""What each provider's prompt cache serves: from how many tokens on, in which steps, and how far back it looks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ctx_core.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRule:
    """How one provider caches the prompts of some of its models.

    Args:
        provider: `openai`, `anthropic`, `bedrock`, `gemini`, `deepseek` or `vllm`.
        models: Matches the names of the models that this rule is for.
        minimum: A shorter prefix, in tokens, is not cached.
        step: A hit is a multiple of this many tokens.
        look_back: How many content blocks ahead of a breakpoint are searched for an earlier one; None where there is no limit.
        source: Where the provider, or a gateway that measures it, says so; all read in November 2026.
    """

    provider: str
    models: str = ""
    minimum: int
    step: int
    look_back: int | None = None
    source: str

    def served(self, stable_tokens: int, *, blocks_since: int = 0) -> int:
        """Return how many tokens of a prefix that two requests share come from the cache.

        Args:
            stable_tokens: The length of the shared prefix.
            blocks_since: How many content blocks the later request has after it.
        """
        if stable_tokens < self.minimum or (self.look_back is not None and blocks_since > self.look_back):
            return 0
        return stable_tokens // self.step * self.step


_ANTHROPIC: Final = "https://docs.litellm.ai/docs/completion/prompt_caching (minimum), https://ajinkya.ai/posts/prompt-caching-explainer (look-back)"
_BEDROCK: Final = "https://docs.litellm.ai/docs/completion/prompt_caching (minimum), https://github.com/aws/agent-toolkit-for-aws (look-back)"

# The first rule that fits wins; the last one of a provider fits every model.
CACHE_RULES: Final = (
    CacheRule(
        provider="openai",
        minimum=1024,
        step=128,
        source="https://developers.openai.com/api/docs/guides/prompt-caching",
    ),
    CacheRule(
        provider="anthropic",
        models=r"opus-5|fable-5|mythos-5",
        minimum=512,
        step=1,
        look_back=20,
        source=_ANTHROPIC,
    ),
    CacheRule(
        provider="anthropic",
        models=r"haiku-4-5|opus-4-[56]",
        minimum=4096,
        step=1,
        look_back=20,
        source=_ANTHROPIC,
    ),
    CacheRule(
        provider="anthropic",
        models=r"3-(?:5-)?haiku|haiku-3",
        minimum=2048,
        step=1,
        look_back=20,
        source="https://github.com/anthropics/anthropic-sdk-python/issues/1194",
    ),
    CacheRule(provider="anthropic", minimum=1024, step=1, look_back=20, source=_ANTHROPIC),
    CacheRule(provider="bedrock", models=r"opus-5", minimum=512, step=1, look_back=20, source=_BEDROCK),
    CacheRule(
        provider="bedrock", models=r"haiku-4-5|opus-4-[567]", minimum=4096, step=1, look_back=20, source=_BEDROCK
    ),
    CacheRule(provider="bedrock", minimum=1024, step=1, look_back=20, source=_BEDROCK),
    CacheRule(
        provider="gemini",
        models=r"gemini-2\.5",
        minimum=2048,
        step=1,
        source="https://ai.google.dev/gemini-api/docs/caching",
    ),
    CacheRule(provider="gemini", minimum=4096, step=1, source="https://ai.google.dev/gemini-api/docs/caching"),
    CacheRule(provider="deepseek", minimum=64, step=64, source="https://api-docs.deepseek.com/guides/kv_cache"),
    CacheRule(provider="vllm", minimum=16, step=16, source="https://docs.vllm.ai/en/latest/design/prefix_caching/"),
)


def rule_for(provider: str, model: str | None = None) -> CacheRule:
    """Return the rule of a provider for a model; without a model, the one that most of its models follow.

    Raises:
        InvalidInput: The provider is not in the table.
    """
    rules = [rule for rule in CACHE_RULES if rule.provider == provider.lower()]
    if not rules:
        known = ", ".join(dict.fromkeys(rule.provider for rule in CACHE_RULES))
        raise InvalidInput(f"no cache rule is known for provider {provider!r}; known are {known}")
    name = (model or "").lower().replace("claude-3.", "claude-3-")
    return next(rule for rule in rules if not rule.models or re.search(rule.models, name))
