"""Stores on Redis or Valkey; needs the extra `redis`."""
