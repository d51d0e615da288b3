"""The working set: among everything ever said or returned, what the coming step needs."""
