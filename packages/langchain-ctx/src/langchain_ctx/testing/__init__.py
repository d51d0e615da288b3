"""Shipped tests and doubles: suites in `compressors`, `histories` and `middleware`, a fake model, a checker of message order.

Subclass a suite, give its fixture, and inherit its tests. Only the suites need pytest.
"""
