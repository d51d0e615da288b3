"""ctx: a context engine for LLM applications.

Names load on first use, so importing the package costs next to nothing and brings in no optional dependency.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctx_core.lazy import exports

if TYPE_CHECKING:
    from ctx_core.engine.engine import ContextEngine as ContextEngine
    from ctx_core.engine.report import Prepared as Prepared
    from ctx_core.errors import CtxError as CtxError
    from ctx_core.graph.audit import audit as audit
    from ctx_core.graph.model import Bundle as Bundle
    from ctx_core.graph.model import Node as Node
    from ctx_core.graph.model import NodeDetail as NodeDetail
    from ctx_core.graph.model import Relation as Relation
    from ctx_core.graph.model import RelationClass as RelationClass
    from ctx_core.graph.modes import RehydrationMode as RehydrationMode
    from ctx_core.graph.render import render as render
    from ctx_core.graph.tiers import Tier as Tier
    from ctx_core.kernel.commands import UpdateContext as UpdateContext
    from ctx_core.kernel.kernel import ContextKernel as ContextKernel
    from ctx_core.messages import Message as Message
    from ctx_core.messages import ToolCall as ToolCall
    from ctx_core.optimize.align import CacheAligner as CacheAligner
    from ctx_core.optimize.content import ContentType as ContentType
    from ctx_core.optimize.content import Detection as Detection
    from ctx_core.optimize.optimizer import CompressResult as CompressResult
    from ctx_core.optimize.optimizer import ContextOptimizer as ContextOptimizer
    from ctx_core.optimize.router import ContentRouter as ContentRouter
    from ctx_core.rehydrate.archive import Archive as Archive
    from ctx_core.rehydrate.archive import ScoredTurn as ScoredTurn
    from ctx_core.rehydrate.archive import Turn as Turn
    from ctx_core.rehydrate.evict import Evictor as Evictor
    from ctx_core.rehydrate.rehydrator import Rehydrator as Rehydrator
    from ctx_core.rehydrate.rehydrator import RehydratorConfig as RehydratorConfig
    from ctx_core.rehydrate.triggers import TriggerDetector as TriggerDetector
    from ctx_core.settings import CtxSettings as CtxSettings
    from ctx_core.stores.memory.ccr import MemoryCcrStore as MemoryCcrStore
    from ctx_core.tokens import TokenCounter as TokenCounter

__version__ = "0.1.0"

_HOMES = {
    "Archive": "rehydrate.archive",
    "Bundle": "graph.model",
    "CacheAligner": "optimize.align",
    "CompressResult": "optimize.optimizer",
    "ContentRouter": "optimize.router",
    "ContentType": "optimize.content",
    "ContextEngine": "engine.engine",
    "ContextKernel": "kernel.kernel",
    "ContextOptimizer": "optimize.optimizer",
    "CtxError": "errors",
    "CtxSettings": "settings",
    "Detection": "optimize.content",
    "Evictor": "rehydrate.evict",
    "MemoryCcrStore": "stores.memory.ccr",
    "Message": "messages",
    "Node": "graph.model",
    "NodeDetail": "graph.model",
    "Prepared": "engine.report",
    "RehydrationMode": "graph.modes",
    "Rehydrator": "rehydrate.rehydrator",
    "RehydratorConfig": "rehydrate.rehydrator",
    "Relation": "graph.model",
    "RelationClass": "graph.model",
    "ScoredTurn": "rehydrate.archive",
    "Tier": "graph.tiers",
    "TokenCounter": "tokens",
    "ToolCall": "messages",
    "TriggerDetector": "rehydrate.triggers",
    "Turn": "rehydrate.archive",
    "UpdateContext": "kernel.commands",
    "audit": "graph.audit",
    "render": "graph.render",
}

__all__ = [
    "Archive",
    "Bundle",
    "CacheAligner",
    "CompressResult",
    "ContentRouter",
    "ContentType",
    "ContextEngine",
    "ContextKernel",
    "ContextOptimizer",
    "CtxError",
    "CtxSettings",
    "Detection",
    "Evictor",
    "MemoryCcrStore",
    "Message",
    "Node",
    "NodeDetail",
    "Prepared",
    "RehydrationMode",
    "Rehydrator",
    "RehydratorConfig",
    "Relation",
    "RelationClass",
    "ScoredTurn",
    "Tier",
    "TokenCounter",
    "ToolCall",
    "TriggerDetector",
    "Turn",
    "UpdateContext",
    "audit",
    "render",
]

__getattr__, __dir__ = exports(__name__, _HOMES)
