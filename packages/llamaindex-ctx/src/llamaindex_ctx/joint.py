"""Nodes under one budget: who stays, what of its metadata is shown, and the note for those that do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from llama_index.core.schema import MetadataMode

from ctx_core.markers.notes import NOT_KEPT, as_in_chunk, hint, same_as_chunk
from ctx_core.optimize.compressors.relevance import hits, query_terms
from ctx_core.optimize.optimizer import MIN_BUDGET
from ctx_core.select.notes import omission_note
from llamaindex_ctx.nodes import replace_text, text_of, with_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import BaseNode, NodeWithScore

    from ctx_core.optimize.optimizer import CompressResult, ContextOptimizer

# Synthesizers join nodes by an empty line; a line end more or less is never more than this.
_SEPARATOR: Final = 2
# `[chunk 100]` and a line end.
_LABEL: Final = 6


@dataclass(frozen=True, slots=True)
class Fitted:
    """Nodes as they are sent, in their order, and the tokens that the compressed ones had and have."""

    nodes: list[BaseNode]
    results: list[CompressResult]


def count_sent(node: BaseNode, optimizer: ContextOptimizer) -> int:
    """Count what a synthesizer sends of a node: its text, and the metadata that the model gets to see."""
    return optimizer.counter.count(node.get_content(metadata_mode=MetadataMode.LLM) or "")


def count_frame(node: BaseNode, optimizer: ContextOptimizer) -> int:
    """Count what is sent of a node beside its text."""
    sent, text = node.get_content(metadata_mode=MetadataMode.LLM) or "", text_of(node)
    return optimizer.counter.count(sent.replace(text, "", 1)) if sent != text else 0


def show_less_metadata(node: BaseNode, most: int, optimizer: ContextOptimizer) -> BaseNode:
    """Return a node whose metadata takes at most `most` tokens of the prompt: the longest values are hidden from the model first.

    They stay in the node; `get_metadata_str` and callers find them as before.
    """
    hidden = list(node.excluded_llm_metadata_keys)
    shown = sorted((key for key in node.metadata if key not in hidden), key=lambda key: len(str(node.metadata[key])))
    while shown and count_frame(node, optimizer) > most:
        hidden.append(shown.pop())
        node = node.model_copy(update={"excluded_llm_metadata_keys": list(hidden)})
    return node


def fit(
    found: Sequence[NodeWithScore],
    max_tokens: int,
    *,
    optimizer: ContextOptimizer,
    query: str | None,
    max_tokens_per_node: int | None = None,
) -> Fitted:
    """Return the nodes so that all that is sent of them, joined, is within `max_tokens`.

    What there is no room for is emptied, the least relevant first, and one note in place of the first of those says how
    many there were and names their text.
    """
    share = max(MIN_BUDGET, max_tokens // (2 * len(found)))
    nodes = [show_less_metadata(one.node, share, optimizer) for one in found]
    order = _by_relevance(found, query)
    kept = _affordable(nodes, order, max_tokens, optimizer)
    spare = 0
    while True:
        chosen = sorted(order[:kept])
        fitted = _written(nodes, chosen, max_tokens - spare, optimizer=optimizer, query=query, each=max_tokens_per_node)
        over = count_joined(fitted.nodes, optimizer) - max_tokens
        if over <= 0 or not kept:
            return fitted
        if spare:
            kept, spare = kept - 1, 0
        else:
            spare = over


def _by_relevance(found: Sequence[NodeWithScore], query: str | None) -> list[int]:
    """Return positions, best first: each node by its places among the scores and among those that hold the query's words."""
    terms = query_terms(query)
    words = [hits(text_of(one.node), terms) for one in found]
    scores = [float("-inf") if one.score is None else one.score for one in found]
    by_words, by_score = sorted(set(words), reverse=True), sorted(set(scores), reverse=True)
    places = [
        1 / (1 + by_words.index(said)) + 1 / (1 + by_score.index(score))
        for said, score in zip(words, scores, strict=True)
    ]
    return sorted(range(len(found)), key=lambda at: -places[at])


