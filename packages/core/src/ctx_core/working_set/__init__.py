"""The working set: among everything ever said or returned, what the coming step needs.

```text
messages ─ record ─ facts ─┐
                           ├─ planner: what leaves, its digest, notes on need ─ compose ─▶ messages
newest messages ─ need ────┘
```
"""

from ctx_core.working_set.compose import Composed, compose_prompt, without_working_set
from ctx_core.working_set.memory import WorkingSetMemory
from ctx_core.working_set.planner import Plan, Planner, WindowShares
from ctx_core.working_set.record import Record

__all__ = [
    "Composed",
    "Plan",
    "Planner",
    "Record",
    "WindowShares",
    "WorkingSetMemory",
    "compose_prompt",
    "without_working_set",
]
