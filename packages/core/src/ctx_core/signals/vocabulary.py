"""The words that report trouble, and what each of them is a sign of.

Levels are those of syslog (RFC 5424), of Python's `logging`, Log4j and logcat; the other words are what POSIX, compilers, test
runners and cluster tools print. Programs repeat their words far more than their lines: each distinct word is read once, and a
line is judged by look-ups.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Sign(IntEnum):
    """What a word may be a sign of, one bit each; a line holds the signs of all its words.

    No `IntFlag`: its operators are Python code, and this is asked several times a line.
    """

    STRONG = 1
    WEAK = 2
    WARNING = 4
    PHRASE = 8
    DENIAL = 16
    PASSING = 32
    STATUS = 64


_SIGNS: Final = {
    Sign.STRONG: """
        error errors err fail fails failed failing failure failures failure/error fatal panic panicked exception exceptions traceback critical
        severe emerg emergency alert crit abort aborted aborting segfault segmentation sigsegv sigabrt sigkill sigterm sigbus sigill sigfpe killed
        oom oom-kill oom-killer oomkilled crash crashed crashes crashing crashloopbackoff imagepullbackoff errimagepull assertion corrupt corrupted
        corruption deadlock unhandled uncaught errored vulnerabilities vulnerability unsuccessful unsuccessfully
        enoent eacces eperm econnrefused econnreset etimedout enotfound eaddrinuse enospc enomem eresolve elifecycle
        fehler fehlgeschlagen erreur échec échoué fallo fallido errore ошибка сбой ✗ ✘ ✖ ❌ × ●
    """,
    Sign.WEAK: """
        cannot can't couldn't unable denied refused unreachable forbidden unauthorized invalid unresolved unavailable mismatch mismatched
        timeout timeouts expired conflict conflicts rejected dubious broken interrupted unexpected violation overflow underflow terminated illegal
        unrecognized unsupported incorrect missing exceeded canceled cancelled insufficient back-off backoff evicted untrusted
    """,
    Sign.WARNING: "warn warning warnings",
    Sign.PHRASE: """
        exit exited exiting exitcode found such timed core memory gateway permitted accessible valid non-zero nonzero returned got want left right
        expected received actual passed problems problem issues issue undefined not e f e0 f0 reference race signal terminate space limit denied
        refused conflict rejected resolve reformat reformatted authority caused errno
    """,
    Sign.DENIAL: "no none null nil zero without ignore ignores ignored ignoring suppress suppressed any if false",
    Sign.PASSING: "ok ignored skipped passed xfail xfailed pass skip run pause cont name ✓ ✔ √",
    Sign.STATUS: "http http/0.0 http/0 status",
}
_OF_WORD: Final[dict[str, int]] = {}
for _sign, _words in _SIGNS.items():
    for _word in _words.split():
        _OF_WORD[_word] = _OF_WORD.get(_word, 0) | _sign
_WITHOUT_SPACES: Final = ("错误", "失败", "异常", "エラー", "失敗", "例外", "오류", "실패")
# `E` and `F` of logcat and klog stand alone, at the start of a line.
_LEVEL_LETTERS: Final = 2
_LETTER_LEVELS: Final = ("E", "F", "e", "f")
_LEVELS_INSIDE: Final = ("\nE", "\nF", " E ", " F ")
_SHORT_WORD: Final = 4
# What advisories of CWE and OWASP call a fault in code.
_OF_CODE: Final = ("fail", "unsafe", "secur", "vulnerab", "overflow")
_TYPE_STEMS: Final = ("error", "exception", "failure", "warning")
# Paths, options and identifiers are one piece, so `src/error.rs` is no error.
_PIECE: Final = re.compile(r"[^\s()\[\]{}<>:;,=\"#|*+&^%$@!?`\\]+")
# Begins only where a value can begin and never backs off, so a megabyte of one word is read once.
_VALUE: Final = re.compile(rb"(?<![\w.:%+-])[A-Za-z1-9_.:%+-]*+0[\w.:%+-]*+")
# `ConnectionError` is one, the crate `thiserror` and the `error` of `logger.error` are not.
_TYPE_NAME: Final = re.compile(r"[a-zA-Z](?:Error|Exception|Failure)$")
# A diagnostic's place, `main.go:12:2:`, at the head of a line that may hold no word of alarm.
_PLACE: Final = re.compile(rb"[\w./\\-]+\.\w+:0:0:")


class Word(NamedTuple):
    """A word as a template sees it, and the signs it carries."""

    mask: bytes
    signs: int


class Vocabulary(dict[bytes, Word]):
    """Each distinct word, read when it is first looked up; digits of a word stand as a single `0`."""

    def __missing__(self, word: bytes) -> Word:
        mask = _VALUE.sub(b"#", word) if b"0" in word else word
        signs = signs_of(word.decode("utf-8", "replace"))
        read = self[word] = Word(mask, signs | Sign.WEAK if b":0:0:" in word and _PLACE.match(word) else signs)
        return read


def signs_of(text: str) -> int:
    """Return the signs of all pieces of `text`; dots that fill a line part its words."""
    if text.isalpha() and text.isascii():
        return _OF_WORD.get(text.lower(), Sign.STRONG if _TYPE_NAME.search(text) else 0)
    signs = 0
    for piece in _PIECE.findall(text.replace("..", " ")):
        stem = piece.strip("._-/'")
        signs |= _OF_WORD.get(stem.lower(), 0)
        if (_TYPE_NAME.search(stem) and "/" not in stem) or (
            not stem.isascii() and any(mark in stem for mark in _WITHOUT_SPACES)
        ):
            signs |= Sign.STRONG
        elif stem.endswith("Warning"):
            signs |= Sign.WARNING
    return signs


@lru_cache(maxsize=1)
def _stems(signs: int) -> tuple[str, ...]:
    """Return the shortest words that occur in every word of these signs."""
    words = {
        word for word, own in _OF_WORD.items() if own & signs and (len(word) > _LEVEL_LETTERS or not word.isascii())
    }
    stems: list[str] = []
    for word in sorted({*words, *_TYPE_STEMS, *_WITHOUT_SPACES}, key=lambda word: (len(word), word)):
        if not any(stem in word for stem in stems):
            stems.append(word)
    return tuple(stems)


_REPORTING: Final = int(Sign.STRONG | Sign.WEAK | Sign.PHRASE | Sign.WARNING)


def mentions_failure(text: str) -> bool:
    """Return True if `text` names an error or a failure anywhere, inside identifiers too: for code, not for what programs print."""
    return any(map(text.lower().__contains__, _long_stems()))


@lru_cache(maxsize=1)
def _long_stems() -> tuple[str, ...]:
    # Shorter ones stand in words of another meaning, such as `err` in `interrupt`.
    words = sorted(
        (word for word, signs in _OF_WORD.items() if signs & Sign.STRONG and len(word) > _SHORT_WORD), key=len
    )
    return tuple(dict.fromkeys([*_TYPE_STEMS, *words, *_OF_CODE]))


def may_report_trouble(text: str, stems: Sequence[str] | None = None) -> bool:
    """Return True if `text` holds the stem of some word that reports trouble; False means that no line of it does.

    Derived from the vocabulary, and about thirty times as fast as reading every word.

    Args:
        text: A line, or many.
        stems: The stems to look for, if `stems_of` said which ones the text around this one holds.
    """
    if not text.isascii() or text.startswith(_LETTER_LEVELS) or any(map(text.__contains__, _LEVELS_INSIDE)):
        return True
    return any(map(text.lower().__contains__, _stems(_REPORTING) if stems is None else stems))


def stems_of(text: str) -> tuple[str, ...]:
    """Return the stems of words that report trouble which `text` holds, for `may_report_trouble` on its lines."""
    lowered = text.lower()
    return tuple([stem for stem in _stems(_REPORTING) if stem in lowered])


@lru_cache(maxsize=1)
def words_of_alarm() -> re.Pattern[str]:
    """Return a pattern that finds the words of alarm, of any case, in what is too long to be read word by word."""
    stems = sorted({*_long_stems(), *_WITHOUT_SPACES, "killed", "timed out", "not found", "denied", "refused"}, key=len)
    own = [stem for place, stem in enumerate(stems) if not any(shorter in stem for shorter in stems[:place])]
    return re.compile("|".join(map(re.escape, own)), re.IGNORECASE)
