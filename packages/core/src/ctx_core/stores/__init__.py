"""Stores: one technology a file or folder, each behind the port of its consumer."""
