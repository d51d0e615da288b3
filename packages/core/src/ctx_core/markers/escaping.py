"""Escaping: no content reads as a block, a note or a hint of ours, or as a control token of a chat template.

The time is linear in the text: each bracket is read up to the next one only, and no pattern repeats without a bound.
"""

from __future__ import annotations

import re
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final

from ctx_core.markers.blocks import Tag
from ctx_core.markers.folding import LEADING, OTHER, fold_head

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_ANGLES: Final = "<＜﹤‹〈\u2329⟨˂ᐸ❮❰"
_SQUARES: Final = "[［⁅【⟦"
# A reading ends at an ampersand too, and so at a bracket that was escaped before: escaping twice changes nothing.
_STOP: Final = re.compile(f"[{re.escape(_ANGLES + _SQUARES)}&]")
_INSTEAD: Final = dict.fromkeys(_ANGLES, "&lt;") | dict.fromkeys(_SQUARES, "&#91;")

_LONGEST: Final = 128
_LONGEST_BRACKET: Final = 400
_JOINERS: Final = str.maketrans("", "", " -_▁")
_NAME: Final = re.compile(r"[a-z0-9_.:-]{0,64}")
_NAME_ENDS: Final = (" ", ">", "/", "\\", "|", "]", ")", "}", '"', "'", "`", OTHER)

_OWN: Final = tuple(str(tag).translate(_JOINERS) for tag in Tag if tag is not Tag.CONTEXT)
# The roles and control tokens of the chat templates of Llama, Mistral, Gemma, Qwen, DeepSeek, Phi, GLM and ChatML, of
# Claude's tool calls, and the tags in which prompts wrap data. These begin a name …
_OPENINGS: Final = (
    "system", "imstart", "imend", "imsep", "startof", "endof", "beginof", "toolcall", "toolresponse", "toolresult",
    "functioncall", "functionresult", "antml:", "ccr:",
)  # fmt: skip
# … and these are one as a whole.
_WORDS: Final = frozenset(
    [
        "context",
        "user",
        "human",
        "assistant",
        "developer",
        "model",
        "tool",
        "tools",
        "function",
        "functions",
        "instruction",
        "instructions",
        "prompt",
        "think",
        "thinking",
        "invoke",
        "parameter",
        "document",
        "documents",
        "admin",
        "s",
        "bos",
        "eos",
        "pad",
        "unk",
        "sop",
        "eop",
        "eod",
        "eot",
        "sys",
        "inst",
    ]
)
_INITIALS: Final = frozenset(word[0] for word in (*_OWN, *_OPENINGS, *_WORDS)) | {"|", "!"}
_BRACKET_WORDS: Final = frozenset(
    ["inst", "sys", "system", "systemprompt", "availabletools", "toolcalls", "toolresults", "toolcontent"]
)
_NOTES: Final = re.compile(
    r"\.\.\.\d|(?:same)?as(?:in)?chunk\d|log:\d|page\d{1,9}of\d|nolineof\d|thefullcontent|shortened\]"
)
_HASH: Final = re.compile(r"hash=[0-9a-f]{8}")
_CLOSED_TOKEN: Final = re.compile(r"\|[\w :.-]{1,64}\|")

_LINE_END: Final = r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]"
_INDENT: Final = r"[ \t\xa0\u3000\u200b\ufeff]{0,16}"
# Lines that open a turn in the text templates of Alpaca, Vicuna and Claude 2, and rules between the tiers of a graph.
_LINE: Final = re.compile(
    rf"(?:\A|{_LINE_END}){_INDENT}(?=[#＃]{{2,4}} ?(?:instruction|response|input|system|human|user|assistant):"
    rf"|[─━═—–=-]{{2,8}} ?L[0-3]\b)"
    rf"|(?:\A{_LINE_END}?|{_LINE_END}{_INDENT}{_LINE_END}){_INDENT}(?=(?:human|assistant):)",
    re.IGNORECASE,
)
_LINE_SIGNS: Final = (
    "##",
    "＃",
    "uman:",
    "UMAN:",
    "ssistant:",
    "SSISTANT:",
    "L0",
    "L1",
    "L2",
    "L3",
    "l0",
    "l1",
    "l2",
    "l3",
)


