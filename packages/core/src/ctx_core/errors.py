"""Everything that ctx raises, as one tree.

```text
CtxError
├── InvalidInput            the caller's mistake: bad value, budget, bundle, file
│   ├── InvalidSettings     a setting that does not exist or does not parse
│   └── InvalidBundle       a graph bundle that breaks an invariant
├── MissingExtra            an optional dependency is not installed
├── NotFound                what was asked for is not there
│   ├── ContentNotFound     no original is stored under this hash
│   ├── ContentExpired      an original was stored, and its time ran out
│   └── NodeNotFound        the graph holds no such node
├── Conflict                the state moved on, or the key was used before
│   ├── RevisionConflict
│   ├── ContentHashConflict
│   └── IdempotencyConflict
└── StoreError              a store or embedder failed
    ├── StoreUnavailable    it cannot be reached; a retry may help
    ├── StoreCorrupt        what it holds cannot be read
    └── DimensionMismatch   vectors of two sizes met
```
"""

from __future__ import annotations


class CtxError(Exception):
    """Root of everything that ctx raises on purpose."""


class InvalidInput(CtxError, ValueError):
    """The caller passed something that cannot be right; the message says what and where."""


class InvalidSettings(InvalidInput):
    """A setting that does not exist or does not parse."""


class InvalidBundle(InvalidInput):
    """A graph bundle breaks one of its invariants; the message names the culprit."""


class MissingExtra(CtxError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, module: str, extra: str, distribution: str = "ctx-core") -> None:
        super().__init__(f"{module!r} is not installed; run `pip install '{distribution}[{extra}]'`")
        self.module = module
        self.extra = extra
        self.distribution = distribution

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str, str]]:
        return type(self), (self.module, self.extra, self.distribution)


class NotFound(CtxError, LookupError):
    """What was asked for is not there."""


class ContentNotFound(NotFound):
    """No original is stored under a reference."""

    def __init__(self, ref: str) -> None:
        super().__init__(f"no content is stored under {ref!r}")
        self.ref = ref

    def __reduce__(self) -> tuple[type[ContentNotFound], tuple[str]]:
        return type(self), (self.ref,)


class ContentExpired(ContentNotFound):
    """An original was stored under a reference, and its time ran out."""

    def __init__(self, ref: str) -> None:
        super().__init__(ref)
        self.args = (f"the content behind {ref!r} has expired",)


class NodeNotFound(NotFound):
    """The graph holds no such node."""

    def __init__(self, node_id: str) -> None:
        super().__init__(f"node {node_id!r} not found")
        self.node_id = node_id

    def __reduce__(self) -> tuple[type[NodeNotFound], tuple[str]]:
        return type(self), (self.node_id,)


class Conflict(CtxError):
    """The state moved on, or a key was used before; `expected` and `actual` say how."""

    what = "state"

    def __init__(self, subject: str, *, expected: object, actual: object) -> None:
        super().__init__(f"{subject}: expected {self.what} {expected!r}, actual is {actual!r}")
        self.subject = subject
        self.expected = expected
        self.actual = actual

    def __reduce__(self) -> tuple[object, ...]:
        return _conflict, (type(self), self.subject, self.expected, self.actual)


def _conflict(kind: type[Conflict], subject: str, expected: object, actual: object) -> Conflict:
    return kind(subject, expected=expected, actual=actual)


class RevisionConflict(Conflict):
    """The aggregate is at another revision than the command expected."""

    what = "revision"


class ContentHashConflict(Conflict):
    """The aggregate's last event has another content hash than the command expected."""

    what = "content hash"


class IdempotencyConflict(Conflict):
    """The idempotency key was accepted before, with other content."""

    what = "content under this key"


class StoreError(CtxError):
    """A store or embedder failed."""


class StoreUnavailable(StoreError):
    """A store cannot be reached; a retry may help."""


class StoreCorrupt(StoreError):
    """What a store holds cannot be read."""


class DimensionMismatch(StoreError):
    """Vectors of two sizes met; they come from two models or two settings."""

    def __init__(self, expected: int, actual: int) -> None:
        super().__init__(f"expected vectors of dimension {expected}, got {actual}")
        self.expected = expected
        self.actual = actual

    def __reduce__(self) -> tuple[type[DimensionMismatch], tuple[int, int]]:
        return type(self), (self.expected, self.actual)
