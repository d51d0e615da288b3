"""Logs: every signal kept, repetition folded and counted."""

from ctx_core.optimize.compressors.log.compressor import LogCompressor

__all__ = ["LogCompressor"]
