"""Filling a layout so that it fits its budget exactly, and knows what it does not show."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Final

from ctx_core.graph.layout import LONG_TOKEN, Layout
from ctx_core.graph.model import RelationClass
from ctx_core.graph.plan import Plan
from ctx_core.graph.salience import reason
from ctx_core.graph.text import Head, Slot, Writer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctx_core.graph.layout import Text
    from ctx_core.graph.plan import Order
    from ctx_core.tokens import TokenCounter

# The shortest lines, `Aside [a] HAS -> [b]` and `- HAS -> b`; a budget under that many for each cannot hold everything.
_TOKENS_OF_AN_ASIDE: Final = 11
_TOKENS_OF_A_STEP: Final = 5
# How often what was missed is tried again: estimates err by a few tokens a line, and each pass leaves a fraction of them.
_PASSES: Final = 3
_REASONS: Final = frozenset({Slot.WHY, Slot.MOTIVATION})


class Filled:
    """A filled layout with the count of what it does not show."""

    def __init__(self, plan: Plan, layout: Layout) -> None:
        bundle = plan.bundle
        self.plan = plan
        self.layout = layout
        self.says_what_is_left_out = False
        self._total = Counter([relation.semantic_class for relation in bundle.relations])
        self._total.update(nodes=len(bundle.nodes), details=len(bundle.details))
        self._total.update(bundle.unread)

    def text(self) -> Text:
        """Put the page together."""
        return self.layout.text(in_words(self.omitted()) if self.says_what_is_left_out else "")

    def omitted(self) -> dict[str, int]:
        """Count the relations by class, the nodes and the details that no line shows."""
        hidden = self._total.copy()
        hidden["nodes"] -= len(self.layout.places)
        for line in self.layout.lines:
            match line.head:
                case Head.STEP | Head.ASIDE:
                    hidden[self.plan.relations[line.subject].semantic_class] -= 1
                case Head.DETAIL:
                    hidden["details"] -= 1
                case _:
                    pass
        return {str(name): hidden[name] for name in (*RelationClass, "nodes", "details") if hidden[name]}

    def told(self) -> frozenset[str]:
        """Return the relations on the page, less those whose reason did not fit."""
        shown = ((line.subject, slots) for line, slots in self.layout.slots() if line.head in (Head.STEP, Head.ASIDE))
        return frozenset(
            relation_id
            for relation_id, slots in shown
            if reason(self.plan.relations[relation_id]) is None or not _REASONS.isdisjoint(slots)
        )


def fill_budget(order: Order, max_tokens: int | None, counter: TokenCounter) -> tuple[Filled, Text]:
    """Write everything; if that is too much, write the most worthy of it, and say what is left out."""
    steps = len(order.path.relations)
    least = steps * _TOKENS_OF_A_STEP + (len(order.bundle.relations) - steps) * _TOKENS_OF_AN_ASIDE
    if max_tokens is None or least <= max_tokens:
        filled = _blank(order, None, counter)
        filled.layout.fill(chain(filled.plan.first(0), filled.plan.rest()))
        filled.says_what_is_left_out = bool(filled.omitted())
        text = filled.text()
        if max_tokens is None or _fits(text.whole, max_tokens, counter):
            return filled, text
    filled = _fill(order, max_tokens, counter)
    return filled, _fit(filled, max_tokens, counter)


def _fits(text: str, max_tokens: int, counter: TokenCounter) -> bool:
    return len(text) <= max_tokens * LONG_TOKEN and counter.count(text) <= max_tokens


def _fill(order: Order, max_tokens: int, counter: TokenCounter) -> Filled:
    filled = _blank(order, max_tokens, counter)
    filled.layout.fill(filled.plan.first(_notice_cost(filled, counter)))
    filled.says_what_is_left_out = filled.layout.reserve(_notice_cost(filled, counter))
    filled.layout.fill(filled.plan.rest())
    return filled


def _notice_cost(filled: Filled, counter: TokenCounter) -> int:
    return counter.count(filled.layout.writer.frame.notice.format(in_words(filled.omitted()))) + 1


def _blank(order: Order, max_tokens: int | None, counter: TokenCounter) -> Filled:
    writer = Writer(order.style)
    around = counter.count(f"{writer.frame.start}{writer.frame.end}")
    layout = Layout(writer, counter, None if max_tokens is None else max_tokens - around)
    return Filled(Plan(order, layout), layout)


def _fit(filled: Filled, max_tokens: int, counter: TokenCounter) -> Text:
    """Use what the estimates left over, and give back what they forgot, by exact counts."""
    text, spare = _spare(filled, max_tokens, counter)
    for _ in range(_PASSES):
        if spare <= 0 or not filled.layout.use_slack(spare):
            break
        text, spare = _spare(filled, max_tokens, counter)
    while spare < 0:
        if not filled.layout.give_back(-spare):
            filled.says_what_is_left_out = False
        text, spare = _spare(filled, max_tokens, counter)
    return text


def _spare(filled: Filled, max_tokens: int, counter: TokenCounter) -> tuple[Text, int]:
    text = filled.text()
    return text, max_tokens - counter.count(text.whole)


def in_words(omitted: Mapping[str, int]) -> str:
    """Say counts in words: `398 nodes, 401 relations (399 structural)`."""
    by_class = {name: omitted[name] for name in RelationClass if name in omitted}
    structural = by_class.get(RelationClass.STRUCTURAL)
    relations = f"{sum(by_class.values())} relations" + (f" ({structural} structural)" if structural else "")
    others = [f"{omitted[name]} {name}" for name in ("nodes", "details") if name in omitted]
    return ", ".join([*others, *([relations] if by_class else [])])
