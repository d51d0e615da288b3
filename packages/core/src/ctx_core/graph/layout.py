"""The layout of a text under a token budget: it takes the facts that fit, in the order offered, and joins them once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ctx_core.graph.text import Head

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from ctx_core.graph.plan import LineKey, Offer, Piece
    from ctx_core.graph.text import Part, Slot, Writer
    from ctx_core.graph.tiers import Tier
    from ctx_core.tokens import TokenCounter

# Under this many tokens a clipped text tells too little to be worth its line.
_LEAST_CLIP: Final = 24
# Stop after this many facts in a row that do not fit, as `select.fill` does.
_MISSES: Final = 48
# Hardly any text has more characters to a token; what is longer than its room at this rate need not be counted.
LONG_TOKEN: Final = 16


@dataclass(slots=True)
class _Line:
    opening: str
    parts: dict[Slot, str]


class _Taken(NamedTuple):
    line: LineKey
    slots: Sequence[Slot]
    cost: int


class Text(NamedTuple):
    """A text put together: the whole text, the text of each tier, and where each line stands in the whole."""

    whole: str
    tiers: Mapping[Tier, str]
    spans: Sequence[tuple[LineKey, int, int]]


class Layout:
    """Takes offers while they fit into `max_tokens`; None takes everything."""

    def __init__(self, writer: Writer, counter: TokenCounter, max_tokens: int | None) -> None:
        self.writer = writer
        self.counter = counter
        self.left = max_tokens
        self.lines: dict[LineKey, _Line] = {}
        # Where each node is named: the line, and the slot there for its alias.
        self.places: dict[str, tuple[LineKey, Slot]] = {}
        self._names: dict[tuple[LineKey, Slot], str] = {}
        self._tiers: Counter[Tier] = Counter()
        self._long: dict[tuple[Slot, str], Part] = {}
        self._taken: list[_Taken] = []
        self._missed: list[Offer] = []
        self._clipped: list[tuple[Piece, int]] = []

    def fill(self, offers: Iterable[Offer]) -> None:
        """Take every offer that fits, skipping those that do not."""
        misses = 0
        for offer in offers:
            if self._put(offer.build()):
                misses = 0
                continue
            self._missed.append(offer)
            misses = 0 if offer.otherwise and self._put(offer.otherwise()) else misses + 1
            if misses >= _MISSES:
                return

    def cost(self, pieces: Iterable[Piece]) -> int:
        """Return about how many tokens pieces take; nothing is put on the page."""
        return sum(self._cost(piece, "".join([text for _, text in self._missing(piece)])) for piece in pieces)

    def use_slack(self, tokens: int) -> bool:
        """Offer what was missed or clipped again, now that `tokens` are to spare; return True if any were used."""
        self.left = tokens
        missed, self._missed = self._missed, []
        self.fill(missed)
        clipped, self._clipped = self._clipped, []
        for piece, cost in clipped:
            self._erase(piece.line, [cast("tuple[Slot, str]", piece.long)[0]])
            self.left += cost
            self._put([piece._replace(share=1.0)])
        return self.left < tokens

    def reserve(self, tokens: int) -> bool:
        """Set tokens aside if there are as many, and return True if there were."""
        if self.left is None:
            return True
        if self.left < tokens:
            return False
        self.left -= tokens
        return True

    def give_back(self, tokens: int) -> bool:
        """Take the last facts off the page until about `tokens` are free again; return True if there were any."""
        freed = 0
        while self._taken and freed < tokens:
            taken = self._taken.pop()
            freed += taken.cost
            self._erase(taken.line, taken.slots)
        return freed > 0

    def slots(self) -> Iterator[tuple[LineKey, AbstractSet[Slot]]]:
        """Yield every line with the places that are filled on it."""
        return ((key, line.parts.keys()) for key, line in self.lines.items())

    def text(self, notice: str = "") -> Text:
        """Put the lines together, with a last line that says what is left out."""
        frame = self.writer.frame
        by_tier: dict[Tier, list[LineKey]] = {}
        for key in sorted(self.lines):
            by_tier.setdefault(key.tier, []).append(key)
        chunks, at = [frame.start], len(frame.start)
        spans: list[tuple[LineKey, int, int]] = []
        tiers: dict[Tier, str] = {}
        for tier, keys in by_tier.items():
            opening = (frame.between_tiers if tiers else "") + frame.tier_start[tier]
            lines = [self._line(key) for key in keys]
            body = frame.between_lines.join(lines)
            at += len(opening)
            for key, line in zip(keys, lines, strict=True):
                spans.append((key, at, at + len(line)))
                at += len(line) + len(frame.between_lines)
            at += len(frame.tier_end) - len(frame.between_lines)
            tiers[tier] = f"{frame.tier_start[tier]}{body}" if frame.has_headings else f"[{body}]"
            chunks += [opening, body, frame.tier_end]
        if notice:
            chunks += [frame.between_tiers if tiers else "", frame.notice.format(notice)]
        whole = "".join([*chunks, frame.end]) if tiers or notice else ""
        return Text(whole, tiers, spans)

    def _put(self, pieces: Sequence[Piece]) -> bool:
        """Put pieces on the page, all or none; those it holds already cost nothing."""
        wanted: list[tuple[Piece, Sequence[Part], int]] = []
        spent = 0
        for piece in pieces:
            parts = self._missing(piece)
            if parts and (piece.opening or piece.line in self.lines):
                fitted = self._fitted(piece, parts, spent)
                if fitted is None:
                    return False
                wanted.append((piece, *fitted))
                spent += fitted[1]
        for piece, parts, cost in wanted:
            self._write(piece, parts, cost)
        return True

    def _whole(self, piece: Piece) -> Sequence[Part]:
        if piece.long is None:
            return piece.parts
        if piece.long not in self._long:
            self._long[piece.long] = self.writer.part(*piece.long)
        return [*piece.parts, self._long[piece.long]]

    def _missing(self, piece: Piece) -> Sequence[Part]:
        line = self.lines.get(piece.line)
        parts = self._whole(piece)
        return parts if line is None else [part for part in parts if part[0] not in line.parts]

    def _fitted(self, piece: Piece, parts: Sequence[Part], spent: int) -> tuple[Sequence[Part], int] | None:
        """Return the parts to write and their cost, clipped if they may be; None if they do not fit."""
        if self.left is None:
            return parts, 0
        room = int((self.left - spent) * piece.share)
        text = "".join([text for _, text in parts])
        if len(text) <= room * LONG_TOKEN and (cost := self._cost(piece, text)) <= room:
            return parts, cost
        if piece.long is None or room < _LEAST_CLIP:
            return None
        clipped = self._clip(piece, parts, room)
        if clipped is not None:
            self._clipped.append((piece, self.counter.count(clipped[0][-1][1])))
        return clipped

    def _clip(self, piece: Piece, parts: Sequence[Part], room: int) -> tuple[Sequence[Part], int] | None:
        """Return as much of a long value as fits into `room`, with the count of the characters that do not."""
        slot, value = cast("tuple[Slot, str]", piece.long)
        others = [part for part in parts if part[0] is not slot]
        allowed = room - self.counter.count("".join([text for _, text in others]))
        while allowed >= _LEAST_CLIP // 2:
            head = self.counter.clip(value[: allowed * LONG_TOKEN], allowed)
            part = self.writer.part(slot, f"{head.rstrip()} … [{len(value) - len(head)} characters more]")
            cost = self._cost(piece, "".join([text for _, text in (*others, part)]))
            if cost <= room:
                return [*others, part], cost
            allowed -= max(1, cost - room)
        return None

    def _cost(self, piece: Piece, text: str) -> int:
        if piece.line in self.lines:
            return self.counter.count(text)
        tier = piece.line.tier
        heading = "" if self._tiers[tier] else f"{self.writer.frame.tier_start[tier]}{self.writer.frame.tier_end}"
        return self.counter.count(f"{heading}{piece.opening}{text}{self.writer.frame.line_end}") + 1

    def _write(self, piece: Piece, parts: Sequence[Part], cost: int) -> None:
        line = self.lines.get(piece.line)
        if line is None:
            line = self.lines[piece.line] = _Line(piece.opening, {})
            self._tiers[piece.line.tier] += 1
        line.parts.update(parts)
        for slot, node_id, alias_slot in piece.names:
            self.places[node_id] = piece.line, alias_slot
            self._names[piece.line, slot] = node_id
        if self.left is not None:
            self.left -= cost
            self._taken.append(_Taken(piece.line, [slot for slot, _ in parts], cost))

    def _erase(self, key: LineKey, slots: Iterable[Slot]) -> None:
        line = self.lines.get(key)
        if line is not None:
            for slot in slots:
                line.parts.pop(slot, None)
                node_id = self._names.pop((key, slot), None)
                if node_id is not None:
                    del self.places[node_id]
            if not line.parts:
                del self.lines[key]
                self._tiers[key.tier] -= 1

    def _line(self, key: LineKey) -> str:
        line = self.lines[key]
        parts = "".join([line.parts[slot] for slot in sorted(line.parts)])
        # A step whose ends did not fit is its number and its reason.
        if parts.startswith((": ", "; ")) and key.head is Head.STEP:
            parts = parts[1:]
        return f"{line.opening}{parts}{self.writer.frame.line_end}"
