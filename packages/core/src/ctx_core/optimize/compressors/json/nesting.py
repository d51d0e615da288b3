"""Folds nesting that is too deep for a tree: what opens or closes many times over is written once, with its number."""

from __future__ import annotations

import re
from typing import Final

_REPEATED: Final = re.compile(r"""((?:\{\s*"[^"\\]{0,64}"\s*:|\[|[\]}])\s*)\1{15,}""")


def fold_nesting(text: str) -> str:
    """Return `text` with `(×3000)` behind the first of 3,000 equal brackets in a row."""
    return _REPEATED.sub(lambda run: f"{run[1].rstrip()}(×{len(run[0]) // len(run[1])})", text)
