"""The lines of a render: one fact a line, in three styles, with user text that cannot pass for structure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any, Final, cast

from ctx_core.graph.model import Provenance
from ctx_core.graph.tiers import Tier

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

    KIND = 0
    STATUS = 1
    TITLE = 2
    SUMMARY = 3
    TYPE = 4
    CLASS = 5
    WHY = 6
    VIA = 7
    MOTIVATION = 8
    EVIDENCE = 9
    CAUSED_BY = 10
    DECISION = 11
    CONFIDENCE = 12
    STEP = 13
    RANK = 14
    OCCURRED = 15
    OBSERVED = 16
    INGESTED = 17
    VALID_FROM = 18
    VALID_UNTIL = 19
    SOURCE = 20
    LABELS = 21
    PROPERTIES = 22
    TEXT = 23


class Head(IntEnum):
    """What a line is about; declared in the order in which such lines stand at the top of a render."""

    OBJECTIVE = 0
    STATUS = 1
    BLOCKER = 2
    NEXT = 3
    NODE = 4
    RELATION = 5
    DETAIL = 6


Part = tuple[Slot, str]

_PARTS: Final[Mapping[Slot, str]] = {
    Slot.KIND: " ({})",
    Slot.STATUS: " [{}]",
    Slot.TITLE: ": {}",
    Slot.SUMMARY: " — {}",
    Slot.TYPE: " {}",
    Slot.CLASS: " [{}]",
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
    Slot.VALID_UNTIL: "; valid until {}",
    Slot.SOURCE: "; said by {}",
    Slot.LABELS: "; labels {}",
    Slot.PROPERTIES: "; with {}",
    Slot.TEXT: ": {}",
}
_HEADS: Final[Mapping[Style, Mapping[Head, str]]] = {
    Style.LINES: {
        Head.OBJECTIVE: "Objective {0}",
        Head.STATUS: "Status",
        Head.BLOCKER: "Blocker ({0}>{1})",
        Head.NEXT: "Next ({0}>{1})",
        Head.NODE: "{0}",
        Head.RELATION: "{0}>{1}",
        Head.DETAIL: "Detail {0}",
    },
    Style.MARKDOWN: {
        Head.OBJECTIVE: "- Objective **{0}**",
        Head.STATUS: "- Status",
        Head.BLOCKER: "- Blocker ({0} → {1})",
        Head.NEXT: "- Next ({0} → {1})",
        Head.NODE: "- **{0}**",
        Head.RELATION: "- {0} → {1}",
        Head.DETAIL: "- Detail **{0}**",
    },
    Style.JSON: {
        Head.OBJECTIVE: '{{"objective":"{0}"',
        Head.STATUS: '{{"status_of":"{0}"',
        Head.BLOCKER: '{{"blocker":["{0}","{1}"]',
        Head.NEXT: '{{"next":["{0}","{1}"]',
        Head.NODE: '{{"node":"{0}"',
        Head.RELATION: '{{"from":"{0}","to":"{1}"',
        Head.DETAIL: '{{"detail_of":"{0}"',
    },
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
    alone: str = "{}"
    notice: str = "Left out: {}"

    def around(self, tiers: Iterable[Tier]) -> str:
        """Return all that stands around the lines when each of the tiers has some."""
        inner = self.between_tiers.join(f"{self.tier_start[tier]}{self.tier_end}" for tier in tiers)
        return f"{self.start}{inner}{self.end}".strip()


_FRAMES: Final[Mapping[Style, Frame]] = {
    Style.LINES: Frame(),
    Style.MARKDOWN: Frame(
        tier_start={Tier.L0: "## Summary\n", Tier.L1: "## Why\n", Tier.L2: "## Evidence\n"}, notice="- Left out: {}"
    ),
    Style.JSON: Frame(
        line_end="}",
        between_lines=",\n",
        tier_start={tier: f'"{tier}":[' for tier in Tier},
        tier_end="]",
        between_tiers=",\n",
        start="{",
        end="}",
        alone="[{}]",
        notice='"left_out":"{}"',
    ),
}

# Everything that str.splitlines takes for the end of a line, and the other control characters.
_BREAKS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+\s*")
_LINE_ENDS: Final = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_WORD_BREAKERS: Final = re.compile(r"[()\[\]:;>]+")
_MARKERS: Final = re.compile(
    ";(?= (?:{}) )".format("|".join(form[2:-3] for form in _PARTS.values() if form.startswith("; ")))
)
_INDENTS: Final = {Style.LINES: "\n  ", Style.MARKDOWN: "\n      "}
_SHORT_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,7}")
_LABELS: Final = frozenset({"objective", "status", "blocker", "next", "detail", "left"})


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
        if _SHORT_WORD.fullmatch(node_id) and node_id.lower() not in _LABELS:
            return node_id
        self._numbered += 1
        return str(self._numbered)


class Writer:
    """Writes heads and parts of lines in one style."""

    def __init__(self, style: Style) -> None:
        self.style = style
        self.aliases = Aliases()
        self.frame = _FRAMES[style]

    def head(self, head: Head, *node_ids: str) -> str:
        """Return the beginning of a line about one node, or about a relation's two ends."""
        return _HEADS[self.style][head].format(*map(self.aliases.of, node_ids))

    def part(self, slot: Slot, value: str) -> Part:
        """Return a part of a line with its value made safe."""
        if self.style is Style.JSON:
            return slot, f',"{slot.name.lower()}":{json.dumps(value, ensure_ascii=False)}'
        return slot, _PARTS[slot].format(self._safe(slot, value))

    def parts(self, values: Iterable[tuple[Slot, object]]) -> list[Part]:
        """Return a part for each value that is not empty."""
        texts = ((slot, _shown(value)) for slot, value in values)
        return [self.part(slot, text) for slot, text in texts if text and not text.isspace()]

    def about(self, node: Node, *, with_status: bool) -> list[Part]:
        """Return what a node is besides its title: kind, status, summary, then where it comes from."""
        return self.parts(
            [
                (Slot.KIND, node.node_kind),
                (Slot.STATUS, node.status if with_status else None),
                (Slot.SUMMARY, node.summary),
                (Slot.SOURCE, node.provenance),
                (Slot.LABELS, node.labels),
                (Slot.PROPERTIES, node.properties),
            ]
        )

    def nature(self, relation: Relation) -> list[Part]:
        """Return what a relation is: its type and class."""
        return self.parts([(Slot.TYPE, relation.relation_type), (Slot.CLASS, relation.semantic_class)])

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

    def links(self, relation: Relation) -> list[Part]:
        """Return how a relation hangs together with others, when it held, and who said so."""
        cause = relation.caused_by_node_id
        return self.parts(
            [
                (Slot.CAUSED_BY, self.aliases.by_id.get(cause, cause) if cause else None),
                (Slot.DECISION, relation.decision_id),
                (Slot.STEP, relation.sequence),
                (Slot.RANK, relation.rank),
                (Slot.OCCURRED, relation.occurred_at),
                (Slot.OBSERVED, relation.observed_at),
                (Slot.INGESTED, relation.ingested_at),
                (Slot.VALID_FROM, relation.valid_from),
                (Slot.VALID_UNTIL, relation.valid_until),
                (Slot.SOURCE, relation.provenance),
            ]
        )

    def _safe(self, slot: Slot, value: str) -> str:
        match slot:
            case Slot.TEXT:
                return _INDENTS[self.style].join(map(one_line, _LINE_ENDS.split(value.strip())))
            case Slot.TYPE | Slot.KIND | Slot.STATUS:
                words = _WORD_BREAKERS.sub(" ", one_line(value)).split()
                return ("_" if slot is Slot.TYPE else " ").join(words) or "?"
            case Slot.TITLE:
                return quoted(value).replace(" — ", " – ")
            case _:
                return quoted(value)


def one_line(text: str) -> str:
    """Return text on one line: line ends and control characters become one space."""
    return _BREAKS.sub(" ", text).strip()


def quoted(text: str) -> str:
    """Return text as it stands in a line: on one line, with no semicolon that would begin another part."""
    return _MARKERS.sub(",", one_line(text))


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Provenance):
        words = (value.source_kind, value.source_agent, _shown(value.observed_at))
        return " ".join(str(word) for word in words if word)
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in sorted(cast("dict[Any, Any]", value).items(), key=str))
    if isinstance(value, tuple):
        return ", ".join(map(str, cast("tuple[Any, ...]", value)))
    return str(value)
