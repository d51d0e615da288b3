"""Everything that ctx raises is one tree, survives pickling, and says what and where."""

import pickle

import pytest

from ctx_core import errors


def subclasses(root):
    for kind in root.__subclasses__():
        yield kind
        yield from subclasses(kind)


EXAMPLES = [
    errors.MissingExtra("redis", "redis"),
    errors.ContentNotFound("3f9a1c2b7d40"),
    errors.ContentExpired("3f9a1c2b7d40"),
    errors.NodeNotFound("n1"),
    errors.RevisionConflict("n1/agent", expected=3, actual=4),
    errors.ContentHashConflict("n1/agent", expected="a", actual="b"),
    errors.IdempotencyConflict("key k1", expected="a", actual="b"),
    errors.DimensionMismatch(384, 256),
]


def test_the_tree_in_the_docstring_is_the_tree():
    drawn = {word for line in (errors.__doc__ or "").splitlines() for word in line.split()[:2] if word[:1].isupper()}
    assert {kind.__name__ for kind in subclasses(errors.CtxError) if kind.__module__ == "ctx_core.errors"} <= drawn | {
        line.split("─ ")[1].split()[0] for line in (errors.__doc__ or "").splitlines() if "─ " in line
    }


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_errors_survive_pickling(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert copy.__dict__ == error.__dict__


def test_a_missing_extra_says_how_to_install_it():
    assert str(errors.MissingExtra("redis", "redis")) == "'redis' is not installed; run `pip install 'ctx-core[redis]'`"


def test_a_conflict_carries_what_was_expected_and_what_is():
    error = errors.RevisionConflict("n1/agent", expected=3, actual=4)
    assert (error.expected, error.actual) == (3, 4)
    assert str(error) == "n1/agent: expected revision 3, actual is 4"
