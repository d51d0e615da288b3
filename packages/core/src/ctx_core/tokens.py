"""Exact token counts from shipped vocabulary files, and a cheap estimate for searching.

Counting is the largest cost of the suite (18 to 40 MB/s), so code that looks for a fit estimates, and counts once at the end.
Text that spells a special token, such as `<|endoftext|>`, counts as the text it is.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import OrderedDict
from functools import lru_cache
from importlib.resources import as_file, files
from threading import Lock
from typing import TYPE_CHECKING, Final

from ctx_core.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tiktoken import Encoding

# File names are tiktoken's own cache names; the hashes are those of tiktoken_ext/openai_public.py.
_VOCABULARIES: Final = {
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
}

# Vendors other than OpenAI publish no local tokenizer; cl100k_base is the stand-in for theirs.
_MODEL_ENCODINGS: Final = (
    (re.compile(r"^(?:ft:)?(?:gpt-4o|chatgpt-4o|gpt-4\.[1-9]|gpt-[5-9]|o[1-9])"), "o200k_base"),
    (re.compile(r"^(?:ft:)?(?:gpt-4|gpt-3\.5|text-embedding-)"), "cl100k_base"),
)

# How each encoding cuts text before merging bytes: what the patterns of tiktoken_ext/openai_public.py match, written so that all that
# needs no look-ahead stands in one group. The encoder then runs that group on a linear automaton instead of a backtracking machine:
# mixed text counts in about half (cl100k_base) and four fifths (o200k_base) of the time that the published spelling takes;
# `bench/bench_optimize.py --counting` compares them.
_PATTERNS: Final = {
    "cl100k_base": "|".join(  # noqa: FLY002 - one alternative a line
        (
            r"""(?:'(?i:[sdmt]|ll|ve|re)""",
            r"""[^\r\n\p{L}\p{N}]?\p{L}+""",
            r"""\p{N}{1,3}""",
            r""" ?[^\s\p{L}\p{N}]+[\r\n]*""",
            r"""\s+$""",
            r"""\s*[\r\n])""",
            r"""\s+(?!\S)""",
            r"""\s""",
        )
    ),
    "o200k_base": "|".join(  # noqa: FLY002 - one alternative a line
        (
            r"""(?:[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
            r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
            r"""\p{N}{1,3}""",
            r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
            r"""\s*[\r\n]+)""",
            r"""\s+(?!\S)""",
            r"""\s+""",
        )
    ),
}

# Weights per UTF-8 byte class, fitted on code, logs, JSON, diffs and prose: within a third of the exact count on 4 KB of any of them.
_PRINTED: Final = (
    (bytes(range(0x61, 0x7B)) + bytes(range(0x41, 0x5B)), 0.24),
    (b"0123456789", 0.66),
    (bytes(b for b in range(0x21, 0x7F) if not chr(b).isalnum()), 0.60),
    (b"\n", 0.35),
)
_WIDE: Final = (
    (bytes(range(0xC3, 0xE0)), 0.7),  # two bytes: Latin with marks, Greek, Cyrillic, Arabic, Hebrew
    (bytes(range(0xE0, 0xF0)), 1.25),  # three bytes: CJK, Indic, Thai
    (bytes(range(0xF0, 0xF5)), 2.6),  # four bytes: emoji, rare CJK
)


# A call of the encoder costs 10 µs even for a word; looking a text up costs one.
_WORTH_REMEMBERING: Final = 8


def encoding_for_model(model: str) -> str:
    """Name the encoding of a model; unknown models are counted with `cl100k_base`."""
    name = model.rsplit("/", 1)[-1].lower()
    return next((encoding for pattern, encoding in _MODEL_ENCODINGS if pattern.match(name)), "cl100k_base")


class TokenCounter:
    """Counts tokens of one encoding; safe to share between threads, and cheap to create and pickle."""

    def __init__(self, encoding: str = "cl100k_base") -> None:
        if encoding not in _VOCABULARIES:
            raise InvalidInput(f"unknown encoding {encoding!r}; known are {', '.join(_VOCABULARIES)}")
        self.encoding = encoding

    @classmethod
    def for_model(cls, model: str) -> TokenCounter:
        """Return the counter for a model's name, such as `gpt-4o` or `openai/gpt-5.5`."""
        return cls(encoding_for_model(model))

    def __repr__(self) -> str:
        return f"TokenCounter({self.encoding!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TokenCounter) and other.encoding == self.encoding

    def __hash__(self) -> int:
        return hash(self.encoding)

    def __call__(self, text: str) -> int:
        """Count the tokens of `text`, exactly."""
        return self.count(text)

    def count(self, text: str) -> int:
        """Count the tokens of `text`, exactly."""
        if not text:
            return 0
        encode = _load(self.encoding).encode_ordinary
        return sum(len(encode(piece)) for piece in _pieces(text))

    def count_all(self, texts: Iterable[str]) -> int:
        """Count the tokens of several texts, each on its own."""
        return sum(map(self.count, texts))

    def estimate(self, text: str) -> int:
        """Estimate the tokens of `text` at about a tenth of the cost of counting; no vocabulary is loaded."""
        return estimate(text)

    def clip(self, text: str, max_tokens: int) -> str:
        """Return the longest prefix of at most `max_tokens` tokens that splits no grapheme's code points apart."""
        if max_tokens <= 0:
            return ""
        # A token is at most 128 characters of one repeated mark; longer prefixes cannot fit.
        head = text[: max_tokens * 128]
        ids = _load(self.encoding).encode_ordinary(head)
        if len(ids) <= max_tokens and len(head) == len(text):
            return text
        cut = whole_graphemes(text, len(self._decoded_prefix(ids[:max_tokens], text)))
        while cut > 0 and self.count(text[:cut]) > max_tokens:
            cut = whole_graphemes(text, cut - 1)
        return text[:cut]

    def _decoded_prefix(self, ids: list[int], text: str) -> str:
        decoded = _load(self.encoding).decode_bytes(ids).decode("utf-8", "ignore")
        # Lone surrogates do not survive decoding; there, lengths are the best that can be said.
        return decoded if text.startswith(decoded) else text[: len(decoded)]


class RememberingCounter(TokenCounter):
    """Counts each longer text once: a chat that grows by a message is not counted from its start at every turn.

    Args:
        encoding: See `TokenCounter`.
        max_characters: Texts remembered, in characters; the ones used longest ago are forgotten first.
    """

    def __init__(self, encoding: str = "cl100k_base", *, max_characters: int = 16 * 1024 * 1024) -> None:
        super().__init__(encoding)
        self._max_characters = max_characters
        self._forget()

    def count(self, text: str) -> int:
        """Count the tokens of `text`, exactly."""
        if len(text) < _WORTH_REMEMBERING:
            return self.count_anew(text)
        with self._lock:
            known = self._known.get(text)
            if known is not None:
                self._known.move_to_end(text)
                return known
        tokens = self.count_anew(text)
        with self._lock:
            if text not in self._known:
                self._characters += len(text)
                self._known[text] = tokens
            while self._characters > self._max_characters:
                self._characters -= len(self._known.popitem(last=False)[0])
        return tokens

    def count_anew(self, text: str) -> int:
        """Count the tokens of a text that is not remembered; where a counter of one's own comes in."""
        return super().count(text)

    def _forget(self) -> None:
        self._known: OrderedDict[str, int] = OrderedDict()
        self._characters = 0
        self._lock = Lock()

    def __getstate__(self) -> dict[str, object]:
        return {"encoding": self.encoding, "_max_characters": self._max_characters}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._forget()


# Places where both encodings cut, whatever stands around them, so that pieces count as much as the whole. After a line end,
# o200k_base takes slashes along with the marks before it.
_SEAM: Final = re.compile(r"\n(?=[!-.0-~])|(?<=[0-9])(?=[,}\]])|(?<=[A-Za-z])(?=\"| [A-Za-z])")
_PIECE_CHARS: Final = 1 << 18
# The encoder's pattern runs out of stack, and panics, on a run of a million spaces. A text without a seam for this long is
# cut where it stands, which may count a token more than the whole.
_LONGEST_PIECE: Final = 3 * _PIECE_CHARS


def _pieces(text: str) -> Iterator[str]:
    """Yield a long text in pieces: token ids take up to 15 times the memory of what they stand for."""
    start = 0
    while len(text) - start > _PIECE_CHARS:
        seam = _SEAM.search(text, start + _PIECE_CHARS, start + _LONGEST_PIECE)
        end = seam.end() if seam else start + _LONGEST_PIECE
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def estimate(text: str) -> int:
    """Estimate tokens by counting classes of bytes; a CJK character counts a little over one token, a Latin letter about a quarter."""
    if not text:
        return 0
    raw = text.encode("utf-8", "surrogatepass")
    tokens, size = 1.0, len(raw)
    for members, weight in _PRINTED if size == len(text) else _PRINTED + _WIDE:
        tokens += (size - len(raw.translate(None, members))) * weight
    return int(tokens)


def replace_surrogates(text: str) -> str:
    """Return `text` as valid UTF-8 has it: halves of pairs joined, and lone surrogates as U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


# Longer than any character that a person reads; what goes on for longer is cut where it stands.
_LONGEST_GRAPHEME: Final = 64
_JOINERS: Final = frozenset("\u200d\ufe0e\ufe0f")


def whole_graphemes(text: str, cut: int) -> int:
    """Move a cut position back until it splits no combining sequence, emoji sequence, flag, or CR LF."""
    import unicodedata  # noqa: PLC0415 - 1 MiB of tables that most calls never need

    least = max(0, cut - _LONGEST_GRAPHEME)
    while least < cut < len(text):
        before, after = text[cut - 1], text[cut]
        joined = (
            unicodedata.combining(after)
            or unicodedata.category(after) in ("Mn", "Me", "Mc")
            or after in _JOINERS
            or before == "\u200d"
            or "\U0001f3fb" <= after <= "\U0001f3ff"
            or (
                "\U0001f1e6" <= before <= "\U0001f1ff"
                and "\U0001f1e6" <= after <= "\U0001f1ff"
                and _odd_flags(text, cut)
            )
            or ("\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff")
            or (before == "\r" and after == "\n")
        )
        if not joined:
            break
        cut -= 1
    return cut


_FLAGS: Final = re.compile("[\U0001f1e6-\U0001f1ff]+")
_NEARBY: Final = 256


def _odd_flags(text: str, cut: int) -> bool:
    """Say whether an odd number of the letters that flags are made of stands before a cut, in one run."""
    least = max(0, cut - _NEARBY)
    start = cut
    while start > least and "\U0001f1e6" <= text[start - 1] <= "\U0001f1ff":
        start -= 1
    if start == least and start:
        start = _start_of_run(text, cut)
    return (cut - start) % 2 == 1


def _start_of_run(text: str, cut: int) -> int:
    """Return where a long run of the letters of flags begins; found once for a text, however often it is cut."""
    starts = _long_runs(text)
    return starts[bisect_right(starts, cut) - 1]


@lru_cache(maxsize=1)
def _long_runs(text: str) -> list[int]:
    return [run.start() for run in _FLAGS.finditer(text) if run.end() - run.start() > _NEARBY]


@lru_cache(maxsize=len(_VOCABULARIES))
def _load(name: str) -> Encoding:
    """Build an encoding from its shipped file; a file with another hash is refused and nothing is fetched."""
    import hashlib  # noqa: PLC0415
    from base64 import b64decode  # noqa: PLC0415

    from tiktoken import Encoding  # noqa: PLC0415

    file_name, expected = _VOCABULARIES[name]
    with as_file(files("ctx_core").joinpath("data/vocab", file_name)) as path:
        raw = path.read_bytes()
    if hashlib.sha256(raw).hexdigest() != expected:
        raise InvalidInput(f"the vocabulary file of {name} is damaged; reinstall ctx-core")
    ranks = {b64decode(token): int(rank) for token, rank in (line.split() for line in raw.splitlines() if line)}
    return Encoding(name, pat_str=_PATTERNS[name], mergeable_ranks=ranks, special_tokens={})
