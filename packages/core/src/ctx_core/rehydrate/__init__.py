"""Rehydrate: turns that leave the window are kept, and the right ones come back."""
