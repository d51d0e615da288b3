"""Source code: declarations whole, bodies by a count, and over budget the declarations that matter."""

from ctx_core.optimize.compressors.code.compressor import CodeCompressor

__all__ = ["CodeCompressor"]
