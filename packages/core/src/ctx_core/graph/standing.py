"""Which facts of a bundle still stand: not ended, not refuted, not rejected."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Final, cast

from ctx_core.graph.plain import with_zone

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from ctx_core.graph.model import Bundle, Node, Relation

# Stems of what CiTO, the Citation Typing Ontology, and PROV-O call one statement acting against another
# (cito:refutes, cito:disputes, cito:retracts, prov:wasInvalidatedBy), and their plain synonyms.
_AGAINST: Final = (
    "contradict",
    "refut",
    "disprov",
    "disput",
    "reject",
    "retract",
    "invalidat",
    "rule_out",
    "ruled_out",
)
_REPLACING: Final = ("supersed", "replac")
_STEMS: Final = re.compile("|".join((*_AGAINST, *_REPLACING)))
_BY: Final = re.compile(r"(?:^|_)by(?:$|_)")
# Statuses of the Markdown Architectural Decision Records and of hypotheses that did not hold.
_REJECTED: Final = frozenset(
    (
        "rejected",
        "deprecated",
        "superseded",
        "refuted",
        "disproved",
        "disproven",
        "invalid",
        "invalidated",
        "retracted",
        "ruled out",
    )
)


class Standing:
    """Says of the relations and nodes of one bundle whether they still stand.

    With `as_of`, what has ended by then no longer stands. Without, whatever states an end is told after what
    states none: no clock is read, so that the same bundle gives the same text.
    """

    def __init__(self, bundle: Bundle, as_of: datetime | None = None) -> None:
        self.as_of = as_of
        self._bundle = bundle
        types = {relation.relation_type for relation in bundle.relations}
        self._opposing = frozenset(filter(_opposes, types))

    def is_opposing(self, relation: Relation) -> bool:
        """Return True if a relation speaks against one of its ends, or says what took its place."""
        return relation.relation_type in self._opposing

    def has_ended(self, item: Node | Relation) -> bool:
        """Return True if a node or relation has ended by `as_of`, or states an end where no moment is given."""
        end = cast("datetime | None", item.valid_until)
        return end is not None and (self.as_of is None or with_zone(end) <= self.as_of)

    def has_begun(self, item: Node | Relation) -> bool:
        """Return False if a node or relation begins after `as_of`."""
        start = cast("datetime | None", item.valid_from)
        return start is None or self.as_of is None or with_zone(start) <= self.as_of

    def is_refuted(self, node_id: str) -> bool:
        """Return True if a node is rejected by its own status, or by a relation that speaks against it."""
        return node_id in self._refuted

    @cached_property
    def fallen(self) -> frozenset[str]:
        """The ids of the relations that do not stand: ended, not begun, speaking against something, or about what is refuted."""
        untimely = {node.node_id for node in self._bundle.nodes if self._is_untimely(node)}
        doubtful = untimely | self._refuted - {self._bundle.root_node_id}
        return frozenset(
            relation.relation_id
            for relation in self._bundle.relations
            if ((relation.valid_until is not None or relation.valid_from is not None) and self._is_untimely(relation))
            or (doubtful and (relation.source_node_id in doubtful or relation.target_node_id in doubtful))
            or (self._opposing and relation.relation_type in self._opposing)
        )

    def _is_untimely(self, item: Node | Relation) -> bool:
        return self.has_ended(item) or not self.has_begun(item)

    @cached_property
    def _refuted(self) -> frozenset[str]:
        said = {node.node_id for node in self._bundle.nodes if node.status and node.status.strip().lower() in _REJECTED}
        return frozenset(said.union(self._opposed_nodes()))

    def _opposed_nodes(self) -> Iterable[str]:
        if not self._opposing:
            return
        for relation in self._bundle.relations:
            if relation.relation_type in self._opposing and not self.has_ended(relation):
                is_passive = _BY.search(_snake(relation.relation_type)) is not None
                yield relation.source_node_id if is_passive else relation.target_node_id


def _opposes(relation_type: str) -> bool:
    return _STEMS.search(_snake(relation_type)) is not None


def _snake(relation_type: str) -> str:
    return "_".join(relation_type.lower().replace("-", " ").replace("_", " ").split())
