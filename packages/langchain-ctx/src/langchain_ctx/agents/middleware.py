"""The whole suite for an agent of LangChain, in one line."""

from __future__ import annotations

import json
from copy import copy
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse, ModelResponse
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import BaseMessage, SystemMessage, ToolMessage
from langchain_core.runnables import ensure_config, run_in_executor
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.types import Command

from ctx_core.engine.engine import ContextEngine
from ctx_core.errors import InvalidInput
from ctx_core.messages import message_tokens
from ctx_core.optimize.ccr import PAGE_CHARS, owner_scope
from ctx_core.optimize.optimizer import ContextOptimizer
from ctx_core.rehydrate.inject import inject
from langchain_ctx.agents.cache_marks import marked
from langchain_ctx.agents.earlier import DESCRIPTION, EARLIER, earlier_turns
from langchain_ctx.agents.state import ContextState, Memory
from langchain_ctx.agents.tool_results import ToolResult, map_tool_messages
from langchain_ctx.agents.window import LEAST_BUDGET, Window
from langchain_ctx.messages import all_to_core, all_to_host, to_core, to_host
from langchain_ctx.scope import Scope, scope_of
from langchain_ctx.tools import RETRIEVAL_TOOL, is_retrieval_tool, retrieve_original_tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from langchain.agents.middleware import ModelRequest, ToolCallRequest
    from langchain_core.messages import AnyMessage
    from langchain_core.tools import BaseTool
    from langgraph.prebuilt import ToolRuntime
    from langgraph.runtime import Runtime

_OVERFLOW_RETRIES: Final = 2
_TIGHTER: Final = 0.7
# The overhead is kept in this grain, so that a clock in the system prompt does not write to the state at every call.
_GRAIN: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prompt:
    """One model call, prepared."""

    request: ModelRequest[Any]
    tokens: int = 0
    overhead: int | None = None


class _Run(Protocol):
    """What a request to a tool or a model says of its run."""

    @property
    def runtime(self) -> Any: ...


