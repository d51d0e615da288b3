"""How the facts of a render are written: one fact a line, in three styles, with user text that cannot pass for structure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any, Final, cast

from ctx_core.graph.model import Provenance
from ctx_core.graph.tiers import Tier
from ctx_core.markers import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ctx_core.graph.model import Node, Relation


class Style(StrEnum):
    """How a render is written."""

    LINES = "lines"
    MARKDOWN = "markdown"
    JSON = "json"


class Slot(IntEnum):
    """The places of a line for its parts, in the order in which they are read."""

    ALIAS = 0
    KIND = 1
    STATUS = 2
    UNTIL = 3
    TITLE = 4
    SUMMARY = 5
    FROM = 6
    FROM_KIND = 7
    FROM_STATUS = 8
    FROM_UNTIL = 9
    FROM_ALIAS = 10
    TYPE = 11
    CLASS = 12
    TO = 13
    TO_KIND = 14
    TO_STATUS = 15
    TO_UNTIL = 16
    TO_ALIAS = 17
    VALID_UNTIL = 18
    WHY = 19
    VIA = 20
    MOTIVATION = 21
    EVIDENCE = 22
    CAUSED_BY = 23
    DECISION = 24
    CONFIDENCE = 25
    STEP = 26
    RANK = 27
    OCCURRED = 28
    OBSERVED = 29
    INGESTED = 30
    VALID_FROM = 31
    SOURCE = 32
    LABELS = 33
    PROPERTIES = 34
    SINCE = 35
    FROM_SUMMARY = 36
    FROM_SOURCE = 37
    FROM_LABELS = 38
    FROM_PROPERTIES = 39
    FROM_SINCE = 40
    TO_SUMMARY = 41
    TO_SOURCE = 42
    TO_LABELS = 43
    TO_PROPERTIES = 44
    TO_SINCE = 45
    TEXT = 46


class Head(IntEnum):
    """What a line is about; declared in the order in which such lines stand at the top of a render."""

    OBJECTIVE = 0
    STATUS = 1
    BLOCKER = 2
    NEXT = 3
    STEP = 4
    ASIDE = 5
    NODE = 6
    DETAIL = 7


@dataclass(frozen=True, slots=True)
class NodeSlots:
    """The places for what a line says of one node: of its own, or of an end of a relation."""

    name: Slot
    kind: Slot
    status: Slot
    until: Slot
    alias: Slot
    summary: Slot
    source: Slot
    labels: Slot
    properties: Slot
    since: Slot


def _slots(prefix: str, name: Slot) -> NodeSlots:
    parts = ("kind", "status", "until", "alias", "summary", "source", "labels", "properties", "since")
    return NodeSlots(name, *(Slot[f"{prefix}{part}".upper()] for part in parts))


OWN: Final = _slots("", Slot.TITLE)
FROM: Final = _slots("from_", Slot.FROM)
TO: Final = _slots("to_", Slot.TO)

Part = tuple[Slot, str]

_PARTS: Final[Mapping[Slot, str]] = {
    Slot.ALIAS: " [{}]",
    Slot.KIND: " ({})",
    Slot.STATUS: " (is {})",
    Slot.UNTIL: " (until {})",
    Slot.TITLE: ": {}",
    Slot.SUMMARY: " — {}",
    Slot.FROM: " {}",
    Slot.FROM_KIND: " ({})",
    Slot.FROM_STATUS: " (is {})",
    Slot.FROM_UNTIL: " (until {})",
    Slot.FROM_ALIAS: " [{}]",
    Slot.TYPE: " {}",
    Slot.CLASS: " ({})",
    Slot.TO: " -> {}",
    Slot.TO_KIND: " ({})",
    Slot.TO_STATUS: " (is {})",
    Slot.TO_UNTIL: " (until {})",
    Slot.TO_ALIAS: " [{}]",
    Slot.VALID_UNTIL: " (valid until {})",
    Slot.WHY: ": {}",
    Slot.VIA: "; via {}",
    Slot.MOTIVATION: "; for {}",
    Slot.EVIDENCE: "; shown by {}",
    Slot.CAUSED_BY: "; caused by {}",
    Slot.DECISION: "; decision {}",
    Slot.CONFIDENCE: "; confidence {}",
    Slot.STEP: "; step {}",
    Slot.RANK: "; rank {}",
    Slot.OCCURRED: "; occurred {}",
    Slot.OBSERVED: "; observed {}",
    Slot.INGESTED: "; ingested {}",
    Slot.VALID_FROM: "; valid from {}",
    Slot.SOURCE: "; said by {}",
    Slot.LABELS: "; labels {}",
    Slot.PROPERTIES: "; with {}",
    Slot.SINCE: "; since {}",
    Slot.FROM_SUMMARY: "; first node: {}",
    Slot.FROM_SOURCE: "; first node said by {}",
    Slot.FROM_LABELS: "; first node labels {}",
    Slot.FROM_PROPERTIES: "; first node with {}",
    Slot.FROM_SINCE: "; first node since {}",
    Slot.TO_SUMMARY: "; second node: {}",
    Slot.TO_SOURCE: "; second node said by {}",
    Slot.TO_LABELS: "; second node labels {}",
    Slot.TO_PROPERTIES: "; second node with {}",
    Slot.TO_SINCE: "; second node since {}",
    Slot.TEXT: ": {}",
}


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around the lines of a style."""

    line_end: str = ""
    between_lines: str = "\n"
    tier_start: Mapping[Tier, str] = field(default_factory=lambda: dict.fromkeys(Tier, ""))
    tier_end: str = ""
    between_tiers: str = "\n"
    start: str = ""
    end: str = ""
    has_headings: bool = True
    notice: str = "Left out: {}"


