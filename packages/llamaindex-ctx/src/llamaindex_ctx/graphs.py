"""Property graphs as bundles of explained relations."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from llama_index.core.graph_stores.types import ChunkNode, LabelledNode, PropertyGraphStore
from llama_index.core.indices.property_graph.sub_retrievers.base import BasePGRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from ctx_core.errors import InvalidBundle, InvalidInput, NodeNotFound
from ctx_core.graph.model import Bundle, Node, Relation, RelationClass
from ctx_core.graph.render import render
from ctx_core.kernel.reading_order import is_explanatory
from ctx_core.telemetry import degraded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from llama_index.core.graph_stores.types import Relation as LabelledRelation

# Relation properties of these names are the explanation, and not left among the others.
_EXPLANATION: Final = (
    "rationale",
    "motivation",
    "method",
    "decision_id",
    "caused_by_node_id",
    "evidence",
    "confidence",
)
# These have to parse.
_CHECKED: Final = ("semantic_class", "sequence", "valid_from", "valid_until")
# What `Bundle.from_networkx` takes for a relation without a type, too.
_NO_LABEL: Final = "RELATES_TO"
_TITLE_LENGTH: Final = 80
_MOST_NODES: Final = 2_000
# Words of a name that a query may hold.
_LONGEST_NAME: Final = 4
_AROUND: Final = "\"'`.,;:!?()[]{}<>“”„‘’«»‹›"
_POSSESSIVE: Final = ("'s", "’s")


def bundle_from_property_graph(
    store: PropertyGraphStore,
    root: str,
    *,
    depth: int = 2,
    classes: Mapping[str, RelationClass | str] | None = None,
    max_nodes: int = _MOST_NODES,
) -> Bundle:
    """Return the neighborhood of a node of any `PropertyGraphStore` as a bundle; each relation once, parallel ones kept.

    Args:
        store: The graph.
        root: Id of the node to start at.
        depth: The most relations between the root and a node, in either direction, at least 0.
        classes: Semantic class by relation label, such as `{"CAUSES": "causal"}`. A relation property `semantic_class` goes before
            it; what has neither is structural. Properties named `rationale`, `method`, `evidence` and so on are the explanation.
        max_nodes: The most nodes taken: nearer ones first, and of those the ones that an explained relation leads to. What
            was seen and not taken is counted in the bundle's `unread`.

    What cannot be used, such as a `sequence` that is no number or an unknown class, is left out; the bundle's `warnings` say so.

    Raises:
        NodeNotFound: The store holds no such node.
        InvalidInput: A negative depth.
    """
    if depth < 0:
        raise InvalidInput(f"depth must not be negative, not {depth}")
    start = next((node for node in store.get(ids=[root]) if node.id == root), None)
    if start is None:
        raise NodeNotFound(root)
    reading = _Reading(root, start, classes or {}, max_nodes)
    frontier = [root]
    for _ in range(depth):
        frontier = reading.take(_triplets(store, frontier))
        if not frontier:
            break
    return reading.bundle()


class _Reading:
    """What was read of a property graph so far."""

    def __init__(
        self, root: str, start: LabelledNode, classes: Mapping[str, RelationClass | str], max_nodes: int
    ) -> None:
        self._root = root
        self._classes = classes
        self._max_nodes = max_nodes
        self._nodes: dict[str, Node] = {root: _node(start)}
        self._relations: dict[str, Relation] = {}
        self._outside: dict[str, Relation] = {}
        self._warnings: dict[str, None] = {}

    def take(self, triplets: Iterable[tuple[LabelledNode, LabelledRelation, LabelledNode]]) -> list[str]:
        """Take in relations and the nodes at their ends, explained ones first; return the ids of the new nodes."""
        read = [item for triplet in triplets if (item := self._readable(*triplet)) is not None]
        read.sort(key=lambda item: not is_explanatory(item[1]))
        reached: list[str] = []
        for source, relation, target in read:
            for node in (source, target):
                if node.id not in self._nodes and len(self._nodes) < self._max_nodes:
                    self._nodes[node.id] = _node(node)
                    reached.append(node.id)
            is_inside = source.id in self._nodes and target.id in self._nodes
            (self._relations if is_inside else self._outside).setdefault(relation.relation_id, relation)
        return reached

    def bundle(self) -> Bundle:
        """Return everything that was taken in."""
        left = [relation for relation in self._outside.values() if relation.relation_id not in self._relations]
        far = {end for relation in left for end in (relation.source_node_id, relation.target_node_id)}
        unread = Counter(str(relation.semantic_class) for relation in left)
        unread["nodes"] = len(far - self._nodes.keys())
        return Bundle(
            root_node_id=self._root,
            nodes=list(self._nodes.values()),
            relations=list(self._relations.values()),
            unread=unread,
            warnings=tuple(self._warnings),
        )

    def _readable(
        self, source: LabelledNode, relation: LabelledRelation, target: LabelledNode
    ) -> tuple[LabelledNode, Relation, LabelledNode] | None:
        way = f"{source.id!r} --{relation.label}--> {target.id!r}"
        if not source.id.strip() or not target.id.strip():
            self._warnings[f"relation {way} is left out: an end of it has a blank id"] = None
            return None
        built, dropped = _relation(_identity(source.id, relation, target.id), relation, self._classes)
        self._warnings.update(
            dict.fromkeys(f"relation {way}: {name} {value!r} cannot be used" for name, value in dropped.items())
        )
        return source, built, target


class ContextPGRetriever(BasePGRetriever):
    """A sub-retriever of `PropertyGraphIndex` that renders what surrounds the matching nodes, reasons first.

    ```python
    index.as_retriever(sub_retrievers=[ContextPGRetriever(store, roots=["checkout"], classes={"CAUSES": "causal"})])
    ```

    Args:
        graph_store: The graph.
        roots: Ids of the nodes to start at; by default, those whose id stands in the query.
        depth: See `bundle_from_property_graph`.
        classes: See `bundle_from_property_graph`.
        max_tokens: The most tokens of one root's text.
    """

    def __init__(
        self,
        graph_store: PropertyGraphStore,
        *,
        roots: Sequence[str] = (),
        depth: int = 2,
        classes: Mapping[str, RelationClass | str] | None = None,
        max_tokens: int = 512,
        **kwargs: Any,
    ) -> None:
        super().__init__(graph_store, include_text=False, **kwargs)
        self._roots = tuple(roots)
        self._depth = depth
        self._classes = dict(classes or {})
        self._max_tokens = max_tokens

    def retrieve_from_graph(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """Return one node a root, with the graph around it as text; a root that is not there is skipped, with a log entry."""
        found: list[NodeWithScore] = []
        for root in self._roots or self._mentioned(query_bundle.query_str):
            try:
                bundle = bundle_from_property_graph(self._graph_store, root, depth=self._depth, classes=self._classes)
            except (NodeNotFound, InvalidBundle, InvalidInput) as error:
                degraded(f"reading the graph around {root!r}", error)
                continue
            view = render(bundle, max_tokens=self._max_tokens)
            metadata: dict[str, Any] = {"root_node_id": root, "content_hash": bundle.content_hash}
            if bundle.warnings:
                metadata["warnings"] = list(bundle.warnings)
            node = TextNode(id_=f"ctx:{root}:{bundle.content_hash}", text=view.text, metadata=metadata)
            node.excluded_llm_metadata_keys = list(metadata)
            found.append(NodeWithScore(node=node, score=1.0))
        return found

    async def aretrieve_from_graph(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """Return what `retrieve_from_graph` returns, worked out in a thread."""
        return await asyncio.to_thread(self.retrieve_from_graph, query_bundle)

    def _mentioned(self, query: str) -> list[str]:
        """Return the nodes that the query names, whatever its case, possessives and quotes."""
        written = [word.strip(_AROUND) for word in query.split()]
        phrases = {
            # A name may end in a possessive itself.
            " ".join(words[at : at + size])
            for words in (written, [_bare(word) for word in written])
            for size in range(1, _LONGEST_NAME + 1)
            for at in range(len(words) - size + 1)
        }
        named = {phrase.casefold() for phrase in phrases if phrase}
        nodes = getattr(getattr(self._graph_store, "graph", None), "nodes", None)
        if isinstance(nodes, dict):
            found = [node for node in nodes.values() if _plain_name(node.id) in named]
        else:
            # A database looks ids up as they are written: the usual ways to write a name are asked for.
            spelled = {way for phrase in phrases if phrase for way in _spellings(phrase)}
            found = self._graph_store.get(ids=sorted(spelled))
        return sorted({node.id for node in found if not isinstance(node, ChunkNode) and node.id.strip()})


def _bare(word: str) -> str:
    """Return a word without a possessive ending."""
    return next((word[: -len(ending)] for ending in _POSSESSIVE if word.lower().endswith(ending)), word)


def _plain_name(name: str) -> str:
    return " ".join(word.strip(_AROUND) for word in name.split()).casefold()


def _spellings(phrase: str) -> set[str]:
    return {phrase, phrase.lower(), phrase.upper(), phrase.title(), phrase.capitalize()}


def _triplets(
    store: PropertyGraphStore, ids: Sequence[str]
) -> Iterable[tuple[LabelledNode, LabelledRelation, LabelledNode]]:
    """Return the relations that touch `ids`."""
    graph = getattr(store, "graph", None)
    nodes, relations = getattr(graph, "nodes", None), getattr(graph, "relations", None)
    if not isinstance(nodes, dict) or not isinstance(relations, dict):
        return store.get_triplets(ids=list(ids))
    # The in-memory store raises on relations whose node was deleted, so its graph is read directly.
    near = set(ids)
    return [
        (nodes[relation.source_id], relation, nodes[relation.target_id])
        for relation in relations.values()
        if near & {relation.source_id, relation.target_id}
        and relation.source_id in nodes
        and relation.target_id in nodes
    ]


def _identity(source: str, relation: LabelledRelation, target: str) -> str:
    """Tell parallel relations apart by their properties, and take one that was read twice for one."""
    return json.dumps([source, target, relation.label, relation.properties], sort_keys=True, default=str)


def _node(node: LabelledNode) -> Node:
    properties = {str(key): str(value) for key, value in node.properties.items() if value is not None}
    title, summary = (
        (node.text[:_TITLE_LENGTH], node.text)
        if isinstance(node, ChunkNode)
        else (str(getattr(node, "name", node.id)), "")
    )
    return Node(
        node_id=node.id,
        node_kind=node.label,
        title=title,
        summary=str(properties.pop("summary", summary)),
        status=str(properties.pop("status", "")),
        properties=properties,
    )


def _relation(
    identity: str, relation: LabelledRelation, classes: Mapping[str, RelationClass | str]
) -> tuple[Relation, dict[str, Any]]:
    """Return a relation, and those of its properties that cannot be used."""
    said = {name: value for name, value in relation.properties.items() if value not in (None, "")}
    explained: dict[str, Any] = {name: str(said[name]) for name in _EXPLANATION if name in said}
    explained |= {name: said[name] for name in _CHECKED if name in said}
    if "semantic_class" in explained:
        explained["semantic_class"] = str(explained["semantic_class"]).lower()
    if isinstance(step := explained.get("sequence"), float) and step.is_integer():
        explained["sequence"] = int(step)
    source, target, *_ = json.loads(identity)
    ends: dict[str, Any] = {
        "source_node_id": source,
        "target_node_id": target,
        "relation_type": relation.label if relation.label.strip() else _NO_LABEL,
        "relation_id": identity,
    }
    dropped = {name: explained.pop(name) for name in _CHECKED if not _is_usable({**ends, name: explained.get(name)})}
    if not _is_usable({**ends, **explained}):
        # Only the two ends of an interval can contradict each other. What is over must not look current.
        dropped["valid_from"] = explained.pop("valid_from", None)
    explained.setdefault("semantic_class", classes.get(relation.label, RelationClass.STRUCTURAL))
    return Relation(**{**ends, **explained}), {name: said.get(name) for name in dropped}


def _is_usable(values: Mapping[str, Any]) -> bool:
    try:
        Relation(**{name: value for name, value in values.items() if value is not None})
    except (AttributeError, TypeError, ValueError):
        return False
    return True
