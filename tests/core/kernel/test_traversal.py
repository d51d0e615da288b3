"""Walks find what is in reach, each relation once, and stay within their bounds."""

import itertools

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx_core import ContextKernel, Node, Relation
from ctx_core.kernel.ports import Direction
from ctx_core.kernel.traversal import Bounds, neighborhood, shortest_path

PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=25, unique=True)


def a_graph(pairs, nodes=10):
    kernel = ContextKernel.open()
    relations = [
        Relation(source_node_id=str(a), target_node_id=str(b), relation_type="TO", relation_id=f"{a}-{b}")
        for a, b in pairs
    ]
    kernel.update_context(root_node_id="0", changes=[*(Node(node_id=str(n)) for n in range(nodes)), *relations])
    return kernel


def as_networkx(pairs, direction):
    graph = nx.DiGraph() if direction is not Direction.BOTH else nx.Graph()
    graph.add_nodes_from(map(str, range(10)))
    graph.add_edges_from((str(a), str(b)) if direction is not Direction.IN else (str(b), str(a)) for a, b in pairs)
    return graph


@given(PAIRS, st.sampled_from(Direction), st.integers(1, 4))
def test_a_walk_finds_what_an_independent_library_finds(pairs, direction, depth):
    graph = a_graph(pairs).stores.graph
    found = neighborhood(graph, ["0"], bounds=Bounds(depth=depth), direction=direction)
    reach = nx.single_source_shortest_path_length(as_networkx(pairs, direction), "0", cutoff=depth)
    assert set(found.nodes) == set(reach)
    inside = {f"{a}-{b}" for a, b in pairs if str(a) in reach and str(b) in reach}
    assert sorted(relation.relation_id for relation in found.relations) == sorted(inside)


@given(PAIRS, st.sampled_from(Direction), st.integers(1, 9))
def test_a_path_is_as_short_as_an_independent_library_says(pairs, direction, target):
    path = shortest_path(a_graph(pairs).stores.graph, "0", str(target), bounds=Bounds(depth=25), direction=direction)
    other = as_networkx(pairs, direction)
    if not nx.has_path(other, "0", str(target)):
        assert path == ()
        return
    assert len(path) == nx.shortest_path_length(other, "0", str(target)) + 1
    assert all(other.has_edge(a, b) for a, b in itertools.pairwise(path))


def test_a_hub_is_read_to_its_bound_and_named():
    kernel = a_graph([(0, number) for number in range(1, 400)], nodes=400)
    view = kernel.get_context("0")
    assert len(view.bundle.relations) == 200
    assert (view.crowded, view.is_cut) == (("0",), True)
    assert view.unread == {"structural": 199}
    assert view.rendered.notice == "199 relations (199 structural)"
    assert len(kernel.get_context("0", max_relations=400).bundle.relations) == 399


def test_a_walk_that_reaches_too_much_is_cut_and_says_so():
    kernel = a_graph([(number, number + 1) for number in range(60)], nodes=61)
    view = kernel.get_context("0", depth=25, max_nodes=20)
    assert (len(view.bundle.nodes), view.is_cut) == (20, True)
    assert len(view.bundle.relations) == 19


@pytest.mark.parametrize(("asked", "reached"), [(0, 1), (1, 1), (10, 10), (25, 25), (99, 25)])
def test_depth_is_held_between_1_and_25(asked, reached):
    kernel = a_graph([(number, number + 1) for number in range(60)], nodes=61)
    assert len(kernel.get_context("0", depth=asked).bundle.nodes) == reached + 1


def test_a_path_shows_the_nodes_on_it_what_lies_below_and_nothing_beside():
    kernel = a_graph([(0, 1), (1, 2), (2, 3), (3, 4), (1, 9), (9, 8), (4, 0)])
    view = kernel.get_context_path("0", "2", subtree_depth=1)
    assert {node.node_id for node in view.bundle.nodes} == {"0", "1", "2", "3"}
    assert {relation.relation_id for relation in view.bundle.relations} == {"0-1", "1-2", "2-3"}
