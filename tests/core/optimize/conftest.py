"""What the tests of several compressors count with."""

import pytest

from ctx_core.tokens import TokenCounter


class CountingCounter(TokenCounter):
    """Remembers how many characters it was asked to count."""

    characters = 0

    def count(self, text):
        self.characters += len(text)
        return super().count(text)


@pytest.fixture
def counter():
    return CountingCounter()