class ContextMiddleware(AgentMiddleware[ContextState, Any, Any]):
    """Gives an agent the whole suite: `create_agent(model, tools, middleware=[ContextMiddleware()])`.

    - A tool's result is optimized once, when the tool returns, and its original is kept.
    - Before each model call, turns that no longer fit leave the state for the archive, and what the user refers to comes back.
    - The prompt's prefix is kept byte-stable and marked for caching; a prompt the model finds too long is sent again, shorter.
    - The model gets a tool, `retrieve_original`, for whatever was shortened and for messages that left; what it returns is
      not shortened again.

    No stage ever fails the agent: one that raises is skipped with a warning, unless the engine is strict. Archives belong to
    the run's `user_id` (its context or `configurable`); without one, to the thread alone.

    Args:
        engine: Does the work; the default keeps everything in memory.
        max_tokens: Budget of a prompt, system prompt and tools included.
        low_water: Share of the budget that is left in use when turns leave, so that they leave seldom and the prefix lasts.
        user_id: Whose archive is used.
        graph_root: Node of the engine's graph to explain in each prompt.
        cache_marks: Mark prompts for providers that cache only what is marked.
        name: Tells several instances in one agent apart.
    """

    state_schema = ContextState

    def __init__(
        self,
        engine: ContextEngine | None = None,
        *,
        max_tokens: int = 32_000,
        low_water: float = 0.3,
        user_id: str | None = None,
        graph_root: str | None = None,
        cache_marks: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__()
        if max_tokens < LEAST_BUDGET or not 0 < low_water <= 1:
            raise InvalidInput(
                f"max_tokens is at least {LEAST_BUDGET} and low_water in (0, 1], not {max_tokens} and {low_water}"
            )
        self._name = name or type(self).__name__
        tool = RETRIEVAL_TOOL if name is None else f"{RETRIEVAL_TOOL}_{name}"
        self.engine = _with_tool(engine, tool)
        self.max_tokens = max_tokens
        self.user_id = user_id
        self.graph_root = graph_root
        self.cache_marks = cache_marks
        self._window = Window(engine=self.engine, max_tokens=max_tokens, low_water=low_water)
        optimizer = self.engine.optimizer
        self.tools = [self._retrieval_tool(optimizer, optimizer.retrieval_tool or tool)]

    @property
    def name(self) -> str:
        """The name of this instance."""
        return self._name

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]) -> ToolResult:
        """Optimize what the tool returns."""
        return self._optimized(request, handler(self._resolved(request)))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Optimize what the tool returns, in a worker thread."""
        result = await handler(await run_in_executor(None, self._resolved, request))
        return await run_in_executor(None, self._optimized, request, result)

    def before_model(self, state: ContextState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Evict, archive and rehydrate."""
        return self._window.guarded("before_model", lambda: self._window_update(state, runtime), otherwise=None)

    async def abefore_model(self, state: ContextState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Evict, archive and rehydrate, in a worker thread."""
        return await run_in_executor(None, self.before_model, state, runtime)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Send the prepared prompt, and a shorter one where the model finds it too long."""
        budget = self.max_tokens
        for retries_left in reversed(range(_OVERFLOW_RETRIES + 1)):
            prompt = self._prompt(request, budget)
            try:
                return self._answer(request, prompt, handler(prompt.request))
            except ContextOverflowError:
                if not retries_left:
                    raise
                budget = _tighter(budget, prompt)
        raise AssertionError  # the last round returns or raises

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Do what `wrap_model_call` does, preparing in a worker thread."""
        budget = self.max_tokens
        for retries_left in reversed(range(_OVERFLOW_RETRIES + 1)):
            prompt = await run_in_executor(None, self._prompt, request, budget)
            try:
                return self._answer(request, prompt, await handler(prompt.request))
            except ContextOverflowError:
                if not retries_left:
                    raise
                budget = _tighter(budget, prompt)
        raise AssertionError  # the last round returns or raises

    # At the tool.

    def _resolved(self, request: ToolCallRequest) -> ToolCallRequest:
        """Let the model ask for what this run's owner has, and for whatever left the window of its thread under one name."""
        if not is_retrieval_tool(request.tool):
            return request
        if request.tool is self.tools[0]:
            optimizer = self.engine.optimizer_for(self._owner(request))
            request = request.override(tool=self._retrieval_tool(optimizer, self.tools[0].name))
        if request.tool_call["args"].get("ref") != EARLIER:
            return request
        return self._window.guarded("wrap_tool_call", lambda: self._with_earlier(request), otherwise=request)

    def _with_earlier(self, request: ToolCallRequest) -> ToolCallRequest:
        memory, scope = self._memory(request.state), self._scope(request.runtime)
        owner = self._owner(request)
        text = earlier_turns(self.engine, owner=scope.user_id or memory.owner, session_id=scope.session_id, scope=owner)
        optimizer = self.engine.optimizer_for(owner)
        ref = optimizer.store.put(text or "Nothing has left the conversation yet.", scope=optimizer.scope)
        return request.override(tool_call={**request.tool_call, "args": {**request.tool_call["args"], "ref": ref}})

    def _optimized(self, request: ToolCallRequest, result: ToolResult) -> ToolResult:
        if is_retrieval_tool(request.tool):
            return result
        owner = self._owner(request)
        return map_tool_messages(result, lambda message: self._optimized_message(message, owner))

    def _optimized_message(self, message: ToolMessage, owner: str) -> ToolMessage:
        shrunk = self._window.guarded(
            "wrap_tool_call", lambda: to_host(self._window.shrunk(to_core(message), scope=owner)), otherwise=message
        )
        return cast("ToolMessage", shrunk)

    # Before the model.

    def _window_update(self, state: ContextState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        memory, scope = self._memory(state), self._scope(runtime)
        changes, memory = self._window.turn_over(
            state["messages"],
            memory,
            owner=scope.user_id or memory.owner,
            session_id=scope.session_id,
            scope=scope.owner or owner_scope(conversation_id=memory.owner),
        )
        update: dict[str, Any] = {"messages": changes} if changes else {}
        if self._remembered(state) != asdict(memory):
            update["ctx"] = {self.name: asdict(memory)}
        return update or None

    # Around the model.

    def _prompt(self, request: ModelRequest[Any], budget: int) -> _Prompt:
        return self._window.guarded(
            "wrap_model_call", lambda: self._prepared(request, budget), otherwise=_Prompt(request=request)
        )

    def _prepared(self, request: ModelRequest[Any], budget: int) -> _Prompt:
        engine, memory, scope = self.engine, self._memory(request.state), self._scope(request.runtime)
        tools = sorted(request.tools, key=_tool_name)
        tools_tokens = sum(engine.counter.count(_schema(tool)) for tool in tools)
        head = [to_core(request.system_message)] if request.system_message else []
        given = [*head, *all_to_core(request.messages)]
        if memory.block:
            given = inject(given, memory.block, placement=engine.rehydrator.config.placement)
        prepared = engine.prepare(
            given,
            max_tokens=max(budget - tools_tokens, LEAST_BUDGET),
            conversation_id=scope.session_id or memory.owner,
            owner=self._owner(request),
            graph_root=scope.graph_root,
        )
        report = prepared.report
        tokens = report.tokens_after + tools_tokens
        system, messages = _split(all_to_host(prepared.messages))
        if self.cache_marks:
            tail = bool(report.aligned and report.aligned.moved)
            system, messages = marked(system, messages, model=request.model, tokens=tokens, tail=int(tail))
        overhead = tools_tokens + sum(message_tokens(message, engine.counter) for message in head)
        return _Prompt(
            request=request.override(system_message=system, messages=cast("list[AnyMessage]", messages), tools=tools),
            tokens=tokens,
            overhead=-(-overhead // _GRAIN) * _GRAIN,
        )

    def _answer(
        self, request: ModelRequest[Any], prompt: _Prompt, response: ModelResponse[Any]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Remember the prompt's overhead for the next eviction, which cannot see system prompt and tools."""
        memory = self._memory(request.state)
        if prompt.overhead in (None, memory.overhead):
            return response
        remembered = {self.name: asdict(replace(memory, overhead=prompt.overhead))}
        return ExtendedModelResponse(model_response=response, command=Command(update={"ctx": remembered}))

    # What every hook needs.

    def _retrieval_tool(self, optimizer: ContextOptimizer, name: str) -> BaseTool:
        return retrieve_original_tool(
            optimizer,
            name=name,
            description=DESCRIPTION,
            # A page is not shortened, so it must fit as it is; even dense text has a token for two characters.
            page_chars=min(PAGE_CHARS, 2 * self._window.message_limit),
        )

    def _owner(self, request: _Run) -> str:
        """Return the scope of the run's originals: its user's, else its thread's, else that of its state alone."""
        remembered = self._remembered(getattr(request, "state", None) or {}) or {}
        return self._scope(request.runtime).owner or owner_scope(conversation_id=remembered.get("owner"))

    def _remembered(self, state: Mapping[str, Any]) -> dict[str, Any] | None:
        return (state.get("ctx") or {}).get(self.name)

    def _memory(self, state: Mapping[str, Any]) -> Memory:
        return Memory.of(self._remembered(state))

    def _scope(self, runtime: Runtime[Any] | ToolRuntime[Any, Any] | None) -> Scope:
        context = runtime.context if runtime is not None else None
        return scope_of(ensure_config(), context, user_id=self.user_id, graph_root=self.graph_root)


def _with_tool(engine: ContextEngine | None, tool: str) -> ContextEngine:
    """Return an engine whose hints name the tool that is bound; the caller's own is left as it is."""
    if engine is None:
        return ContextEngine(optimizer=ContextOptimizer(retrieval_tool=tool))
    if engine.optimizer.retrieval_tool:
        return engine
    own = copy(engine)
    own.optimizer = copy(engine.optimizer)
    own.optimizer.retrieval_tool = tool
    return own


def _split(messages: list[BaseMessage]) -> tuple[SystemMessage | None, list[BaseMessage]]:
    if messages and isinstance(messages[0], SystemMessage):
        return messages[0], messages[1:]
    return None, messages


def _tighter(budget: int, prompt: _Prompt) -> int:
    return int(_TIGHTER * min(budget, prompt.tokens or budget))


def _tool_name(tool: BaseTool | dict[str, Any]) -> str:
    return str(tool.get("name", tool.get("type"))) if isinstance(tool, dict) else tool.name


def _schema(tool: BaseTool | dict[str, Any]) -> str:
    return json.dumps(tool if isinstance(tool, dict) else convert_to_openai_tool(tool), default=str)