# The headings say which tier is the answer to why and which is not: a reader takes what follows a reason for one too.
_HEADINGS: Final = {Tier.L0: "", Tier.L1: "Why:\n", Tier.L2: "Beside that, no part of the why:\n"}
_FRAMES: Final[Mapping[Style, Frame]] = {
    Style.LINES: Frame(tier_start=_HEADINGS),
    Style.MARKDOWN: Frame(
        tier_start={Tier.L0: "## Summary\n", Tier.L1: "## Why\n", Tier.L2: "## Beside that, no part of the why\n"},
        notice="- Left out: {}",
    ),
    Style.JSON: Frame(
        line_end="}",
        between_lines=",\n",
        tier_start={tier: f'"{tier}":[' for tier in Tier},
        tier_end="]",
        between_tiers=",\n",
        start="{",
        end="}",
        has_headings=False,
        notice='"left_out":"{}"',
    ),
}

# Everything that str.splitlines takes for the end of a line, and the other control characters.
_BREAKS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+\s*")
_LINE_ENDS: Final = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_WORD_BREAKERS: Final = re.compile(r"[()\[\]:;>]+")
_MARKERS: Final = re.compile(
    ";(?= (?:{})[: ])".format(
        "|".join(sorted({form[2:-3].removesuffix(":") for form in _PARTS.values() if form.startswith("; ")}))
    )
)
# What sets the parts of a line apart: a name that holds any of it stands in quotation marks.
_STRUCTURE: Final = re.compile(r"[:;()\[\]\"]|->| — ")
_INDENTS: Final = {Style.LINES: "\n  ", Style.MARKDOWN: "\n      "}
_SHORT_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,7}")
_NAMES: Final = frozenset({Slot.FROM, Slot.TO})
_WORDS: Final = frozenset({Slot.KIND, Slot.FROM_KIND, Slot.TO_KIND, Slot.STATUS, Slot.FROM_STATUS, Slot.TO_STATUS})


class Aliases:
    """Short names for node ids: the id itself where that is a short word, else a number in order of first use."""

    def __init__(self) -> None:
        self.by_id: dict[str, str] = {}
        self._numbered = 0

    def of(self, node_id: str) -> str:
        """Return the alias of a node, the same one every time."""
        if node_id not in self.by_id:
            self.by_id[node_id] = self._new(node_id)
        return self.by_id[node_id]

    def _new(self, node_id: str) -> str:
        if _SHORT_WORD.fullmatch(node_id):
            return node_id
        self._numbered += 1
        return str(self._numbered)


