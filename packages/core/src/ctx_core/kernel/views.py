"""What queries answer with."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctx_core.graph.model import Bundle, Node, NodeDetail
    from ctx_core.graph.render import RenderedContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds that the parts of a read took."""

    graph_seconds: float = 0.0
    detail_seconds: float = 0.0
    render_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextView:
    """One context as text, and what it is made of.

    Args:
        revision: Of the aggregate, as far as the read model shows it; 0 when nothing was written under this root and
            role. It is what the next command expects.
        content_hash: Of that revision; None for revision 0.
        fallback: Why this is another context than the one asked for; None when it is the one.
        crowded: Nodes with more relations than a read follows; some of theirs are missing here.
        is_cut: More nodes or relations were in reach than a read takes.
        superseded: The id of the relation that took a relation's place when it ended, by the id of the one that ended.
        warnings: What could not be read as it was stored, and whether newer revisions may exist.
    """

    root_node_id: str
    role: str
    bundle: Bundle
    rendered: RenderedContext
    revision: int
    content_hash: str | None
    path: tuple[str, ...] = ()
    fallback: str | None = None
    crowded: tuple[str, ...] = ()
    is_cut: bool = False
    superseded: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    warnings: tuple[str, ...] = ()
    timing: Timing = field(default_factory=Timing, compare=False)
    served_at: datetime = field(default_factory=lambda: datetime.now(UTC), compare=False)

    @property
    def text(self) -> str:
        """The rendered text."""
        return self.rendered.text

    @property
    def unread(self) -> Mapping[str, int]:
        """How much in reach was not read: relations by class, and `nodes`."""
        return self.bundle.unread


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """The contexts of several roles over one read of the graph.

    Args:
        contexts: By role, in the order they were asked for.
        snapshot_id: Under which the session can be read back, if it was to be kept.
    """

    root_node_id: str
    contexts: Mapping[str, ContextView] = field(hash=False)
    snapshot_id: str | None = None
    timing: Timing = field(default_factory=Timing, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A session as it was kept: the graph once, and what each role saw of it."""

    snapshot_id: str
    root_node_id: str
    created_at: datetime
    bundle: Bundle
    revisions: Mapping[str, int] = field(hash=False)
    texts: Mapping[str, str] = field(hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDetailView:
    """A node and the long text that belongs to it, if any."""

    node: Node
    detail: NodeDetail | None = None
