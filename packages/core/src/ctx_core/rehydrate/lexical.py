"""Words of a text as search sees them, and BM25 over them that grows turn by turn."""

# ruff: noqa: SIM905 - lists of words read as text

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_CJK: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD: Final = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:'[a-z]+)?")
_IS_CJK: Final = re.compile(rf"[{_CJK}]")

STOP_WORDS: Final = frozenset(
    (
        "a about again all also am among an and any are as at be because been being between both but by can could did do does doing done down during "
        "for from further had has have having he her here hers him his how i if in into is it its just me might more most must my "
        "no nor not of off on once only or other our ours out over own same shall she should since so some such than that the their "
        "theirs them then there these they this those through to too under until up us very was we were what when where which "
        "while who whom whose why will with would you your yours s t d m re ve ll don didn doesn isn aren wasn weren won let "
        "it's i'm i've i'd i'll you're you've you'd you'll he's she's we're we've we'd we'll they're they've that's there's "
        "what's who's let's don't didn't doesn't isn't aren't wasn't weren't won't can't couldn't wouldn't shouldn't haven't "
        "hasn't hadn't"
    ).split()
)

_UNSEEN: Final = frozenset(("Cc", "Cf", "Zl", "Zp", "Zs"))

# People ask with one form of a verb what was told in another.
_IRREGULAR: Final = {
    form: verb
    for verb, *forms in map(
        str.split,
        (
            "become became", "begin began begun", "bite bit bitten", "break broke broken", "bring brought", "build built",
            "buy bought", "catch caught", "choose chose chosen", "come came", "cut", "deal dealt", "draw drew drawn",
            "drink drank drunk", "drive drove driven", "eat ate eaten", "fall fell fallen", "feel felt", "fight fought",
            "find found", "fly flew flown", "forget forgot forgotten", "get got gotten", "give gave given", "go went gone",
            "grow grew grown", "hang hung", "hear heard", "hide hid hidden", "hold held", "keep kept", "know knew known",
            "lead led", "leave left", "lend lent", "lose lost", "make made", "mean meant", "meet met", "pay paid",
            "ride rode ridden", "ring rang rung", "rise rose risen", "run ran", "say said", "see saw seen", "sell sold",
            "send sent", "shoot shot", "show shown", "sing sang sung", "sit sat", "sleep slept", "speak spoke spoken",
            "spend spent", "stand stood", "steal stole stolen", "swim swam swum", "take took taken", "teach taught",
            "tell told", "think thought", "throw threw thrown", "understand understood", "wake woke woken", "wear wore worn",
            "win won", "write wrote written", "child children", "person people", "mouse mice", "life lives", "wife wives",
        ),
    )
    for form in forms
}  # fmt: skip

# Longest first; what is left must keep three letters.
_SUFFIXES: Final = (
    ("iness", "y"), ("ings", ""), ("ing", ""), ("ied", "y"), ("ies", "y"), ("ely", "e"), ("'s", ""), ("ed", ""), ("ly", ""),
    ("es", ""), ("s", ""),
)  # fmt: skip


def is_blank(text: str) -> bool:
    """Say whether nothing can be seen of `text`: white space, zero-width and control characters do not count."""
    return not text or all(unicodedata.category(one) in _UNSEEN for one in set(text[:4096]))


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return a word without its common English endings, so that `paintings` finds `painted` and `chose` finds `choosing`."""
    word = _IRREGULAR.get(word, word)
    if len(word) > 3:
        for suffix, instead in _SUFFIXES:
            if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith("ss"):
                word = word[: -len(suffix)] + instead
                break
    if len(word) > 3 and word[-1] == "e":
        word = word[:-1]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word


def words(text: str) -> list[str]:
    """Return the stems of the words in `text` without stop words; scripts without spaces give pairs of characters."""
    found: list[str] = []
    for token in _WORD.findall(unicodedata.normalize("NFKC", text).casefold().replace("’", "'")):
        if _IS_CJK.match(token):
            found += [token[i : i + 2] for i in range(max(1, len(token) - 1))]
        elif token not in STOP_WORDS:
            found.append(stem(token))
    return found


class Bm25:
    """BM25 over documents that are only ever added; a query costs what its own words' postings cost.

    The maintained libraries weigh a whole corpus at once and need numpy; here one more turn costs only its own words, and the
    bare install searches too.
    """

    def __init__(self, *, k1: float = 1.2, b: float = 0.75) -> None:
        self._k1 = k1
        self._b = b
        self._postings: dict[str, tuple[list[int], list[int]]] = {}
        self._lengths: list[int] = []
        self._total = 0
        self._known_norms: list[float] = []

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, terms: Sequence[str]) -> None:
        """Add the next document."""
        at = len(self._lengths)
        for term, count in Counter(terms).items():
            places, counts = self._postings.setdefault(term, ([], []))
            places.append(at)
            counts.append(count)
        self._lengths.append(len(terms))
        self._total += len(terms)

    def holding(self, term: str) -> Sequence[int]:
        """Return the documents that hold a word, in order."""
        return self._postings.get(term, ((), ()))[0]

    def weight(self, term: str) -> float:
        """Return how much a word tells documents apart; one that none holds weighs as much as one that a single document holds."""
        holding = max(1, len(self.holding(term)))
        return math.log(1 + (len(self) - holding + 0.5) / (holding + 0.5))

    def scores(self, terms: Iterable[str]) -> list[float]:
        """Return the score of every document."""
        scores = [0.0] * len(self)
        norms = self._norms()
        for term in dict.fromkeys(terms):
            weight = self.weight(term) * (self._k1 + 1)
            for at, count in zip(*self._postings.get(term, ((), ())), strict=True):
                scores[at] += weight * count / (count + norms[at])
        return scores

    def _norms(self) -> list[float]:
        """Return what each document's length takes from its counts."""
        if len(self._known_norms) != len(self):
            share = self._k1 * self._b * len(self) / max(self._total, 1)
            base = self._k1 * (1 - self._b)
            self._known_norms = [base + share * length for length in self._lengths]
        return self._known_norms
