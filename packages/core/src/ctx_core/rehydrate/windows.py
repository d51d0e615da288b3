"""How many tokens a model reads, by its name; as the vendors' model pages state in 2026."""

from __future__ import annotations

import re
from typing import Final

DEFAULT_CONTEXT_TOKENS: Final = 32_000
"""Taken for a model that no row knows: small enough to be safe."""

# First match wins, so a newer or narrower name stands above its family. Sources: the model pages of OpenAI, Anthropic, Google, Meta,
# Mistral, DeepSeek, Alibaba and xAI. Where a larger window needs a beta header or a paid tier, the plain one counts.
_WINDOWS: Final = tuple(
    (re.compile(pattern), tokens)
    for pattern, tokens in (
        (r"gpt-4\.1", 1_047_576),
        (r"gpt-5", 400_000),
        (r"gpt-4o|chatgpt-4o|gpt-4-turbo|gpt-4-\d{4}-preview|gpt-4\.5", 128_000),
        (r"gpt-4-32k", 32_768),
        (r"gpt-4", 8_192),
        (r"gpt-3\.5", 16_385),
        (r"gpt-oss", 131_072),
        (r"o1-mini|o1-preview", 128_000),
        (r"o[1-9]\b", 200_000),
        (r"claude-2\.0|claude-instant", 100_000),
        (r"claude|opus|sonnet|haiku", 200_000),
        (r"gemini-1\.5-pro", 2_097_152),
        (r"gemini-1\.0|gemini-pro$", 32_760),
        (r"gemini", 1_048_576),
        (r"gemma-?3", 131_072),
        (r"gemma", 8_192),
        (r"llama-?4-scout", 10_000_000),
        (r"llama-?4", 1_000_000),
        (r"llama-?3[.-][1-9]", 131_072),
        (r"llama-?3", 8_192),
        (r"mi[sx]tral|codestral|ministral|magistral", 131_072),
        (r"deepseek", 128_000),
        (r"qwen", 131_072),
        (r"grok-4", 256_000),
        (r"grok", 131_072),
    )
)


def context_tokens(model: str | None) -> int:
    """Return the context window of a model such as `gpt-4o` or `anthropic/claude-sonnet-4-5`, in tokens."""
    name = (model or "").rsplit("/", 1)[-1].lower()
    return next((tokens for pattern, tokens in _WINDOWS if pattern.search(name)), DEFAULT_CONTEXT_TOKENS)
