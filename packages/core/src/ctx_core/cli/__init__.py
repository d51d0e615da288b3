"""The `ctx` command."""
