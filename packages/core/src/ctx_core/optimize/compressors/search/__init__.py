"""Search results: grouped by file, alike matches folded, and over budget spread over the files."""

from ctx_core.optimize.compressors.search.compressor import SearchCompressor

__all__ = ["SearchCompressor"]
