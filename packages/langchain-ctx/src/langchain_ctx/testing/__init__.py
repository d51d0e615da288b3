"""Shipped test suites: subclass one, give one fixture, and inherit its tests."""
