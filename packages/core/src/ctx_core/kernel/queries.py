"""What can be read: a context, the path to one of its nodes, a session of several roles, a detail."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ctx_core.errors import InvalidInput, NodeNotFound
from ctx_core.graph.model import Bundle, copy_node
from ctx_core.graph.modes import Endpoint, RehydrationMode
from ctx_core.graph.render import render
from ctx_core.graph.validity import find_successors
from ctx_core.kernel.commands import Aggregate, canonical_hash, canonical_json, require_text
from ctx_core.kernel.kept_reads import KeptReads
from ctx_core.kernel.ports import Direction
from ctx_core.kernel.problems import collect_problems
from ctx_core.kernel.projection import CONSUMER
from ctx_core.kernel.traversal import Bounds, Neighborhood, neighborhood, shortest_path
from ctx_core.kernel.views import ContextView, NodeDetailView, SessionView, Snapshot, Timing
from ctx_core.telemetry import metric, span

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Hashable, Mapping, Sequence

    from ctx_core.graph.model import NodeDetail
    from ctx_core.graph.render import RenderedContext
    from ctx_core.graph.tiers import Tier
    from ctx_core.kernel.catch_up import CatchUp
    from ctx_core.kernel.ports import KernelStores, Watermark

MAX_DEPTH: Final = 25
_FALLBACK_DEPTH: Final = 10
# A step of an agent reads a context and a path or two; more would hold memory for what is not asked again.
_KEPT_READS: Final = 4
_PATH_BOUNDS: Final = Bounds(depth=MAX_DEPTH, max_nodes=20_000, max_relations=2_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How a context is to be rendered; the arguments of `graph.render`."""

    max_tokens: int | None = None
    mode: RehydrationMode | str = RehydrationMode.AUTO
    max_tier: Tier | str | None = None
    focus: str | None = None
    endpoint: Endpoint = Endpoint.NEIGHBORHOOD

    def render(self, bundle: Bundle) -> RenderedContext:
        """Return the text of a bundle in this shape."""
        return render(
            bundle,
            max_tokens=self.max_tokens,
            mode=self.mode,
            max_tier=self.max_tier,
            focus=self.focus,
            endpoint=self.endpoint,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which part of the graph is read.

    Args:
        as_of: Only what held at this moment; None reads everything, with its intervals.
    """

    bounds: Bounds = field(default_factory=Bounds)
    direction: Direction = Direction.EXPLAINED
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Answers every query from the read model."""

    stores: KernelStores
    catch_up: CatchUp
    consumer: str = CONSUMER
    kept: KeptReads[_Loaded] = field(default_factory=lambda: KeptReads(_KEPT_READS), repr=False, compare=False)

    def context(self, root_node_id: str, *, role: str, shape: Shape, scope: Scope) -> ContextView:
        """Return what lies around a root, rendered."""
        late = self._bring_up(root_node_id, role)
        with self.stores.reading():
            loaded = self._around(root_node_id, scope)
            mark = self._mark(root_node_id, role)
        return _record_figures("GetContext", loaded.view(role, mark, shape, late))

    def context_path(self, root: str, target: str, *, role: str, shape: Shape, scope: Scope) -> ContextView:
        """Return the shortest path from a root to a target and what lies below the target, rendered with it in focus."""
        require_text(target, "target_node_id")
        late = self._bring_up(root, role)
        with self.stores.reading():
            loaded = self._along(root, target, scope)
            mark = self._mark(root, role)
        shape = replace(shape, focus=shape.focus or target, endpoint=Endpoint.FOCUSED_PATH)
        return _record_figures("GetContextPath", loaded.view(role, mark, shape, late))

    def session(
        self,
        root_node_id: str,
        roles: Sequence[str],
        *,
        shape: Shape,
        scope: Scope,
        snapshot_ttl_seconds: float | None,
    ) -> SessionView:
        """Return the context of several roles over one read, and keep it if a time to live is given."""
        names = _roles(roles)
        late = self._bring_up(root_node_id, *names)
        with self.stores.reading():
            loaded = self._around(root_node_id, scope)
            marks = {role: self._mark(root_node_id, role) for role in names}
        shape = replace(shape, endpoint=Endpoint.SESSION)
        contexts = {role: loaded.view(role, mark, shape, late) for role, mark in marks.items()}
        snapshot_id = None
        if snapshot_ttl_seconds is not None:
            snapshot_id, document = _document(root_node_id, contexts)
            self.stores.snapshots.save(snapshot_id, document, ttl_seconds=snapshot_ttl_seconds)
        metric("rehydration.session.role_count", len(contexts))
        return SessionView(root_node_id=root_node_id, contexts=contexts, snapshot_id=snapshot_id, timing=loaded.timing)

    def snapshot(self, snapshot_id: str) -> Snapshot | None:
        """Return a kept session, or None when there is none under this id any more."""
        document = self.stores.snapshots.load(snapshot_id)
        if document is None:
            return None
        values: dict[str, Any] = json.loads(document)
        return Snapshot(
            snapshot_id=snapshot_id,
            root_node_id=values["root_node_id"],
            created_at=datetime.fromisoformat(values["created_at"]),
            bundle=Bundle.from_dict(values["bundle"]),
            revisions=values["revisions"],
            texts=values["texts"],
        )

    def node_detail(self, node_id: str, *, as_of: datetime | None = None) -> NodeDetailView:
        """Return a node and its detail; `NodeNotFound` when there is no such node."""
        require_text(node_id, "node_id")
        with self.stores.reading():
            node = self.stores.graph.nodes([node_id], as_of=as_of).get(node_id)
            if node is None:
                raise NodeNotFound(node_id)
            return NodeDetailView(node=node, detail=self.stores.details.details([node_id]).get(node_id))

    def _bring_up(self, root_node_id: str, *roles: str) -> tuple[str, ...]:
        require_text(root_node_id, "root_node_id")
        return self.catch_up.before_read([Aggregate(root_node_id, require_text(role, "role")) for role in roles])

    def _mark(self, root_node_id: str, role: str) -> Watermark:
        return self.stores.progress.watermark(self.consumer, Aggregate(root_node_id, role))

    def _around(self, root: str, scope: Scope) -> _Loaded:
        return self._keep((root, scope), partial(self._load_around, root, scope))

    def _along(self, root: str, target: str, scope: Scope) -> _Loaded:
        return self._keep((root, target, scope), partial(self._load_along, root, target, scope))

    def _keep(self, key: Hashable, load: Callable[[], _Loaded]) -> _Loaded:
        """Load what was not kept; what was kept took no time."""
        start = time.perf_counter()
        loaded = self.kept.get(self.stores.state(), key, load)
        seconds = time.perf_counter() - start
        return (
            loaded if seconds >= loaded.timing.graph_seconds else replace(loaded, timing=Timing(graph_seconds=seconds))
        )

    def _load_around(self, root: str, scope: Scope) -> _Loaded:
        watch = _Stopwatch()
        with collect_problems() as problems:
            with watch("graph_seconds"), span("rehydration.graph_load"):
                found = neighborhood(
                    self.stores.graph, [root], bounds=scope.bounds, direction=scope.direction, as_of=scope.as_of
                )
            if root not in found.nodes:
                raise NodeNotFound(root)
            with watch("detail_seconds"), span("rehydration.detail_load"):
                details = self.stores.details.details(list(found.nodes))
        return _Loaded(root=root, found=found, details=details, timing=watch.timing, warnings=tuple(problems))

    def _load_along(self, root: str, target: str, scope: Scope) -> _Loaded:
        graph, watch = self.stores.graph, _Stopwatch()
        with collect_problems() as problems:
            with watch("graph_seconds"), span("rehydration.graph_load"):
                path = shortest_path(
                    graph, root, target, bounds=_PATH_BOUNDS, direction=scope.direction, as_of=scope.as_of
                )
                if len(path) <= 1:
                    around = self._around(target, replace(scope, bounds=replace(scope.bounds, depth=_FALLBACK_DEPTH)))
                    return replace(around, fallback=_no_path(root, target))
                found = neighborhood(
                    graph,
                    [target],
                    bounds=scope.bounds,
                    direction=self._onward(path, scope),
                    beside=path[:-1],
                    as_of=scope.as_of,
                )
            with watch("detail_seconds"), span("rehydration.detail_load"):
                details = self.stores.details.details(list(path))
        return _Loaded(
            root=root, found=found, details=details, timing=watch.timing, path=path, warnings=tuple(problems)
        )

    def _onward(self, path: Sequence[str], scope: Scope) -> Direction:
        """Return the direction in which what lies beyond a path is read: that of the path's last step."""
        if scope.direction is not Direction.EXPLAINED:
            return scope.direction
        before, target = path[-2:]
        step = self.stores.graph.relations(
            [before], direction=Direction.OUT, limit=1, among=[target], as_of=scope.as_of
        )
        return Direction.OUT if step.relations else Direction.IN


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    """What was read, before it is rendered for a role."""

    root: str
    found: Neighborhood
    details: Mapping[str, NodeDetail]
    timing: Timing
    path: tuple[str, ...] = ()
    fallback: str | None = None
    warnings: tuple[str, ...] = ()

    def view(self, role: str, mark: Watermark, shape: Shape, late: tuple[str, ...]) -> ContextView:
        start = time.perf_counter()
        bundle = Bundle(
            root_node_id=self.root,
            # Copies: what a caller does to the properties of a node must not reach the next read.
            nodes=tuple(map(copy_node, self.found.nodes.values())),
            relations=self.found.relations,
            details=tuple(self.details.values()),
            revision=mark.revision,
            unread=self.found.unread,
        )
        with span("rehydration.render"):
            rendered = shape.render(bundle)
        return ContextView(
            root_node_id=self.root,
            role=role,
            bundle=bundle,
            rendered=rendered,
            revision=mark.revision,
            content_hash=mark.content_hash,
            path=self.path,
            fallback=self.fallback,
            crowded=self.found.crowded,
            is_cut=self.found.is_cut,
            superseded=find_successors(self.found.relations),
            warnings=(*late, *self.warnings),
            timing=replace(self.timing, render_seconds=time.perf_counter() - start),
        )


class _Stopwatch:
    """Collects the seconds of named parts into a `Timing`."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, part: str) -> Generator[None]:
        start = time.perf_counter()
        yield
        self._seconds[part] = time.perf_counter() - start

    @property
    def timing(self) -> Timing:
        return Timing(**self._seconds)


def _record_figures(rpc: str, view: ContextView) -> ContextView:
    """Record a read's figures, and return it."""
    timing, bundle = view.timing, view.bundle
    figures = {
        "rehydration.session.graph_load.duration": timing.graph_seconds,
        "rehydration.session.detail_load.duration": timing.detail_seconds,
        "rehydration.session.render.duration": timing.render_seconds,
        "rehydration.bundle.nodes": len(bundle.nodes),
        "rehydration.bundle.relationships": len(bundle.relations),
        "rehydration.bundle.details": len(bundle.details),
    }
    for name, value in figures.items():
        metric(name, value, rpc=rpc)
    return view


def _no_path(root: str, target: str) -> str:
    way = f"no path leads from {root!r} to {target!r} within {MAX_DEPTH} relations"
    return f"{'the target is the root' if root == target else way}; this is the neighborhood of {target!r}"


def _roles(roles: Sequence[str]) -> tuple[str, ...]:
    if isinstance(roles, str) or not roles:
        raise InvalidInput("roles must be a list of at least one role")
    return tuple(dict.fromkeys(require_text(role, "role") for role in roles))


def _document(root_node_id: str, contexts: Mapping[str, ContextView]) -> tuple[str, str]:
    """Return the id and the text under which a session is kept; equal sessions share both but for the time."""
    first = next(iter(contexts.values()))
    content = {
        "root_node_id": root_node_id,
        "bundle": first.bundle.to_dict(),
        "revisions": {role: view.revision for role, view in contexts.items()},
        "texts": {role: view.text for role, view in contexts.items()},
    }
    document = canonical_json({**content, "created_at": datetime.now(UTC).isoformat()})
    return f"snapshot-{canonical_hash(content)[:32]}", document
