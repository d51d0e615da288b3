"""No regular expression of the suite can be made to backtrack without bound by the text that it reads."""

import importlib
import pkgutil
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import ctx_core
import langchain_ctx
import llamaindex_ctx

with warnings.catch_warnings():  # it reads the parser of `re` under its old name
    warnings.simplefilter("ignore", DeprecationWarning)
    from regexploit.ast.sre import SreOpParser
    from regexploit.redos import find

PACKAGES = (ctx_core, langchain_ctx, llamaindex_ctx)


class Parser(SreOpParser):
    """Reads possessive repeats and atomic groups, which came with Python 3.11, as the plain ones: they backtrack less."""

    def from_POSSESSIVE_REPEAT(self, args):  # noqa: N802 - the name that the parser looks up
        return self.from_MAX_REPEAT(args)

    def from_ATOMIC_GROUP(self, args):  # noqa: N802 - as above
        return self.from_SUBPATTERN((None, 0, 0, args))


def patterns_in(value: object, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 4 and isinstance(value, Mapping):
        for part in value.values():
            yield from patterns_in(part, depth + 1)
    elif depth < 4 and isinstance(value, (tuple, list, set, frozenset)):
        for part in value:
            yield from patterns_in(part, depth + 1)


def module_patterns() -> dict[str, re.Pattern[Any]]:
    found = {}
    for package in PACKAGES:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.endswith("__main__"):
                continue
            for name, value in vars(importlib.import_module(module.name)).items():
                for number, pattern in enumerate(patterns_in(value)):
                    found[f"{module.name}.{name}[{number}]"] = pattern
    return found


def repeats_that_multiply(pattern: re.Pattern[Any]) -> list[str]:
    """Return texts on which the pattern tries more than the square of their length."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    return [found.example() for found in find(Parser().parse_sre(text, pattern.flags))]


def test_no_pattern_multiplies_its_repeats():
    patterns = module_patterns()
    assert len(patterns) > 100, "the patterns were not found"
    assert {name: texts for name, pattern in patterns.items() if (texts := repeats_that_multiply(pattern))} == {}


def test_a_pattern_that_multiplies_its_repeats_is_found():
    assert repeats_that_multiply(re.compile(r"(?:a+)+b"))
    assert repeats_that_multiply(re.compile(r"x*x*x*y"))