def _affordable(nodes: Sequence[BaseNode], order: Sequence[int], max_tokens: int, optimizer: ContextOptimizer) -> int:
    """Return how many of the best nodes have room for their frame and the least text that says something."""
    least = [
        min(count_sent(nodes[at], optimizer), count_frame(nodes[at], optimizer) + MIN_BUDGET) + _SEPARATOR
        for at in order
    ]
    if sum(least) <= max_tokens:
        return len(order)
    room = max_tokens - MIN_BUDGET
    for kept, tokens in enumerate(least):
        room -= tokens
        if room < 0:
            return kept
    return len(order)


def _written(
    nodes: Sequence[BaseNode],
    chosen: Sequence[int],
    max_tokens: int,
    *,
    optimizer: ContextOptimizer,
    query: str | None,
    each: int | None,
) -> Fitted:
    """Return all nodes, the chosen ones shortened, the others emptied behind a note."""
    out = {at: nodes[at] for at in chosen}
    folded = [at for at in range(len(nodes)) if at not in out]
    out |= {at: _emptied(nodes[at], optimizer) for at in folded}
    spoken = [at for at in folded if nodes[at].get_content(metadata_mode=MetadataMode.LLM)]
    room = max_tokens - sum(count_frame(nodes[at], optimizer) + _SEPARATOR for at in chosen)
    if spoken:
        note = _note([text_of(nodes[at]) for at in spoken], optimizer)
        out[spoken[0]] = replace_text(out[spoken[0]], note)
        room -= optimizer.counter.count(note) + _SEPARATOR
    held = [at for at in chosen if text_of(nodes[at]).strip()]
    results = optimizer.optimize_many(
        [text_of(nodes[at]) for at in held], max_tokens=max(room, MIN_BUDGET), query=query
    )
    if each is not None:
        limits = [max(each - count_frame(nodes[at], optimizer) - _LABEL, MIN_BUDGET) for at in held]
        results = [
            result
            if result.compressed_tokens <= limit
            else optimizer.optimize(text_of(nodes[at]), max_tokens=limit, query=query)
            for at, limit, result in zip(held, limits, results, strict=True)
        ]
    texts = _numbered([result.compressed for result in results])
    for at, result, text in zip(held, results, texts, strict=True):
        node = with_result(nodes[at], result)
        out[at] = replace_text(node, text) if text != result.compressed else node
    return Fitted([out[at] for at in range(len(nodes))], results)


def _numbered(texts: list[str]) -> list[str]:
    """Give the chunks that a note of another names the number by which it names them."""
    together = "\n".join(texts)
    return [
        f"[chunk {number}]\n{text}" if same_as_chunk(number) in together or as_in_chunk(number) in together else text
        for number, text in enumerate(texts, 1)
    ]


def _note(texts: Sequence[str], optimizer: ContextOptimizer) -> str:
    ref = optimizer.keep("\n\n".join(texts))
    return f"{omission_note(len(texts), 'chunks')}\n{hint(ref) if ref else NOT_KEPT}"


def _emptied(node: BaseNode, optimizer: ContextOptimizer) -> BaseNode:
    """Return a node of which nothing is sent, with the reference of its text."""
    ref = optimizer.keep(text_of(node)) if text_of(node).strip() else None
    copy = replace_text(node, "", ref=ref)
    return copy.model_copy(update={"excluded_llm_metadata_keys": list(copy.metadata)})


def count_joined(nodes: Sequence[BaseNode], optimizer: ContextOptimizer) -> int:
    """Count what a synthesizer sends of all nodes, joined or one by one, whichever is more."""
    sent = [text for node in nodes if (text := node.get_content(metadata_mode=MetadataMode.LLM) or "").strip()]
    return max(optimizer.counter.count("\n\n".join(sent)), sum(optimizer.counter.count(text) for text in sent))
