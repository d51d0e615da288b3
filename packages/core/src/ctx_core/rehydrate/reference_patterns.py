"""How people refer to an earlier conversation: one grammar per language, read from `data/look_back`.

A grammar has word lists and five lists of frames:

- `refers`: always refers to the conversation.
- `may_refer`: refers to it unless a frame of `unless` matches the same sentence, or one of `pasted` any sentence.
- `unless`: who else was there, a book, a film, something to come.
- `pasted`: the message holds somebody's letter or article.
- `quotes`: what follows is not said but quoted, as after "translate:", so the rest of the message is not read.
- `quotes_all`: the same for what stands before it.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import chain
from typing import TYPE_CHECKING, Final

from ctx_core.rehydrate.reference_frames import Frame, Reading, WordLists, read_frame, read_word_lists
from ctx_core.rehydrate.reference_spelling import Spelling
from ctx_core.rehydrate.reference_text import Sentence, extract_own_words, split_sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_CLAIMS: Final = ("refers", "may_refer")
_OBJECTIONS: Final = ("unless", "pasted", "quotes", "quotes_all")


# Word lists of what people talk about; all others hold words about talking, asking and time.
_CONTENT_LISTS: Final = (
    *("DID", "DO", "DONE_TOGETHER", "MY_ONE", "NAME", "OPEN", "PERSON"),
    *("STORY", "SUGGESTION", "THING", "TOPIC", "WANTED", "WE_DID"),
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A frame with its language and what follows from a match."""

    language: str
    kind: str
    frame: Frame


@dataclass(frozen=True, slots=True)
class Match:
    """Where a frame matched: sentence, first word, word after the last."""

    rule: Rule
    sentence: int
    start: int
    end: int


class ReferencePatterns:
    """All languages' frames. Most messages refer to nothing, so frames that could say so are tried first.

    Args:
        rules: The frames.
        fillers: Words that may stand before the first word of a sentence and after its last.
        talk_words: Words about talking itself, by language.
    """

    def __init__(
        self, rules: Iterable[Rule], *, fillers: frozenset[str], talk_words: Mapping[str, frozenset[str]]
    ) -> None:
        rules = tuple(rules)
        self._claims = _RuleIndex(rule for rule in rules if rule.kind in _CLAIMS)
        self._objections = _RuleIndex(rule for rule in rules if rule.kind not in _CLAIMS)
        self._fillers = fillers
        self._talk_words = talk_words
        self._spelling = Spelling(word for rule in rules for word in rule.frame.list_words())

    def find(self, text: str) -> str | None:
        """Return the words by which `text` refers to an earlier conversation, or None if it does not."""
        said = extract_own_words(text)
        sentences = split_sentences(said)
        readings = [self._read(sentence) for sentence in sentences]
        claims = self._claims.find_matches(readings)
        if not claims:
            return None
        found = _decide(claims, self._objections.find_matches(readings))
        if found is None:
            return None
        spans = sentences[found.sentence].spans
        return said[spans[found.start][0] : spans[found.end - 1][1]]

    def find_talk_words(self, text: str) -> frozenset[str]:
        """Return the words about talking itself of each language in which `text` could refer to a conversation."""
        claims = self._claims.find_matches([self._read(sentence) for sentence in split_sentences(text)])
        return frozenset().union(
            *(self._talk_words[language] for language in {match.rule.language for match in claims})
        )

    def _read(self, sentence: Sentence) -> Reading:
        tokens = sentence.tokens
        first, last = 0, len(tokens)
        while first < last - 1 and tokens[first] in self._fillers:
            first += 1
        while last > first + 1 and tokens[last - 1] in self._fillers:
            last -= 1
        keys = tuple(map(self._spelling.read, tokens))
        words = frozenset(chain.from_iterable(keys))
        return Reading(keys, words, first, last, sentence.is_question, sentence.has_colon)


class _RuleIndex:
    """Rules by the rarest word that each needs."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = tuple(rules)
        uses = Counter(word for rule in self._rules for word in rule.frame.list_words())
        self._by_word: dict[str, list[int]] = {}
        for number, rule in enumerate(self._rules):
            anchor = min(rule.frame.needs, key=lambda need: max(_estimate_frequency(word, uses) for word in need))
            for word in anchor:
                self._by_word.setdefault(word, []).append(number)

    def find_matches(self, readings: Sequence[Reading]) -> list[Match]:
        """Return every match, by sentence and then in the order of the rules."""
        matches: list[Match] = []
        for at, reading in enumerate(readings):
            numbers: set[int] = set()
            for word in reading.words:
                numbers.update(self._by_word.get(word, ()))
            for number in sorted(numbers):
                rule = self._rules[number]
                if span := rule.frame.find(reading):
                    matches.append(Match(rule, at, *span))
        return matches


def _estimate_frequency(word: str, uses: Counter[str]) -> int:
    """Return a number that grows with how often a word is used: short words, and words of many frames, are frequent."""
    return uses[word] * (4 if len(word) <= 3 else 1)


def _decide(claims: list[Match], objections: list[Match]) -> Match | None:
    """Return the first claim that no objection defeats."""
    if any(match.rule.kind == "quotes_all" for match in objections):
        return None
    quoted_from = min(
        ((match.sentence, match.end) for match in objections if match.rule.kind == "quotes"), default=None
    )
    pasted = {match.rule.language for match in objections if match.rule.kind == "pasted"}
    excluded = {(match.rule.language, match.sentence) for match in objections if match.rule.kind == "unless"}
    for match in claims:
        if quoted_from is not None and (match.sentence, match.end) > quoted_from:
            continue
        language = match.rule.language
        if match.rule.kind == "refers" or (language not in pasted and (language, match.sentence) not in excluded):
            return match
    return None


@lru_cache(maxsize=256)
def find_reference(text: str) -> str | None:
    """Return the words by which `text` refers to an earlier conversation, or None if it does not."""
    return load_patterns().find(text)


def find_talk_words(text: str) -> frozenset[str]:
    """Return the words about talking itself of each language in which `text` could refer to a conversation."""
    return load_patterns().find_talk_words(text)


@lru_cache(maxsize=1)
def load_patterns() -> ReferencePatterns:
    """Read the grammars of all languages that come with the package."""
    rules: list[Rule] = []
    fillers: set[str] = set()
    talk_words: dict[str, frozenset[str]] = {}
    for file in sorted(files("ctx_core").joinpath("data/look_back").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            grammar = tomllib.loads(file.read_text(encoding="utf-8"))
            lists = read_word_lists(grammar["words"])
            fillers.update(entry[0] for entry in lists.get("FILLERS", ()) if len(entry) == 1)
            language = file.name.removesuffix(".toml")
            own = list(_read_rules(language, grammar["frames"], lists))
            rules += own
            claimed = frozenset().union(*(rule.frame.list_words() for rule in own if rule.kind in _CLAIMS))
            talk_words[language] = claimed - {
                word for name in _CONTENT_LISTS for row in lists.get(name, ()) for word in row
            }
    return ReferencePatterns(rules, fillers=frozenset(fillers), talk_words=talk_words)


def _read_rules(language: str, frames: dict[str, str], lists: WordLists) -> Iterable[Rule]:
    for kind in (*_CLAIMS, *_OBJECTIONS):
        for line in frames.get(kind, "").splitlines():
            if text := line.split("#", 1)[0].strip():
                yield Rule(language, kind, read_frame(text, lists))
