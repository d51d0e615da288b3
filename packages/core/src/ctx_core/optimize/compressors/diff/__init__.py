"""Diffs: every changed line, less of what did not change, and over budget the hunks that matter."""

from ctx_core.optimize.compressors.diff.compressor import DiffCompressor

__all__ = ["DiffCompressor"]
