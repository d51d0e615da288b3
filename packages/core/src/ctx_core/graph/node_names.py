"""Which nodes of a bundle a text names, by id or title."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctx_core.graph.model import Bundle

_WORD: Final = re.compile(r"\w+")
# Shorter titles are words like any other.
_LEAST_TITLE: Final = 3


class Mention(NamedTuple):
    """A node and where a text names it."""

    start: int
    end: int
    node_id: str


class NodeNames:
    """The names of a bundle's nodes, found in a text by their first words: the time grows with the text, not with the names."""

    def __init__(self, bundle: Bundle) -> None:
        names: dict[str, list[str]] = defaultdict(list)
        for node in bundle.nodes:
            names[node.node_id.lower()].append(node.node_id)
            title = node.title.lower().strip(" .!?")
            if len(title) >= _LEAST_TITLE and title != node.node_id.lower():
                names[title].append(node.node_id)
        self._ids = names
        self._by_word: dict[str, list[str]] = defaultdict(list)
        for name in names:
            first = _WORD.search(name)
            self._by_word[first[0] if first else ""].append(name)
        self._odd = self._by_word.pop("", [])

    def find(self, text: str) -> list[str]:
        """Return the ids of the nodes that a text names, in its order; a name inside a longer one does not count."""
        return list(dict.fromkeys(mention.node_id for mention in keep_outer(self.mentions(text))))

    def mentions(self, text: str) -> list[Mention]:
        """Return the first place of each name in a text."""
        lowered = text.lower()
        firsts: dict[str, int] = {}
        for word in _WORD.finditer(lowered):
            firsts.setdefault(word[0], word.start())
        found: list[Mention] = []
        for word, at in firsts.items():
            for name in self._by_word.get(word, ()):
                found += self._at(lowered, name, max(0, at - name.index(word)))
        for name in self._odd:
            found += self._at(lowered, name, 0)
        return sorted(found)

    def _at(self, lowered: str, name: str, near: int) -> Iterable[Mention]:
        start = lowered.find(name, near)
        if start < 0 or not _is_whole(lowered, start, start + len(name)):
            return []
        return [Mention(start, start + len(name), node_id) for node_id in self._ids[name]]


def keep_outer(mentions: Iterable[Mention]) -> list[Mention]:
    """Return mentions, in order, without those that lie inside longer ones."""
    outer: list[Mention] = []
    for mention in sorted(mentions, key=lambda m: (m.start, -m.end, m.node_id)):
        holder = outer[-1] if outer else None
        is_inside = holder is not None and mention.end <= holder.end and (mention.start, mention.end) != holder[:2]
        if not is_inside:
            outer.append(mention)
    return outer


def _is_whole(text: str, start: int, end: int) -> bool:
    """Return True if a span of text is not part of a longer word."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (before.isalnum() or before in ("-", "_")) and not (after.isalnum() or after in ("-", "_"))
