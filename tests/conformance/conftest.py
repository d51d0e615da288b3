"""Conformance on real servers."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from servers.fixtures import *  # noqa: F403 - fixtures are found by name


def pytest_collection_modifyitems(items):
    for item in items:
        if "conformance" in Path(item.fspath).parts and "memory" not in item.nodeid and "sqlite" not in item.nodeid:
            item.add_marker(pytest.mark.integration)
