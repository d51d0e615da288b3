"""What a bundle states in words, and how near a claim comes to it; no model, only words and their rarity."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ctx_core.graph.model import Bundle

_WORD: Final = re.compile(r"[A-Za-z0-9]+(?:[-_.:/'’][A-Za-z0-9]+)*|[^\W\d_]", re.UNICODE)
_ENDINGS: Final = re.compile(r"(?:ations?|ings?|ions?|ments?|ed|es|ly|s|e)$")
_NEGATIONS: Final = frozenset(
    {"not", "no", "never", "without", "cannot", "isn't", "wasn't", "didn't", "doesn't", "neither"}
)
_EMPTY_WORDS: Final = frozenset(
    (  # noqa: SIM905 - a word list reads as words
        "a an the this that these those it its he she they them we you i there here which who what when where how "
        "is are was were be been being am do does did done has have had having will would can could may might must shall "
        "should and or but nor if then than as at by for from in into of on onto to with within over under up down out off "
        "about after before during until till while so such very also just only again too because since due via through "
        "thus therefore hence reason reasons cause caused causes why led lead leads result resulted results seems"
    ).split()
)
# Words longer than this are compared by their beginning: exhausted and exhaustion are one word.
_STEM: Final = 6
_CANDIDATES: Final = 12


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text as it is compared: its stem, and whether it names or numbers something exactly."""

    stem: str
    is_exact: bool


def words(text: str) -> list[Word]:
    """Return the words of a text that say something."""
    found = (match.group().lower() for match in _WORD.finditer(text))
    return [_word(word) for word in found if word not in _EMPTY_WORDS and word not in _NEGATIONS]


def is_negated(text: str) -> bool:
    """Say whether a text denies something."""
    return any(match.group().lower().replace("’", "'") in _NEGATIONS for match in _WORD.finditer(text))


def _word(word: str) -> Word:
    if any(character.isdigit() for character in word):
        return Word(word, is_exact=True)
    stem = _ENDINGS.sub("", word) if len(word) > _STEM - 1 else word
    return Word(stem[:_STEM] if len(stem) > 2 else word, is_exact=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One sentence that a bundle states, and the relation or node that states it."""

    text: str
    relation_id: str | None = None
    node_ids: tuple[str, ...] = ()
    is_reason: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The fact nearest to a claim.

    Args:
        similarity: Share of the claim's weight that the fact carries, from 0 to 1.
        coverage: Share of the fact's weight that the claim carries, from 0 to 1.
        is_opposed: The two share their words but differ in a name, a number or a negation.
    """

    fact: Fact
    similarity: float
    coverage: float
    is_opposed: bool


class Facts:
    """The facts of a bundle, searchable by the words they share with a claim."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.all = list(_facts(bundle))
        self._words = [set(words(fact.text)) for fact in self.all]
        self._holders: dict[Word, list[int]] = defaultdict(list)
        for index, said in enumerate(self._words):
            for word in said:
                self._holders[word].append(index)

    def knows(self, text: str) -> bool:
        """Say whether every word of a text occurs in some fact."""
        return all(word in self._holders for word in words(text))

    def near(self, claim: str, *, about: Iterable[str] = ()) -> list[Match]:
        """Return the facts that share the most words with a claim, the nearest first.

        The names of the nodes that the claim is `about` speak neither for nor against a fact.
        """
        said = set(words(claim))
        names = {word for node_id in about for word in self._names(node_id)}
        shared: dict[int, float] = defaultdict(float)
        for word in said:
            for index in self._holders.get(word, ()):
                shared[index] += self._weight(word)
        best = sorted(shared, key=lambda index: -shared[index])[:_CANDIDATES]
        matches = [self._match(claim, said, names, index) for index in best]
        return sorted(matches, key=lambda match: match.similarity + match.coverage - match.is_opposed, reverse=True)

    def _match(self, claim: str, said: set[Word], names: set[Word], index: int) -> Match:
        fact, stated = self.all[index], self._words[index]
        context = names.union(*(self._names(node_id) for node_id in fact.node_ids))
        own = said & stated
        strange = said - stated - context
        lost = stated - said
        weight = self._sum(own)
        return Match(
            fact=fact,
            similarity=weight / (weight + self._sum(strange)) if own else 0.0,
            coverage=weight / (self._sum(stated) or 1.0),
            is_opposed=(any(w.is_exact for w in strange) and any(w.is_exact for w in lost))
            or is_negated(claim) != is_negated(fact.text),
        )

    def _names(self, node_id: str) -> list[Word]:
        node = self.bundle.nodes_by_id[node_id]
        return words(f"{node_id} {node.title} {node.node_kind}")

    def _sum(self, said: Iterable[Word]) -> float:
        return sum(map(self._weight, said))

    def _weight(self, word: Word) -> float:
        """Return how much a word tells: rare ones more, names and numbers twice as much."""
        rarity = 1.0 + math.log((1 + len(self.all)) / (1 + len(self._holders.get(word, ()))))
        return rarity * 2 if word.is_exact else rarity


def _facts(bundle: Bundle) -> Iterator[Fact]:
    for relation in bundle.relations:
        ends = (relation.source_node_id, relation.target_node_id)
        reasons = relation.rationale, relation.motivation, relation.evidence
        for text, is_reason in (*((reason, True) for reason in reasons), (relation.method, False)):
            if text:
                yield Fact(text=text, relation_id=relation.relation_id, node_ids=ends, is_reason=is_reason)
    for node in bundle.nodes:
        if node.summary.strip():
            yield Fact(text=node.summary, node_ids=(node.node_id,))
    for detail in bundle.details:
        for line in detail.detail.splitlines():
            if line.strip():
                yield Fact(text=line, node_ids=(detail.node_id,))
