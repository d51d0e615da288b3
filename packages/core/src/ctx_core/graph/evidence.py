"""What a reader of a render could know: which facts it shows, which nodes it names, what leads to what."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ctx_core.graph.facts import Facts, words
from ctx_core.graph.model import RelationClass
from ctx_core.graph.node_names import Mention, NodeNames, keep_outer
from ctx_core.graph.text import one_line, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ctx_core.graph.facts import Fact
    from ctx_core.graph.model import Bundle, Relation
    from ctx_core.graph.render import RenderedContext

_ID: Final = re.compile(r"(?<![\w>/.-])[A-Za-z][A-Za-z0-9]*+(?:[-_:/.][A-Za-z0-9]++)*+(?![\w>-])")
_SEPARATORS: Final = "-_:/."
_FAMILY: Final = re.compile(rf"[A-Za-z]+[{_SEPARATORS}]?")
_ALIAS: Final = re.compile(r"\bnode (\d{1,9})\b|\[([A-Za-z0-9_-]{1,9})\]", re.IGNORECASE)
# Types that read from effect to cause: CAUSED_BY, BECAUSE, DERIVED_FROM.
_PASSIVE: Final = re.compile(r"(?:^|[_\s-])(?:BY|FROM|BECAUSE|DUE_TO)(?:$|[_\s-])", re.IGNORECASE)


class Evidence:
    """The facts of a bundle, and which of them a render shows."""

    def __init__(self, rendered: RenderedContext, bundle: Bundle) -> None:
        self.bundle = bundle
        self.facts = Facts(bundle)
        self.text = rendered.text
        self.decisions = {relation.decision_id for relation in bundle.relations if relation.decision_id}
        self._lines: dict[str, str] = defaultdict(str)
        for section in rendered.sections:
            if section.relation_id is not None:
                self._lines[section.relation_id] += f"{section.text}\n"
        self._named = rendered.named
        self._by_alias = {alias: node_id for node_id, alias in rendered.aliases.items()}
        self._spine = rendered.path

    @cached_property
    def shows_reason(self) -> bool:
        """Whether the text states why about anything."""
        return any(fact.is_reason and self.shows(fact) for fact in self.facts.all)

    def shows(self, fact: Fact) -> bool:
        """Say whether the text states a fact in full."""
        place = self.text if fact.relation_id is None else self._lines.get(fact.relation_id, "")
        written = (quoted(fact.text), one_line(fact.text), json.dumps(fact.text, ensure_ascii=False)[1:-1])
        return any(text in place for text in written)

    def shows_relation(self, relation: Relation) -> bool:
        """Say whether the text has a line about a relation."""
        return relation.relation_id in self._lines

    def shows_node(self, node_id: str) -> bool:
        """Say whether the text names a node, or mentions it in a relation."""
        return node_id in self._named or node_id in self._on_lines

    @cached_property
    def _on_lines(self) -> frozenset[str]:
        shown = filter(self.shows_relation, self.bundle.relations)
        return frozenset(end for relation in shown for end in (relation.source_node_id, relation.target_node_id))

    def title(self, node_id: str) -> str:
        """Return what a node is called."""
        return self.bundle.nodes_by_id[node_id].title or node_id

    def nodes_named(self, text: str) -> list[str]:
        """Return the nodes that a text names by id, title or alias; a title inside a longer one does not count."""
        found = self._names.mentions(text)
        for match in _ALIAS.finditer(text):
            known = (self._by_alias.get(alias) for alias in match.groups() if alias)
            found += [
                Mention(*match.span(), node_id)
                for node_id in known
                if node_id is not None and node_id in self.bundle.nodes_by_id
            ]
        return list(dict.fromkeys(mention.node_id for mention in keep_outer(found)))

    @cached_property
    def _names(self) -> NodeNames:
        return NodeNames(self.bundle)

    def is_only_named(self, text: str, node_ids: Collection[str]) -> bool:
        """Say whether a text does no more than name some nodes."""
        names = set(words(" ".join(f"{node_id} {self.title(node_id)}" for node_id in node_ids)))
        return bool(node_ids) and names.issuperset(words(text))

    def id_like(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield what in a text is an id of this bundle, or is built like one and appears in no fact."""
        for match in _ID.finditer(text):
            token = match.group()
            if token.isalpha():
                continue  # an id that is a plain word cannot be told from the word
            known = token in self.bundle.nodes_by_id or token in self.decisions
            if known or (self._is_like_an_id(token) and not self.facts.knows(token)):
                yield match.start(), token

    def _is_like_an_id(self, token: str) -> bool:
        """Say whether a token begins as ids of this bundle do; a bare letter and digits must do so more than once."""
        family = _family(token)
        return family is not None and self._families[family] > (0 if family[-1] in _SEPARATORS else 1)

    @cached_property
    def _families(self) -> Counter[str]:
        families = map(_family, (*self.bundle.nodes_by_id, *self.decisions))
        return Counter(family for family in families if family is not None)

    @cached_property
    def reasons(self) -> list[str]:
        """The reasons of the bundle, in words, the longest first."""
        texts = {fact.text for fact in self.facts.all if fact.is_reason and " " in fact.text}
        return sorted(texts, key=len, reverse=True)

    def reasons_of(self, node_ids: Collection[str]) -> list[Fact]:
        """Return the reasons stated about some nodes, or all reasons when no nodes are given."""
        reasons = [fact for fact in self.facts.all if fact.is_reason]
        return [fact for fact in reasons if not node_ids or not set(node_ids).isdisjoint(fact.node_ids)]

    def is_about(self, fact: Fact, node_ids: Collection[str]) -> bool:
        """Say whether a fact speaks of any of the nodes, directly or along the spine; true when none are given."""
        subjects = set(node_ids) - set(self.nodes_named(fact.text))
        if not subjects or not subjects.isdisjoint(fact.node_ids):
            return True
        branches = {self._branches.get(node_id) for node_id in fact.node_ids} - {None}
        on_spine = any(relation.relation_id == fact.relation_id for relation in self._spine.relations)
        return on_spine and any(
            node_id == self._root or self._branches.get(node_id) in branches for node_id in subjects
        )

    @cached_property
    def _root(self) -> str:
        return self._spine.node_ids[0]

    @cached_property
    def _branches(self) -> dict[str, int]:
        """The branch of the spine that each of its nodes lies on; branches meet at the root alone."""
        branches: dict[str, int] = {}
        for number, relation in enumerate(self._spine.relations):
            ends = [end for end in (relation.source_node_id, relation.target_node_id) if end != self._root]
            branch = next((branches[end] for end in ends if end in branches), number)
            for end in ends:
                branches.setdefault(end, branch)
        return branches

    def leads(self, cause: str, effect: str) -> Relation | None:
        """Return the last relation of the shortest explained way from a cause to an effect, if there is one."""
        came: dict[str, Relation | None] = {cause: None}
        ring = [cause]
        while ring and effect not in came:
            steps = [step for node_id in ring for step in self._effects.get(node_id, ())]
            ring = []
            for node_id, relation in steps:
                if node_id not in came:
                    came[node_id] = relation
                    ring.append(node_id)
        return came.get(effect)

    @cached_property
    def _effects(self) -> dict[str, list[tuple[str, Relation]]]:
        effects: dict[str, list[tuple[str, Relation]]] = defaultdict(list)
        for relation in self.bundle.relations:
            if relation.semantic_class is not RelationClass.STRUCTURAL or relation.rationale:
                ends = relation.source_node_id, relation.target_node_id
                cause, effect = ends[::-1] if _PASSIVE.search(relation.relation_type) else ends
                effects[cause].append((effect, relation))
        return effects


def _family(token: str) -> str | None:
    """Return the beginning that ids of one kind share, `node-` of `node-9f86`; None for a plain word."""
    if not any(character.isdigit() for character in token):
        return None
    match = _FAMILY.match(token)
    return match.group().lower() if match else None
