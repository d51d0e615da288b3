"""What an answer claims: reasons, ids, causes, or that no reason is known; each with its place in the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class ClaimKind(StrEnum):
    """What sort of claim an answer makes."""

    REASON = "reason"
    """Why something is so."""
    CAUSE = "cause"
    """That one node brought about another."""
    ID = "id"
    """That a node or decision of this id exists."""
    ABSENCE = "absence"
    """That no reason is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A claim as it stands in an answer.

    Args:
        start: Where it begins in the answer, in characters; for a mapping, in the value of `name`.
        name: The field of a JSON answer that holds it; empty in free text.
        is_stated: The answer itself says that this is a reason; otherwise it is a sentence that might be one.
        subject: The sentence or field around it, which may name the nodes it is about.
        cause: What a claim of kind `cause` says came first; `effect` is what it says came of it.
    """

    kind: ClaimKind
    text: str
    start: int
    end: int
    name: str = ""
    is_stated: bool = True
    subject: str = ""
    cause: str = ""
    effect: str = ""


_SENTENCE: Final = re.compile(r"[^.!?;\n]+(?:[.!?](?=\S)[^.!?;\n]*)*")
_AFTER: Final = re.compile(
    r"\b(?:because(?: of)?|due to|owing to|thanks to|as a result of|on account of|caused by|triggered by|explained by"
    r"|(?:the |its |root )*(?:reason|rationale|cause|explanation)(?: given| stated| recorded)?(?: here)?(?: is| was|:)(?: that)?"
    r"|on the grounds that|given that|seeing that|since(?! \d)|stems from|results? from)(?!\w):?",
    re.IGNORECASE,
)
_FORWARD: Final = r"caused|causes|led to|leads to|triggered|triggers|resulted in|results in|brought about"
_BACKWARD: Final = (
    r"(?:was|were|is|are) (?:caused|triggered|brought about|produced) by|resulted from|results from|came from"
)
_DIRECTION: Final = re.compile(rf"(?<=\s)(?:(?P<back>{_BACKWARD})|{_FORWARD})(?=\s)", re.IGNORECASE)
_CONCLUSION: Final = re.compile(
    r"(?<=\s)(?:which |and |this |that )?(?:causing|leading to|resulting in|triggering|is why|was why|explains why"
    r"|therefore|hence|so that)\b",
    re.IGNORECASE,
)
_ABSENCE: Final = re.compile(
    r"\b(?:not[ _]available|n/a|unknown reason|reason (?:is|was) (?:not |un)(?:known|given|recorded|stated|available)"
    r"|no (?:known |recorded |stated |given )?(?:reason|rationale|explanation)s?(?: (?:is|was|are|were))?(?: (?:given|recorded|stated|available|known))?"
    r"|(?:does|do|did) not (?:say|state|record|give|explain)(?: a reason| why)?)\b",
    re.IGNORECASE,
)
_MARGIN: Final = " \t,:\"'“”*`_#-•"
_MASK: Final = "\N{BLACK SQUARE}"
_ID_FIELDS: Final = ("failure_point", "restart_node", "node", "node_id", "root_cause", "decision_id")
_NOTHING: Final = frozenset({"", "none", "null", "unknown", "not available", "not_available", "n/a"})


def claims_in(answer: str | Mapping[str, Any], *, known: Iterable[str] = ()) -> Iterator[Claimed]:
    """Yield the claims of an answer: free text, a JSON object as text, or a mapping.

    A sentence of `known` that the answer quotes is one claim, whatever stops and conjunctions stand in it.
    """
    fields = _fields(answer)
    if fields is None:
        yield from _in_text(cast("str", answer), known)
        return
    place = answer if isinstance(answer, str) else None
    subject = " ".join(str(fields.get(name) or "") for name in _ID_FIELDS)
    for name in _ID_FIELDS:
        value = str(fields.get(name) or "").strip()
        if value.lower() not in _NOTHING:
            yield _at(place, name, Claimed(kind=ClaimKind.ID, text=value, start=0, end=len(value), name=name))
    reason = str(fields.get("reason") or "")
    if fields.get("reason_source") == "not_available" or reason.strip().lower() in _NOTHING:
        yield _at(
            place, "reason", Claimed(kind=ClaimKind.ABSENCE, text=reason, start=0, end=len(reason), name="reason")
        )
        return
    for claim in _in_text(reason, known, is_stated=True):
        yield _at(place, "reason", replace(claim, name="reason", subject=f"{claim.subject} {subject}"))


def reason_source(answer: str | Mapping[str, Any]) -> str | None:
    """Return where a JSON answer says that its reason comes from."""
    source = (_fields(answer) or {}).get("reason_source")
    return source if isinstance(source, str) else None


def _fields(answer: str | Mapping[str, Any]) -> Mapping[str, Any] | None:
    if isinstance(answer, Mapping):
        return answer
    try:
        parsed = json.loads(answer)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else None


def _at(place: str | None, name: str, claim: Claimed) -> Claimed:
    """Move a claim in the value of a field to its place in the JSON text that holds the field."""
    written = json.dumps(claim.text, ensure_ascii=False)[1:-1]
    key = -1 if place is None else place.find(f'"{name}"')
    start = -1 if place is None or key < 0 else place.find(written, key + len(name) + 2)
    return claim if start < 0 else replace(claim, start=start, end=start + len(written))


def _in_text(text: str, known: Iterable[str], *, is_stated: bool = False) -> Iterator[Claimed]:
    masked = text
    for quote in known:
        first, *_ = words = quote.split()
        if first in masked:  # a fact stands on one line; its quotation may not
            masked = re.sub(r"\s+".join(map(re.escape, words)), lambda found: _MASK * len(found[0]), masked)
    for sentence in _SENTENCE.finditer(masked):
        yield from _in_sentence(text, masked, sentence.span(), is_stated=is_stated)


def _in_sentence(text: str, masked: str, span: tuple[int, int], *, is_stated: bool) -> Iterator[Claimed]:
    """Yield the claims of one sentence; cues are looked for where the text is not masked."""
    start, end = span
    absence = _ABSENCE.search(masked, start, end)
    if absence:
        yield _claim(ClaimKind.ABSENCE, text, span, absence.span())
        return
    cues = [cue.span() for cue in _AFTER.finditer(masked, start, end)]
    stops = [begin for begin, _ in cues] + [end]
    direction = _DIRECTION.search(masked, start, stops[0])
    if direction and text[direction.end() : stops[0]].strip():
        sides = text[start : direction.start()].strip(), text[direction.end() : stops[0]].strip()
        cause, effect = sides[::-1] if direction["back"] else sides
        yield replace(_claim(ClaimKind.CAUSE, text, span, (start, stops[0])), cause=cause, effect=effect)
    for (_, begin), stop in zip(cues, stops[1:], strict=True):
        yield _claim(ClaimKind.REASON, text, span, (begin, stop))
    if cues or direction:
        return
    conclusion = _CONCLUSION.search(masked, start, end)
    if conclusion and text[start : conclusion.start()].strip():
        yield _claim(ClaimKind.REASON, text, span, (start, conclusion.start()))
    elif text[start:end].strip():
        yield replace(_claim(ClaimKind.REASON, text, span, span), is_stated=is_stated)


def _claim(kind: ClaimKind, text: str, sentence: tuple[int, int], span: tuple[int, int]) -> Claimed:
    """Return a claim without the blanks and commas around it."""
    start, end = span
    body = text[start:end].rstrip(_MARGIN)
    lead = len(body) - len(body.lstrip(_MARGIN))
    subject = text[slice(*sentence)]
    return Claimed(kind=kind, text=body[lead:], start=start + lead, end=start + len(body), subject=subject)
