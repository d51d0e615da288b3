"""How writes of one entity add up, whatever order they arrive in.

Every write carries a stamp, and stamps order all writes of a log. A whole write or a removal settles an entity up to
its stamp; partial writes stay beside it, field by field, until a later whole write settles them too. So merging is
commutative, associative and idempotent: a late, repeated or replayed event can never bring an older state back.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from ctx_core.kernel.commands import canonical_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ctx_core.kernel.commands import EntityKind


class Effect(Enum):
    """What a write does to the entity."""

    REPLACE = auto()
    PATCH = auto()
    REMOVE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One change as the read model takes it.

    Args:
        stamp: Text that sorts like the order in which changes were accepted.
        fields: All fields of the entity, or of a patch those that it names (None clears one).
    """

    kind: EntityKind
    entity_id: str
    stamp: str
    effect: Effect
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Register:
    """The state of one entity, together with what is needed to merge any write that is still to come.

    Args:
        stamp: Of the last whole write or removal; empty when there was none.
        fields: What that write said; None after a removal or before any whole write.
        patches: Later partial writes: stamp and value by field.
    """

    stamp: str = ""
    fields: Mapping[str, Any] | None = None
    patches: Mapping[str, tuple[str, Any]] = field(default_factory=dict[str, "tuple[str, Any]"], hash=False)

    def merge(self, write: Write) -> Register:
        """Return the state after `write`; itself when the write brings nothing new."""
        if write.stamp <= self.stamp:
            return self
        if write.effect is Effect.PATCH:
            newer = {
                name: (write.stamp, value)
                for name, value in write.fields.items()
                if name not in self.patches or self.patches[name][0] < write.stamp
            }
            return replace(self, patches={**self.patches, **newer}) if newer else self
        fields = None if write.effect is Effect.REMOVE else write.fields
        later = {name: patch for name, patch in self.patches.items() if patch[0] > write.stamp}
        return Register(stamp=write.stamp, fields=fields, patches=later)

    @property
    def is_live(self) -> bool:
        """The entity was written as a whole, and not removed since."""
        return self.fields is not None

    @property
    def values(self) -> dict[str, Any]:
        """The fields as they stand, without those that were cleared."""
        patched = {name: value for name, (_, value) in self.patches.items()}
        return {name: value for name, value in {**(self.fields or {}), **patched}.items() if value is not None}

    def to_json(self) -> str:
        """Return the state as one line of canonical JSON."""
        return canonical_json([self.stamp, self.fields, self.patches])

    @classmethod
    def from_json(cls, text: str) -> Register:
        """Read what `to_json` wrote."""
        stamp, fields, patches = json.loads(text)
        return cls(stamp=stamp, fields=fields, patches={name: (at, value) for name, (at, value) in patches.items()})


def merge_all(registers: Mapping[str, Register], writes: Iterable[Write]) -> dict[str, Register]:
    """Return the registers that `writes` change, by entity id; absent ones start empty."""
    changed: dict[str, Register] = {}
    for write in writes:
        before = changed.get(write.entity_id) or registers.get(write.entity_id) or _EMPTY
        after = before.merge(write)
        if after is not before:
            changed[write.entity_id] = after
    return changed


_EMPTY = Register()
