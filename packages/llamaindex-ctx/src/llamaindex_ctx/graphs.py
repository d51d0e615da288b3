"""Property graphs as bundles of explained relations."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final

from llama_index.core.graph_stores.types import ChunkNode, LabelledNode, PropertyGraphStore
from llama_index.core.indices.property_graph.sub_retrievers.base import BasePGRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from ctx_core.errors import InvalidInput, NodeNotFound
from ctx_core.graph.model import Bundle, Node, Relation, RelationClass
from ctx_core.graph.render import render

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
_TITLE_LENGTH: Final = 80
_MOST_NODES: Final = 2_000


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
        max_nodes: The most nodes taken; nearer ones first.

    Raises:
        NodeNotFound: The store holds no such node.
        InvalidInput: A negative depth.
    """
    if depth < 0:
        raise InvalidInput(f"depth must not be negative, not {depth}")
    start = next((node for node in store.get(ids=[root]) if node.id == root), None)
    if start is None:
        raise NodeNotFound(root)
    nodes: dict[str, LabelledNode] = {root: start}
    relations: dict[str, LabelledRelation] = {}
    frontier = [root]
    for _ in range(depth):
        reached = _triplets(store, frontier)
        frontier = []
        for source, relation, target in reached:
            for node in (source, target):
                if node.id not in nodes and len(nodes) < max_nodes:
                    nodes[node.id] = node
                    frontier.append(node.id)
            if source.id in nodes and target.id in nodes:
                relations.setdefault(_identity(source.id, relation, target.id), relation)
        if not frontier:
            break
    return Bundle(
        root_node_id=root,
        nodes=[_node(node) for node in nodes.values()],
        relations=[_relation(identity, relation, classes or {}) for identity, relation in relations.items()],
    )


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
        """Return one node a root, with the graph around it as text."""
        found: list[NodeWithScore] = []
        for root in self._roots or self._mentioned(query_bundle.query_str):
            bundle = bundle_from_property_graph(self._graph_store, root, depth=self._depth, classes=self._classes)
            view = render(bundle, max_tokens=self._max_tokens)
            metadata = {"root_node_id": root, "content_hash": bundle.content_hash}
            node = TextNode(id_=f"ctx:{root}:{bundle.content_hash}", text=view.text, metadata=metadata)
            node.excluded_llm_metadata_keys = list(metadata)
            found.append(NodeWithScore(node=node, score=1.0))
        return found

    async def aretrieve_from_graph(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """Return what `retrieve_from_graph` returns, worked out in a thread."""
        return await asyncio.to_thread(self.retrieve_from_graph, query_bundle)

    def _mentioned(self, query: str) -> list[str]:
        words = [word.strip("\"'.,;:!?()[]") for word in query.split()]
        candidates = {" ".join(words[at : at + size]) for size in (1, 2, 3) for at in range(len(words) - size + 1)}
        return sorted(
            node.id for node in self._graph_store.get(ids=sorted(candidates)) if not isinstance(node, ChunkNode)
        )


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
    properties = {str(key): str(value) for key, value in node.properties.items()}
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


def _relation(identity: str, relation: LabelledRelation, classes: Mapping[str, RelationClass | str]) -> Relation:
    explained: dict[str, Any] = {
        name: str(value) for name in _EXPLANATION if (value := relation.properties.get(name)) not in (None, "")
    }
    sequence = relation.properties.get("sequence")
    source, target, *_ = json.loads(identity)
    return Relation(
        source_node_id=source,
        target_node_id=target,
        relation_type=relation.label,
        semantic_class=relation.properties.get("semantic_class")
        or classes.get(relation.label, RelationClass.STRUCTURAL),
        sequence=int(sequence) if sequence is not None else None,
        relation_id=identity,
        **explained,
    )
