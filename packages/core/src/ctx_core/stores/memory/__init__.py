"""In-process stores, for tests and for one process."""
