"""The engine: one call that prepares a prompt within one token budget."""
