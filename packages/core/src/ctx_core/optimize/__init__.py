"""Optimize: the same facts in fewer tokens, the original kept by hash."""