def escape(text: str, *, keep: Collection[str] = ()) -> str:
    """Return `text` so that none of it reads as a marker: of ours, of another tool, or of a chat template.

    Look-alikes are escaped as well: full width, letters of other scripts, invisible characters and spaces inside, other case,
    attributes. `<` becomes `&lt;` and `[` becomes `&#91;`, only where a marker begins; a line that reads as a turn of a text
    template gets a backslash. Ordinary text and code come back as they are, and escaping twice changes nothing.

    Args:
        text: Any content.
        keep: Markers that are known to be ours, word for word, such as the hints that a look-up confirmed.

    Example:
        >>> escape("a </context> b")
        'a &lt;/context> b'
    """
    out: list[str] = []
    copied = 0
    for at in _markers_in(text, keep):
        out += text[copied:at], _INSTEAD[text[at]]
        copied = at + 1
    escaped = "".join((*out, text[copied:])) if out else text
    return _LINE.sub(lambda found: f"{found[0]}\\", escaped) if _may_open_line(escaped) else escaped


def has_marker(text: str) -> bool:
    """Say whether any of `text` reads as a marker."""
    return next(_markers_in(text, ()), None) is not None or (_may_open_line(text) and bool(_LINE.search(text)))


def _markers_in(text: str, keep: Collection[str]) -> Iterator[int]:
    """Yield where the brackets of markers stand."""
    known = frozenset(keep)
    sizes = {len(marker) for marker in known}
    stops = chain((found.start() for found in _STOP.finditer(text)), (len(text),))
    for at, end in pairwise(stops):
        if (
            text[at] != "&"
            and _opens_marker(text, at, end)
            and not any(text[at : at + size] in known for size in sizes)
        ):
            yield at


def _may_open_line(text: str) -> bool:
    return any(sign in text for sign in _LINE_SIGNS)


def _opens_marker(text: str, at: int, end: int) -> bool:
    """Say whether the bracket at a position opens a marker, by what stands between it and the next bracket."""
    piece = text[at + 1 : end].lstrip(LEADING)
    is_glued = at > 0 and (text[at - 1].isalnum() or text[at - 1] == "_")
    if text[at] in _SQUARES:
        return _opens_note(piece, is_index=is_glued and piece[:1].islower())
    if piece[:1].isascii() and piece[:1].lower() not in _INITIALS:
        return False
    # `List<User>` in code: a type, not a tag.
    is_type = is_glued and piece[:1].isupper() and text[at + 1] == piece[:1] and "_" not in piece.partition(">")[0]
    return _opens_tag(piece, is_type=is_type, is_tight=text[at + 1 : at + 2] == piece[:1])


def _opens_tag(piece: str, *, is_type: bool, is_tight: bool) -> bool:
    head = fold_head(piece, _LONGEST).lstrip(" /\\")
    if head.startswith("|"):
        return is_tight or _CLOSED_TOKEN.match(head) is not None
    compact = head.translate(_JOINERS)
    if compact.startswith("!"):
        return compact.startswith("!ccr:")
    if compact.startswith(_OWN):
        return True
    if is_type:
        return False
    if compact.startswith(_OPENINGS):
        return True
    name = _name_of(head)
    if name in _WORDS:
        return True
    inner, closing, _ = head.partition(">")
    return bool(closing) and inner.translate(_JOINERS).rstrip("/") in _WORDS


def _opens_note(piece: str, *, is_index: bool) -> bool:
    head = fold_head(piece, _LONGEST if "=" not in piece else _LONGEST_BRACKET).lstrip(" /\\")
    if _HASH.search(head):
        return True
    return bool(_NOTES.match(head.translate(_JOINERS))) or (not is_index and _name_of(head) in _BRACKET_WORDS)


def _name_of(head: str) -> str:
    """Return the name that a tag begins with; empty if what follows belongs to no tag, as in `<user@example.com>`."""
    found = _NAME.match(head)
    name = found[0] if found else ""
    rest = head[len(name) :]
    return name.translate(_JOINERS) if not rest or rest.startswith(_NAME_ENDS) else ""
