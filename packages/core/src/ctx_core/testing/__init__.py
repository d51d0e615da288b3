"""Shipped for those who write adapters: conformance suites, strategies and fakes."""
