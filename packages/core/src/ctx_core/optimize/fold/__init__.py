r"""Template folding: alike lines become their template once, and what differs between them becomes columns.

    >>> from ctx_core.optimize.fold import fold, unfold
    >>> lines = "\n".join(f"GET /orders/{n} took {n % 7} ms on worker-{n % 3}" for n in range(60))
    >>> shorter = fold(lines)
    >>> unfold(shorter) == lines
    True

Nothing is lost: `unfold` gives every line back, in its place, character by character.
"""

from ctx_core.optimize.fold.notation import holds_folded
from ctx_core.optimize.fold.reading import unfold
from ctx_core.optimize.fold.writing import fold, may_fold

__all__ = ["fold", "holds_folded", "may_fold", "unfold"]
