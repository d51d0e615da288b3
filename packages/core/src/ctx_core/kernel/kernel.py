"""ContextKernel: commands in, contexts out."""

from __future__ import annotations

import asyncio
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from ctx_core.errors import InvalidInput, StoreError
from ctx_core.graph.model import Bundle
from ctx_core.graph.validity import parse_moment
from ctx_core.kernel.catch_up import CatchUp
from ctx_core.kernel.commands import DEFAULT_ROLE, MAX_CHANGES, UpdateContext
from ctx_core.kernel.erasure import Erasure, RewritableLog
from ctx_core.kernel.export import export_log, import_log
from ctx_core.kernel.ports import Direction, KernelStores
from ctx_core.kernel.projection import CONSUMER, Projection
from ctx_core.kernel.queries import MAX_DEPTH, Reader, Scope, Shape
from ctx_core.kernel.scopes import validate_scope
from ctx_core.kernel.traversal import Bounds
from ctx_core.kernel.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from datetime import datetime

    from ctx_core.graph.modes import RehydrationMode
    from ctx_core.graph.tiers import Tier
    from ctx_core.kernel.commands import Accepted, AnyChange
    from ctx_core.kernel.ports import (
        DetailStore,
        EventStore,
        GraphStore,
        ProgressStore,
        SnapshotStore,
    )
    from ctx_core.kernel.scopes import ScopeCheck
    from ctx_core.kernel.views import ContextView, NodeDetailView, SessionView, Snapshot