class Writer:
    """Writes openings and parts of lines in one style."""

    def __init__(self, style: Style) -> None:
        self.style = style
        self.aliases = Aliases()
        self.frame = _FRAMES[style]

    def opening(self, head: Head, label: str = "") -> str:
        """Return the beginning of a line; `label` is the number of a step, the kind of an aside, or the name of a node."""
        if self.style is Style.JSON:
            key, value = head.name.lower(), json.dumps(label or True, ensure_ascii=False)
            return f'{{"{key}":{value}'
        marker = "- " if self.style is Style.MARKDOWN and head is not Head.STEP else ""
        if head is Head.STEP:
            return f"{label}." if label else "-"
        if head is Head.DETAIL:
            return f"{marker}Detail {label}"
        return f"{marker}{label or head.name.capitalize()}"

    def reference(self, node_id: str) -> str:
        """Return how a line speaks of a node that an earlier line names."""
        return f"[{self.aliases.of(node_id)}]"

    def reference_part(self, slot: Slot, node_id: str) -> Part:
        """Return the end of a relation that an earlier line names."""
        text = self.reference(node_id)
        return slot, f',"{slot.name.lower()}":"{text}"' if self.style is Style.JSON else _PARTS[slot].format(text)

    def part(self, slot: Slot, value: str) -> Part:
        """Return a part of a line with its value made safe."""
        if self.style is Style.JSON:
            return slot, f',"{slot.name.lower()}":{json.dumps(escape(value), ensure_ascii=False)}'
        return slot, _PARTS[slot].format(self._safe(slot, value))

    def parts(self, values: Iterable[tuple[Slot, object]]) -> list[Part]:
        """Return a part for each value that is not empty."""
        texts = ((slot, show_value(value)) for slot, value in values)
        return [self.part(slot, text) for slot, text in texts if text and not text.isspace()]

    def about(self, node: Node, slots: NodeSlots, *, with_status: bool) -> list[Part]:
        """Return what a node is besides its name: kind, status, summary, then where it comes from."""
        return self.parts(
            [
                (slots.kind, node.node_kind),
                (slots.status, node.status if with_status else None),
                (slots.summary, node.summary),
                (slots.source, node.provenance),
                (slots.labels, node.labels),
                (slots.properties, node.properties),
                (slots.since, node.valid_from),
            ]
        )

    def statements(self, relation: Relation) -> list[Part]:
        """Return what else a relation states about its reason."""
        return self.parts(
            [
                (Slot.VIA, relation.method),
                (Slot.EVIDENCE, relation.evidence),
                (Slot.CONFIDENCE, relation.confidence),
                (Slot.MOTIVATION, relation.motivation if relation.rationale else None),
            ]
        )

    def links(self, relation: Relation, cause: str | None, *, with_step: bool) -> list[Part]:
        """Return how a relation hangs together with others, when it held, and who said so."""
        return self.parts(
            [
                (Slot.CAUSED_BY, cause),
                (Slot.DECISION, relation.decision_id),
                (Slot.STEP, relation.sequence if with_step else None),
                (Slot.RANK, relation.rank),
                (Slot.OCCURRED, relation.occurred_at),
                (Slot.OBSERVED, relation.observed_at),
                (Slot.INGESTED, relation.ingested_at),
                (Slot.VALID_FROM, relation.valid_from),
                (Slot.SOURCE, relation.provenance),
            ]
        )

    def _safe(self, slot: Slot, value: str) -> str:
        if slot is Slot.TEXT:
            return escape(_INDENTS[self.style].join(map(one_line, _LINE_ENDS.split(value.strip()))))
        if slot is Slot.TYPE or slot in _WORDS:
            words = _WORD_BREAKERS.sub(" ", _escape_inside(one_line(value))).split()
            return ("_" if slot is Slot.TYPE else " ").join(words) or "?"
        if slot in _NAMES:
            return inline_name(value)
        return quoted(value).replace(" — ", " – ") if slot is Slot.TITLE else quoted(value)


def one_line(text: str) -> str:
    """Return text on one line: line ends and control characters become one space."""
    return _BREAKS.sub(" ", text).strip()


def quoted(text: str) -> str:
    """Return text as it stands in a line: on one line, with no semicolon that would begin another part."""
    return _escape_inside(_MARKERS.sub(",", one_line(text)))


def inline_name(text: str) -> str:
    """Return a name as it stands amid a line: in quotation marks where it holds what sets parts of a line apart."""
    name = _escape_inside(one_line(text))
    return '"{}"'.format(name.replace('"', "'")) if _STRUCTURE.search(name) or not name else name


def _escape_inside(text: str) -> str:
    """Return a text that never begins a line, with all markers escaped; most texts hold nothing that could be one."""
    return text if text.isascii() and "<" not in text and "[" not in text else escape(text)


def show_value(value: object) -> str:
    """Return a value of a fact as text; empty for none."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Provenance):
        words = (value.source_kind, value.source_agent, show_value(value.observed_at))
        return " ".join(str(word) for word in words if word)
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in sorted(cast("dict[Any, Any]", value).items(), key=str))
    if isinstance(value, tuple):
        return ", ".join(map(str, cast("tuple[Any, ...]", value)))
    return str(value)
