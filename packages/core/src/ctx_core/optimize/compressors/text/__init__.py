"""Prose and Markdown by whole sentences, never by words."""

from ctx_core.optimize.compressors.text.compressor import TextCompressor

__all__ = ["TextCompressor"]