class ContextKernel:
    """Keeps a graph of explained relations as a log of commands, and renders parts of it for a prompt.

    `ContextKernel.open("sqlite:///context.db")` is the whole kernel in one file. At scale it is put together from
    servers: with `is_inline=False` it appends only, and `ctx project` workers bring events into the read model.

    Args:
        is_inline: Project each event right after it was appended, so that a read sees what was just written.
        consumer: Whose read model this is; the workers that fill it bear the same name.
    """

    def __init__(
        self,
        *,
        events: EventStore,
        graph: GraphStore,
        details: DetailStore,
        progress: ProgressStore,
        snapshots: SnapshotStore,
        is_inline: bool = True,
        consumer: str = CONSUMER,
    ) -> None:
        stores = KernelStores(events=events, graph=graph, details=details, progress=progress, snapshots=snapshots)
        self._stand_on(stores, is_inline=is_inline, consumer=consumer, url=None)

    @classmethod
    def over(
        cls, stores: KernelStores, *, is_inline: bool = True, consumer: str = CONSUMER, url: str | None = None
    ) -> ContextKernel:
        """Return a kernel over a set of stores that share transactions; `url` is where they were opened from."""
        kernel = cls.__new__(cls)
        kernel._stand_on(stores, is_inline=is_inline, consumer=consumer, url=url)  # noqa: SLF001 - another way to build this very class
        return kernel

    @classmethod
    def open(cls, url: str = "memory://") -> ContextKernel:
        """Open a kernel that keeps everything in one place: `sqlite:///context.db` or `memory://`."""
        # Stores stand above the kernel; the kernel knows their name and nothing else.
        stores = import_module("ctx_core.stores.open").open_kernel_stores(url)
        return cls.over(stores, url=url)

    def _stand_on(self, stores: KernelStores, *, is_inline: bool, consumer: str, url: str | None) -> None:
        self._stores = stores
        self._url = url
        self._projection = Projection(
            graph=stores.graph, details=stores.details, progress=stores.progress, consumer=consumer
        )
        catch_up = CatchUp(stores, self._projection, is_inline=is_inline)
        self._writer = Writer(stores=stores, projection=self._projection, catch_up=catch_up, is_inline=is_inline)
        self._reader = Reader(stores=stores, catch_up=catch_up, consumer=consumer)

    @property
    def stores(self) -> KernelStores:
        """What the kernel stands on."""
        return self._stores

    @property
    def projection(self) -> Projection:
        """What brings events into the read model."""
        return self._projection

    def update_context(self, command: UpdateContext | None = None, /, **fields: Any) -> Accepted:
        """Accept changes: pass an `UpdateContext`, or its fields.

        Raises:
            IdempotencyConflict: The key was accepted before with other changes.
            RevisionConflict: The aggregate is at another revision than expected.
            ContentHashConflict: The aggregate's last event has another hash than expected.
        """
        return self._writer.accept(_one_command(command, fields))

    def load(
        self,
        changes: Bundle | Iterable[AnyChange],
        *,
        root_node_id: str | None = None,
        role: str = DEFAULT_ROLE,
        idempotency_key: str | None = None,
        requested_by: str | None = None,
    ) -> tuple[Accepted, ...]:
        """Accept any number of changes, as many commands as it takes; a bundle stands for all of its parts.

        Args:
            changes: A bundle, or changes as `UpdateContext` takes them.
            root_node_id: Of the commands; the bundle's own when left out.
            role: Of the commands.
            idempotency_key: Each command gets a key made of this one and its number, so that a load that broke off can be
                sent again.
            requested_by: Of the commands.

        Example:
            ```python
            from ctx_core import Bundle, ContextKernel

            kernel = ContextKernel.open()
            kernel.load(Bundle.from_triples([("alarm", "CAUSED_BY", "door", "the switch stuck")]), idempotency_key="import")
            assert "the switch stuck" in kernel.get_context("alarm").text
            ```
        """
        if isinstance(changes, Bundle):
            root_node_id = root_node_id or changes.root_node_id
            changes = (*changes.nodes, *changes.relations, *changes.details)
        if root_node_id is None:
            raise InvalidInput("root_node_id is missing; only a bundle brings its own")
        return tuple(
            self.update_context(
                root_node_id=root_node_id,
                role=role,
                changes=page,
                idempotency_key=None if idempotency_key is None else f"{idempotency_key}/{number}",
                requested_by=requested_by,
            )
            for number, page in enumerate(_pages(changes, MAX_CHANGES), start=1)
        )

    def get_context(
        self,
        root_node_id: str,
        *,
        role: str = DEFAULT_ROLE,
        max_tokens: int | None = None,
        depth: int = 10,
        mode: RehydrationMode | str = "auto",
        max_tier: Tier | str | None = None,
        focus: str | None = None,
        direction: Direction | str = Direction.EXPLAINED,
        max_nodes: int = 2_000,
        max_relations: int = 200,
        as_of: datetime | str | None = None,
    ) -> ContextView:
        """Return what lies within `depth` relations of a root, rendered within `max_tokens`.

        Args:
            root_node_id: Where to start.
            role: Whose view it is.
            max_tokens: The most tokens of the text; None shows everything.
            depth: The most relations between the root and a node.
            mode: What the render is for.
            max_tier: The deepest tier to show.
            focus: The node that the path from the root should lead to.
            direction: `explained` follows relations outward, and those that explain something against their arrow too;
                `out`, `in` and `both` follow all relations alike.
            max_nodes: The most nodes; those that explained relations lead to come first.
            max_relations: The most relations of one node in one direction; explained ones come first.
            as_of: Only what held at this moment: a datetime, ISO 8601 text or `now`. None reads everything.

        Raises:
            NodeNotFound: There is no such root.
        """
        return self._reader.context(
            root_node_id,
            role=role,
            shape=Shape(max_tokens=max_tokens, mode=mode, max_tier=max_tier, focus=focus),
            scope=_scope(_depth(depth), max_nodes, max_relations, direction, as_of),
        )

    def get_context_path(
        self,
        root_node_id: str,
        target_node_id: str,
        *,
        role: str = DEFAULT_ROLE,
        max_tokens: int | None = None,
        mode: RehydrationMode | str = "auto",
        max_tier: Tier | str | None = None,
        subtree_depth: int = MAX_DEPTH,
        direction: Direction | str = Direction.OUT,
        max_nodes: int = 2_000,
        max_relations: int = 200,
        as_of: datetime | str | None = None,
    ) -> ContextView:
        """Return the shortest path from a root to a target and what lies beyond the target, rendered.

        With `direction="explained"` the path may lead against the arrows of relations that explain something; beyond the
        target they are then followed as the last step of the path is.
        Without a path it is the neighborhood of the target, and `fallback` says so. The other arguments are those of
        `get_context`.

        Raises:
            NodeNotFound: There is no such target.
        """
        return self._reader.context_path(
            root_node_id,
            target_node_id,
            role=role,
            shape=Shape(max_tokens=max_tokens, mode=mode, max_tier=max_tier),
            scope=_scope(_depth(subtree_depth, least=0), max_nodes, max_relations, direction, as_of),
        )

    def rehydrate_session(
        self,
        root_node_id: str,
        *,
        roles: Sequence[str],
        max_tokens: int | None = None,
        depth: int = 10,
        mode: RehydrationMode | str = "auto",
        max_tier: Tier | str | None = None,
        direction: Direction | str = Direction.EXPLAINED,
        max_nodes: int = 2_000,
        max_relations: int = 200,
        as_of: datetime | str | None = None,
        snapshot_ttl_seconds: float | None = None,
    ) -> SessionView:
        """Return the context of several roles over one read of the graph; arguments are those of `get_context`.

        With `snapshot_ttl_seconds` the session is kept for that long, and `get_snapshot` returns it.
        """
        if snapshot_ttl_seconds is not None and snapshot_ttl_seconds <= 0:
            raise InvalidInput(f"snapshot_ttl_seconds must be above 0, not {snapshot_ttl_seconds}")
        return self._reader.session(
            root_node_id,
            roles,
            shape=Shape(max_tokens=max_tokens, mode=mode, max_tier=max_tier),
            scope=_scope(_depth(depth), max_nodes, max_relations, direction, as_of),
            snapshot_ttl_seconds=snapshot_ttl_seconds,
        )

    def get_snapshot(self, snapshot_id: str) -> Snapshot | None:
        """Return a kept session, or None when there is none under this id any more."""
        return self._reader.snapshot(snapshot_id)

    def get_node_detail(self, node_id: str, *, as_of: datetime | str | None = None) -> NodeDetailView:
        """Return a node and its detail.

        Raises:
            NodeNotFound: There is no such node, or there was none at the moment `as_of`.
        """
        return self._reader.node_detail(node_id, as_of=None if as_of is None else parse_moment(as_of))

    def validate_scope(self, required: Iterable[str], provided: Iterable[str]) -> ScopeCheck:
        """Compare the scopes that are required with those that are provided; both must be the same set."""
        return validate_scope(required, provided)

    async def aupdate_context(self, command: UpdateContext | None = None, /, **fields: Any) -> Accepted:
        """As `update_context`, in a worker thread."""
        return await asyncio.to_thread(self.update_context, command, **fields)

    async def aget_context(self, root_node_id: str, **options: Any) -> ContextView:
        """As `get_context`, in a worker thread."""
        return await asyncio.to_thread(self.get_context, root_node_id, **options)

    async def aget_context_path(self, root_node_id: str, target_node_id: str, **options: Any) -> ContextView:
        """As `get_context_path`, in a worker thread."""
        return await asyncio.to_thread(self.get_context_path, root_node_id, target_node_id, **options)

    async def arehydrate_session(self, root_node_id: str, **options: Any) -> SessionView:
        """As `rehydrate_session`, in a worker thread."""
        return await asyncio.to_thread(self.rehydrate_session, root_node_id, **options)

    async def aget_snapshot(self, snapshot_id: str) -> Snapshot | None:
        """As `get_snapshot`, in a worker thread."""
        return await asyncio.to_thread(self.get_snapshot, snapshot_id)

    async def aget_node_detail(self, node_id: str, **options: Any) -> NodeDetailView:
        """As `get_node_detail`, in a worker thread."""
        return await asyncio.to_thread(self.get_node_detail, node_id, **options)

    def erase_nodes(
        self,
        node_ids: Collection[str],
        *,
        root_node_id: str,
        role: str = DEFAULT_ROLE,
        requested_by: str | None = None,
    ) -> tuple[Accepted, ...]:
        """Remove nodes, their details and all their relations from the read model and from the log.

        In the log every change of theirs becomes a deletion without content. Their ids stay, and so do the hashes of what
        was accepted. Kept sessions that show them run out by themselves; back-ups are yours to replace.

        Raises:
            StoreError: The log cannot be rewritten in place, as that of NATS and Redis; nothing was changed. Call
                `export_log(path, without=node_ids)` and import the file into an empty kernel.
        """
        events = self._stores.events
        if not isinstance(events, RewritableLog):
            raise StoreError(
                f"{type(events).__name__} cannot be rewritten in place: call export_log(path, without=node_ids), and"
                " import_log(path) into an empty kernel"
            )
        with self._stores.writing():
            erasure = Erasure.of_nodes(node_ids, events.read())
            accepted = self.load(erasure.changes(), root_node_id=root_node_id, role=role, requested_by=requested_by)
            events.rewrite(list(erasure.apply_to(events.read())))
        events.purge()
        return accepted

    def export_log(self, path: str | Path, *, without: Collection[str] = ()) -> int:
        """Write the whole log to a file of JSON lines, and return how many events it has.

        Of the nodes named by `without`, their details and relations the file holds deletions only.
        """
        part = Path(f"{path}.part")
        try:
            with part.open("w", encoding="utf-8", newline="\n") as file:
                count = export_log(self._stores.events, file, without=without)
            part.replace(path)
        finally:
            # What is left of an export that failed is of no use to anyone.
            part.unlink(missing_ok=True)
        return count

    def import_log(self, path: str | Path) -> int:
        """Fill an empty kernel from a file that `export_log` wrote, and return how many events came in."""
        with Path(path).open(encoding="utf-8") as file:
            return import_log(self._stores, self._projection, file)

    def close(self) -> None:
        """Let go of connections and files."""
        self._stores.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ContextKernel({self._url or type(self._stores.events).__name__!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # A file is opened again where the copy is; everything else travels as far as its stores do.
        if self._url is not None and not self._url.startswith("memory:"):
            return ContextKernel.open, (self._url,)
        return _revive, (self._stores, self._writer.is_inline, self._projection.consumer, self._url)


def _revive(stores: KernelStores, is_inline: bool, consumer: str, url: str | None) -> ContextKernel:
    return ContextKernel.over(stores, is_inline=is_inline, consumer=consumer, url=url)


def _pages(changes: Iterable[AnyChange], size: int) -> Iterator[list[AnyChange]]:
    rest = iter(changes)
    while page := list(islice(rest, size)):
        yield page


def _one_command(command: UpdateContext | None, fields: dict[str, Any]) -> UpdateContext:
    if command is None:
        try:
            return UpdateContext(**fields)
        except TypeError as error:
            raise InvalidInput(f"the command cannot be read: {error}") from None
    if fields:
        raise InvalidInput(f"pass an UpdateContext or its fields, not both; the fields are {', '.join(fields)}")
    if not isinstance(cast("Any", command), UpdateContext):
        raise InvalidInput(f"a command is an UpdateContext, not {type(command).__name__}")
    return command


def _depth(depth: int, *, least: int = 1) -> int:
    if not isinstance(cast("Any", depth), int) or depth < 0:
        raise InvalidInput(f"depth must be a whole number from {least}, not {depth!r}")
    return min(max(depth, least), MAX_DEPTH)


def _scope(
    depth: int, max_nodes: int, max_relations: int, direction: Direction | str, as_of: datetime | str | None
) -> Scope:
    for name, limit in (("max_nodes", max_nodes), ("max_relations", max_relations)):
        if not isinstance(cast("Any", limit), int) or limit < 1:
            raise InvalidInput(f"{name} must be a whole number from 1, not {limit!r}")
    return Scope(
        bounds=Bounds(depth=depth, max_nodes=max_nodes, max_relations=max_relations),
        direction=_direction(direction),
        as_of=None if as_of is None else parse_moment(as_of),
    )


def _direction(direction: Direction | str) -> Direction:
    try:
        return Direction(direction)
    except ValueError:
        raise InvalidInput(f"unknown direction {direction!r}; known are {', '.join(Direction)}") from None
