"""The compressor of source code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ctx_core.optimize.compressors.aim import aim
from ctx_core.optimize.compressors.base import Compressed, Omission
from ctx_core.optimize.compressors.code.grammars import grammar_for, source_of
from ctx_core.optimize.compressors.code.layout import read_layout
from ctx_core.optimize.compressors.code.syntax import read_outline
from ctx_core.optimize.compressors.relevance import hits, query_terms
from ctx_core.optimize.rules.code import without_numbers
from ctx_core.tokens import estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ctx_core.optimize.compressors.base import Budget
    from ctx_core.optimize.compressors.code.grammars import Grammar
    from ctx_core.optimize.compressors.code.outline import Outline

_RESERVED_TOKENS: Final = 8
# Code that was cut may be a single statement to the parser, which is shown or not; below this share of a budget, go by its lines.
_POOR: Final = 0.5
# An outline is made of rows; in longer ones, which no person wrote, a parser may take seconds to recover from an error.
_MAX_ROW_CHARS: Final = 20_000
_MAX_DEPTH: Final = 32
_TROUBLE: Final = re.compile(
    r"\b(?:TODO|FIXME|XXX|HACK|raise|throw|panic!?|unreachable!|abort|die)\b|os\.Exit|sys\.exit|log\.Fatal"
)
_IMPORT: Final = re.compile(r"\s*(?:import|from|use|using|require|#include|package|extern crate|source)\b")
_DECLARATION: Final = re.compile(
    r"\b(?:def|class|func|fn|function|interface|struct|enum|trait|impl|type|module|namespace|macro_rules!|const|void|public)\b|\)\s*\{"
)
_PRIVATE: Final = re.compile(
    r"\s*(?:(?:async\s+)?(?:def|class)\s+_(?!_)|private\b|static\s+(?!async|create)\w+\s+\w+\s*\(|fn\b|func\s+(?:\([^)]*\)\s*)?[a-z])"
)


class CodeCompressor:
    """Keeps imports, signatures, types, decorators, constants and the first line of docs; counts what bodies it leaves out.

    Args:
        language: A language's name or file suffix. Without one, or without its grammar, the layout of the lines decides.
    """

    def __init__(self, language: str | None = None) -> None:
        self.language = language

    def compress(self, text: str, budget: Budget, *, query: str | None = None) -> Compressed:
        """Return the outline of the code, with the bodies that matter as far as the budget has room; it parses if `text` did.

        Bodies that the query names stay at the natural level too.
        """
        if budget.max_tokens is not None and budget.fits(text):
            return Compressed(text=text)
        grammar = grammar_for(self.language, text)
        outline, parsed = _outlined(text, grammar)
        terms = query_terms(query)
        if budget.max_tokens is not None:
            fitted = _fitted(outline, budget, terms)
            if not parsed and estimate(fitted.text) < _POOR * budget.max_tokens:
                fitted = _fitted(read_layout(outline.rows), budget, terms)
            return fitted
        shown = _shown(outline, outline.hidden(_named(outline, terms)))
        if estimate(shown.text) >= estimate(text) or (parsed and grammar is not None and grammar.fails(shown.text)):
            return Compressed(text=text)
        return shown


def _outlined(text: str, grammar: Grammar | None) -> tuple[Outline, bool]:
    """Read the outline; also say whether the text parsed without an error. Line numbers of a viewer are read past, and shown."""
    rows = text.split("\n")
    bare = [*without_numbers(rows)]
    if grammar is None or max(map(len, rows)) > _MAX_ROW_CHARS:
        outline, parsed = read_layout(bare), False
    else:
        source = source_of("\n".join(bare))
        root = grammar.parse(source).root_node
        outline, parsed = read_outline(source, bare, grammar, root), bare == rows and not root.has_error
    outline.rows = rows
    return outline, parsed


def _shown(outline: Outline, dropped: bytearray) -> Compressed:
    text, count = outline.text(dropped)
    return Compressed(text=text, omissions=(Omission(what="lines", count=count),) if count else ())


def _named(outline: Outline, terms: tuple[str, ...]) -> set[int]:
    """Return the functions whose bodies hold at least half of the query's words."""
    if not terms:
        return set()
    return {number for number, body in outline.bodies().items() if 2 * hits(body, terms) >= len(terms)}


def _fitted(outline: Outline, budget: Budget, terms: tuple[str, ...]) -> Compressed:
    """Add bodies to the outline while there is room: what the query names, then open work and failures, then short ones."""
    bare = _shown(outline, outline.hidden(set()))
    if not budget.fits(bare.text):
        return _picked(outline, budget, terms)
    bodies = outline.bodies()
    costs = {number: estimate(body) for number, body in bodies.items()}
    order = sorted(
        bodies, key=lambda number: (-hits(bodies[number], terms), not _TROUBLE.search(bodies[number]), costs[number])
    )

    def draw(room: int) -> Compressed:
        return _shown(outline, outline.hidden(set(_greedy(order, costs, room))))

    return aim(draw, budget, reserve=budget.counter.count(bare.text)) or bare


def _picked(outline: Outline, budget: Budget, terms: tuple[str, ...]) -> Compressed:
    """Keep only some declarations: what the query names, then what fails or is left open, then public ones from the outside in."""
    hidden = outline.hidden(set())
    heads = [outline.head(unit, hidden) for unit in outline.units]
    costs = [estimate(head) + 1 for head in heads]
    order = sorted(range(len(heads)), key=lambda number: (*_rank(heads[number], terms), outline.depth(number)))

    def draw(room: int) -> Compressed:
        return _shown(outline, outline.only(_with_parents(outline, order, costs, room), hidden))

    return aim(draw, budget, reserve=_RESERVED_TOKENS) or draw(0)


def _rank(head: str, terms: tuple[str, ...]) -> tuple[int, int]:
    if _IMPORT.match(head):
        return 0, 3
    if not _DECLARATION.search(head):
        return -hits(head, terms), 4
    return -hits(head, terms), 1 if _TROUBLE.search(head) else 2 + (_PRIVATE.match(head) is not None)


def _greedy(order: Iterable[int], costs: Mapping[int, int], room: int) -> Iterator[int]:
    for number in order:
        if costs[number] <= room:
            room -= costs[number]
            yield number


def _with_parents(outline: Outline, order: Iterable[int], costs: Sequence[int], room: int) -> set[int]:
    """Take units while they fit, each with what it stands in."""
    taken: set[int] = set()
    for number in order:
        chain: list[int] = []
        up: int | None = number
        while up is not None and up not in taken and len(chain) < _MAX_DEPTH:
            chain.append(up)
            up = outline.units[up].parent
        cost = sum(costs[each] for each in chain)
        if cost <= room:
            room -= cost
            taken.update(chain)
    return taken
