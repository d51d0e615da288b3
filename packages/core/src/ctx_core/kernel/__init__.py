"""Kernel: commands become events, events become a read model, queries render it."""
