"""Filling a page so that it fits its budget exactly, and knows what it does not show."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Final

from ctx_core.graph.model import RelationClass
from ctx_core.graph.page import LONG_TOKEN, Page
from ctx_core.graph.plan import Plan
from ctx_core.graph.salience import reason
from ctx_core.graph.text import Head, Slot, Writer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctx_core.graph.page import Text
    from ctx_core.graph.plan import Order
    from ctx_core.tokens import TokenCounter

# A line about a bare relation, `1>2 HAS [structural]`; a budget under that many for each cannot hold everything.
_TOKENS_OF_A_LINE: Final = 8
_REASONS: Final = frozenset({Slot.WHY, Slot.MOTIVATION})


class Draft:
    """A page with the count of what it does not show."""

    def __init__(self, plan: Plan, page: Page) -> None:
        bundle = plan.bundle
        self.plan = plan
        self.page = page
        self.says_what_is_left_out = False
        self._total = Counter([relation.semantic_class for relation in bundle.relations])
        self._total.update(nodes=len(bundle.nodes), details=len(bundle.details))
        self._total.update(bundle.unread)

    def text(self) -> Text:
        """Put the page together."""
        return self.page.text(in_words(self.omitted()) if self.says_what_is_left_out else "")

    def omitted(self) -> dict[str, int]:
        """Count the relations by class, the nodes and the details that no line shows."""
        hidden = self._total.copy()
        for line in self.page.lines:
            match line.head:
                case Head.RELATION:
                    hidden[self.plan.relations[line.subject].semantic_class] -= 1
                case Head.NODE | Head.OBJECTIVE:
                    hidden["nodes"] -= 1
                case Head.DETAIL:
                    hidden["details"] -= 1
                case _:
                    pass
        return {str(name): hidden[name] for name in (*RelationClass, "nodes", "details") if hidden[name]}

    def told(self) -> frozenset[str]:
        """Return the relations on the page, less those whose reason did not fit."""
        shown = ((line.subject, slots) for line, slots in self.page.slots() if line.head is Head.RELATION)
        return frozenset(
            relation_id
            for relation_id, slots in shown
            if reason(self.plan.relations[relation_id]) is None or not _REASONS.isdisjoint(slots)
        )


def fitting_draft(order: Order, max_tokens: int | None, counter: TokenCounter) -> tuple[Draft, Text]:
    """Write everything; if that is too much, fill a page with the most worthy, and say what is left out."""
    if max_tokens is None or len(order.bundle.relations) * _TOKENS_OF_A_LINE <= max_tokens:
        draft = _blank(order, None, counter)
        draft.page.fill(chain(draft.plan.first(), draft.plan.rest()))
        draft.says_what_is_left_out = bool(draft.omitted())
        text = draft.text()
        if max_tokens is None or _fits(text.whole, max_tokens, counter):
            return draft, text
    draft = _filled(order, max_tokens, counter)
    return draft, _fit(draft, max_tokens, counter)


def _fits(text: str, max_tokens: int, counter: TokenCounter) -> bool:
    return len(text) <= max_tokens * LONG_TOKEN and counter.count(text) <= max_tokens


def _filled(order: Order, max_tokens: int, counter: TokenCounter) -> Draft:
    draft = _blank(order, max_tokens, counter)
    draft.page.fill(draft.plan.first())
    notice = draft.page.writer.frame.notice.format(in_words(draft.omitted()))
    draft.says_what_is_left_out = draft.page.reserve(counter.count(notice) + 1)
    draft.page.fill(draft.plan.rest())
    return draft


def _blank(order: Order, max_tokens: int | None, counter: TokenCounter) -> Draft:
    writer = Writer(order.style)
    frame = counter.count(writer.frame.around(order.tiers))
    page = Page(writer, counter, None if max_tokens is None else max_tokens - frame)
    return Draft(Plan(order, writer), page)


def _fit(draft: Draft, max_tokens: int, counter: TokenCounter) -> Text:
    """Use what the estimates left over, and give back what they forgot, by exact counts."""
    text, spare = _spare(draft, max_tokens, counter)
    is_used = True
    while spare > 0 and is_used:
        is_used = draft.page.use_slack(spare)
        text, spare = _spare(draft, max_tokens, counter)
    while spare < 0:
        if not draft.page.give_back(-spare):
            draft.says_what_is_left_out = False
        text, spare = _spare(draft, max_tokens, counter)
    return text


def _spare(draft: Draft, max_tokens: int, counter: TokenCounter) -> tuple[Text, int]:
    text = draft.text()
    return text, max_tokens - counter.count(text.whole)


def in_words(omitted: Mapping[str, int]) -> str:
    """Say counts in words: `398 nodes, 401 relations (399 structural)`."""
    by_class = {name: omitted[name] for name in RelationClass if name in omitted}
    structural = by_class.get(RelationClass.STRUCTURAL)
    relations = f"{sum(by_class.values())} relations" + (f" ({structural} structural)" if structural else "")
    others = [f"{omitted[name]} {name}" for name in ("nodes", "details") if name in omitted]
    return ", ".join([*others, *([relations] if by_class else [])])
