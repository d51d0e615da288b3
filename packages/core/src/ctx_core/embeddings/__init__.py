"""Embedders: text to vectors, behind one port."""
