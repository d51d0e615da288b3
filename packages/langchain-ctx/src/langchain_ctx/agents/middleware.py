"""The whole suite for an agent of LangChain, in one line."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse, ModelResponse
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from langchain_core.runnables import ensure_config, run_in_executor

from ctx_core import telemetry
from ctx_core.errors import CtxError
from ctx_core.markers import hint
from ctx_core.messages import ToolCall
from ctx_core.optimize.ccr import HINT_LENGTH, PAGE_CHARS, content_hash, excerpt, last_hint, owner_scope
from ctx_core.optimize.optimizer import MIN_BUDGET
from langchain_ctx.agents.cache_marks import marked
from langchain_ctx.agents.earlier import DESCRIPTION, EARLIER, answer, earlier_text
from langchain_ctx.agents.engines import Engines, legal_name
from langchain_ctx.agents.overflow import LearnedLimits, with_limit
from langchain_ctx.agents.policy import ToolPolicy
from langchain_ctx.agents.request_tokens import SchemaTokens, has_mark, name_of
from langchain_ctx.agents.state import ContextState
from langchain_ctx.agents.tool_results import ToolResult, map_tool_messages
from langchain_ctx.arguments import check_engine, refuse_unknown
from langchain_ctx.events import report_numbers
from langchain_ctx.messages import all_to_core, to_core, to_host
from langchain_ctx.models import LEAST_BUDGET, budget_for, can_call_tools, check_budget, model_name
from langchain_ctx.originals import find_original, with_note
from langchain_ctx.preparing import prepare
from langchain_ctx.scope import Scope, scope_of
from langchain_ctx.tools import RETRIEVAL_TOOL, BoundTool, RetrievalArguments, is_retrieval_tool, retrieve_original_tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from typing import Never

    from langchain.agents.middleware import ModelRequest, ToolCallRequest
    from langchain_core.tools import BaseTool

    from ctx_core.engine.engine import ContextEngine
    from ctx_core.messages import Message

_T = TypeVar("_T")
_OVERFLOW_RETRIES: Final = 2
_TIGHTER: Final = 0.7
_MOST_THREADS: Final = 4096
_OPTIONS: Final = (
    "engine",
    "max_tokens",
    "user_id",
    "graph_root",
    "cache_marks",
    "exclude_tools",
    "tool_limits",
    "retrieval_tool",
    "counter",
    "name",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prompt:
    """One model call, prepared."""

    request: ModelRequest[Any]
    tokens: int = 0


class ContextMiddleware(AgentMiddleware[ContextState, Any, Any]):
    """Gives an agent the whole suite: `create_agent(model, tools, middleware=[ContextMiddleware()])`.

    - A tool's result is optimized once, when the tool returns, and its original is kept.
    - Each model call gets a prompt within the budget: turns that no longer fit are archived first, and what the user refers
      to comes back. The history in the state stays whole, so that people read what was said, and others may index it.
    - The prompt's prefix is kept byte-stable and marked for caching; a prompt the model finds too long is sent again, shorter,
      and the thread remembers what the model took.
    - The model gets a tool, `retrieve_original`, for whatever was shortened and for messages that left; what it returns is
      not shortened again.

    No stage ever fails the agent: one that raises is skipped with a warning, unless the engine is strict. Archives belong to
    the run's `user_id` (its context or `configurable`); without one, to the thread alone. By default originals travel in the
    messages, and so live in the checkpointer, and archives live in the graph's store if it has one, else in this process.

    Args:
        engine: Does the work, on stores of its own.
        max_tokens: Budget of a prompt, system prompt, tools and answer format included: tokens, or a share of the model's window;
            by default 32,000, or three quarters of the window where that is less.
        user_id: Whose archive is used.
        graph_root: Node of the engine's graph to explain in each prompt.
        cache_marks: Mark prompts for providers that cache only what is marked.
        exclude_tools: Tools whose results are never shortened.
        tool_limits: Tokens of one result, by tool. Results of tools that read one file have half the budget, others a quarter.
        retrieval_tool: Give the model the tool; without it, hints name none.
        counter: Counts the tokens of a text, such as `model.get_num_tokens`.
        name: Tells several instances in one agent apart.
    """

    state_schema = ContextState

    def __init__(
        self,
        engine: ContextEngine | None = None,
        *,
        max_tokens: float | None = None,
        user_id: str | None = None,
        graph_root: str | None = None,
        cache_marks: bool = True,
        exclude_tools: Collection[str | BaseTool] = (),
        tool_limits: Mapping[str, int] | None = None,
        retrieval_tool: bool = True,
        counter: Callable[[str], int] | None = None,
        name: str | None = None,
        **unknown: Never,
    ) -> None:
        super().__init__()
        refuse_unknown("ContextMiddleware", unknown, _OPTIONS)
        check_engine("ContextMiddleware", engine)
        check_budget("ContextMiddleware", max_tokens, least=LEAST_BUDGET)
        self._name = name or type(self).__name__
        tool = RETRIEVAL_TOOL if name is None else legal_name(f"{RETRIEVAL_TOOL}_{name}")
        self._engines = Engines(engine, tool=tool if retrieval_tool else None, counter=counter)
        self.max_tokens = max_tokens
        self.user_id = user_id
        self.graph_root = graph_root
        self.cache_marks = cache_marks
        self._policy = ToolPolicy.of(exclude_tools, tool_limits)
        self._schemas = SchemaTokens()
        self._limits = LearnedLimits()
        self._left: OrderedDict[str, frozenset[str | None]] = OrderedDict()
        self._lock = Lock()
        self.tools = [self._tool(self.engine.optimizer.retrieval_tool or tool)] if retrieval_tool else []

    @property
    def name(self) -> str:
        """The name of this instance."""
        return self._name

    @property
    def engine(self) -> ContextEngine:
        """The engine, as it works outside of a graph with a store."""
        return self._engines.default

    def forget(self, *, thread_id: str) -> None:
        """Delete what was kept for a thread that named no user: its archive and its originals."""
        engine = self.engine
        engine.archive.of_threads.delete(thread_id)
        if hasattr(engine.optimizer.store, "delete_scope"):
            engine.optimizer.store.delete_scope(owner_scope(conversation_id=thread_id))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]) -> ToolResult:
        """Optimize what the tool returns."""
        return self._page(request) or self._optimized(request, handler(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Optimize what the tool returns, in a worker thread."""
        page = await run_in_executor(None, self._page, request)
        if page is not None:
            return page
        return await run_in_executor(None, self._optimized, request, await handler(request))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Send the prepared prompt, and a shorter one where the model finds it too long."""
        budget = self._budget(request)
        for retries_left in reversed(range(_OVERFLOW_RETRIES + 1)):
            prompt = self._prompt(request, budget)
            try:
                return self._answered(
                    request, handler(prompt.request), budget, refused=retries_left < _OVERFLOW_RETRIES
                )
            except ContextOverflowError:
                if not retries_left:
                    raise
                budget = self._tighter(request, budget, prompt)
        raise AssertionError  # the last round returns or raises

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Do what `wrap_model_call` does, preparing in a worker thread."""
        budget = self._budget(request)
        for retries_left in reversed(range(_OVERFLOW_RETRIES + 1)):
            prompt = await run_in_executor(None, self._prompt, request, budget)
            try:
                response = await handler(prompt.request)
                return self._answered(request, response, budget, refused=retries_left < _OVERFLOW_RETRIES)
            except ContextOverflowError:
                if not retries_left:
                    raise
                budget = self._tighter(request, budget, prompt)
        raise AssertionError  # the last round returns or raises

    # At the tool.

    def _page(self, request: ToolCallRequest) -> ToolMessage | None:
        """Answer a call of the retrieval tool from the thread itself; None where the tool has to look."""
        if not is_retrieval_tool(request.tool):
            return None
        text = self._guarded("wrap_tool_call", lambda: self._read(request), otherwise=None)
        return None if text is None else self._whole(request, text)

    def _read(self, request: ToolCallRequest) -> str | None:
        try:
            asked = RetrievalArguments(**request.tool_call["args"])
        except (TypeError, ValueError):
            return None  # the tool says what is wrong
        messages, page_chars = _messages_of(request.state), self._page_chars
        if asked.ref.strip().lower() == EARLIER:
            return answer(self._earlier(request, messages), asked, page_chars=page_chars)
        original = find_original(messages, asked.digits())
        try:
            if original is None:
                optimizer = self._engine_of(request.runtime).optimizer_for(self._owner(request))
                return optimizer.retrieve(asked.digits(), **asked.excerpt(), page_chars=page_chars)
            return excerpt(original, **asked.excerpt(), page_chars=page_chars)
        except CtxError:
            return None  # the tool says so, as an error

    def _earlier(self, request: ToolCallRequest, messages: Sequence[BaseMessage]) -> list[tuple[str, str]]:
        """Return what is no longer shown: the messages of the thread that left its last prompt."""
        scope = self._scope(request.runtime)
        with self._lock:
            left = self._left.get(_thread_key(scope, messages))
        gone = [message for message in messages[:-1] if left is None or message.id in left]
        return earlier_text(gone, self._engine_of(request.runtime).optimizer_for(self._owner(request)))

    def _whole(self, request: ToolCallRequest, text: str) -> ToolMessage:
        message = ToolMessage(text, tool_call_id=request.tool_call["id"] or "", name=request.tool_call["name"])
        return cast("ToolMessage", with_note(message, whole=True))

    def _optimized(self, request: ToolCallRequest, result: ToolResult) -> ToolResult:
        """Return a result with its messages shortened, but for what goes to people or was asked for whole."""
        if is_retrieval_tool(request.tool):
            return map_tool_messages(result, lambda message: cast("ToolMessage", with_note(message, whole=True)))
        if getattr(request.tool, "return_direct", False):
            return result
        # A hand-over brings the whole history along, which was dealt with when it was made.
        here = {
            message.tool_call_id for message in _messages_of(_state_of(request)) if isinstance(message, ToolMessage)
        }

        def shorten(message: ToolMessage) -> ToolMessage:
            if message.tool_call_id in here:
                return message
            return self._guarded("wrap_tool_call", lambda: self._shortened(request, message), otherwise=message)

        return map_tool_messages(result, shorten)

    def _shortened(self, request: ToolCallRequest, message: ToolMessage) -> ToolMessage:
        engine, owner = self._engine_of(request.runtime), self._owner(request)
        asked: Any = getattr(request, "tool_call", None) or {"name": message.name or "", "args": {}}
        call = ToolCall(id="", name=asked["name"], arguments=json.dumps(asked["args"], default=str))
        budget = budget_for(None, self.max_tokens)
        limit = self._policy.limit(call, budget=budget, usual=_usual_limit(engine, budget))
        if limit is None:
            return message
        is_special, originals = self._policy.is_special(call), list[str]()

        def shorten(text: str) -> str:
            if is_special and engine.counter.count(text) <= limit:
                return text
            result = engine.optimize(text, limit, owner=owner)
            if result.compressed == text:
                return text
            originals.append(text)
            if last_hint(result.compressed):
                return result.compressed
            # Folded without loss; what reads it still may want it as it was.
            ref = content_hash(text)[:HINT_LENGTH]
            hinted = f"{result.compressed}\n{hint(ref, retrieval_tool=engine.optimizer.retrieval_tool)}"
            if engine.counter.count(hinted) >= result.original_tokens:
                return result.compressed
            optimizer = engine.optimizer_for(owner)
            optimizer.store.put(text, **({"scope": optimizer.scope} if optimizer.scope else {}))
            return hinted

        shrunk = cast("ToolMessage", to_host(to_core(message).map_text(shorten)))
        if shrunk is message or not originals or not self._engines.is_own:
            return shrunk
        return cast("ToolMessage", with_note(shrunk, originals=originals))

    # Around the model.

    def _prompt(self, request: ModelRequest[Any], budget: int) -> _Prompt:
        return self._guarded(
            "wrap_model_call", lambda: self._prepared(request, budget), otherwise=_Prompt(request=request)
        )

    def _prepared(self, request: ModelRequest[Any], budget: int) -> _Prompt:
        engine, scope = self._engine_of(request.runtime), self._scope(request.runtime)
        if not can_call_tools(request.model):
            engine = self._engines.without_tool(engine)
            request = request.override(tools=[tool for tool in request.tools if not is_retrieval_tool(tool)])
        tools = self._ordered(request.tools)
        tools_tokens = self._schemas.of(request, engine.counter)
        head = [to_core(request.system_message)] if request.system_message else []
        prompt = prepare(
            engine,
            [*head, *self._given(request.messages, engine, budget)],
            scope,
            max_tokens=max(budget - tools_tokens, LEAST_BUDGET),
            owner=self._owner(request),
            tools=self._schemas.tools_of(request),
        )
        self._remember_left(scope, request.state, prompt.left)
        report = prompt.report
        system, messages = _split(prompt.messages)
        tokens = report.tokens_after + tools_tokens
        if self.cache_marks:
            tail = bool(report.aligned and report.aligned.moved)
            system, messages = marked(system, messages, model=request.model, tokens=tokens, tail=int(tail))
        if (write := getattr(request.runtime, "stream_writer", None)) is not None:  # no runtime outside of a graph
            write({"ctx": report_numbers(report)})
        return _Prompt(
            request=request.override(
                system_message=system,
                messages=cast("list[Any]", messages),
                tools=self._with_tool(tools, messages, request),
            ),
            tokens=tokens,
        )

    def _given(self, messages: Sequence[BaseMessage], engine: ContextEngine, budget: int) -> list[Message]:
        """Return the messages as the core sees them; results with a limit of their own keep to that instead of the engine's."""
        given = all_to_core(messages)
        calls = {call.id: call for message in given for call in message.tool_calls}
        usual = _usual_limit(engine, budget)
        for message in given:
            call = calls.get(message.tool_call_id or "") if message.role == "tool" else None
            if call is None or not self._policy.is_special(call):
                continue
            limit = self._policy.limit(call, budget=budget, usual=usual)
            if limit is None or engine.counter.count(message.text) <= limit:
                object.__setattr__(message, "verbatim", True)
        return given

    def _ordered(self, tools: Sequence[Any]) -> list[Any]:
        """Return tools in an order that is the same at every call, unless somebody has marked one where it stands."""
        return list(tools) if any(map(has_mark, tools)) else sorted(tools, key=name_of)

    def _with_tool(self, tools: list[Any], messages: Sequence[BaseMessage], request: ModelRequest[Any]) -> list[Any]:
        """Return the tools with the retrieval tool in a form that selectors leave in; put back while a hint names it."""
        if not self.tools or not can_call_tools(request.model):
            return tools
        own = self.tools[0]
        if all(name_of(tool) != own.name for tool in tools):
            return (
                self._ordered([*tools, BoundTool(own)])
                if any(own.name in message.text for message in messages)
                else tools
            )
        return [BoundTool(tool) if is_retrieval_tool(tool) and not has_mark(tool) else tool for tool in tools]

    def _budget(self, request: ModelRequest[Any]) -> int:
        budget, thread = budget_for(request.model, self.max_tokens), self._thread(request)
        messages = _messages_of(request.state)
        learned = self._limits.get(messages, thread=thread, model=model_name(request.model) or "")
        return min(budget, learned) if learned else budget

    def _tighter(self, request: ModelRequest[Any], budget: int, prompt: _Prompt) -> int:
        tighter = max(int(_TIGHTER * min(budget, prompt.tokens or budget)), LEAST_BUDGET)
        self._limits.learn(tighter, thread=self._thread(request), model=model_name(request.model) or "")
        return tighter

    def _thread(self, request: ModelRequest[Any]) -> str:
        return _thread_key(self._scope(request.runtime), _messages_of(request.state))

    def _answered(
        self, request: ModelRequest[Any], response: ModelResponse[Any], budget: int, *, refused: bool
    ) -> ModelResponse[Any]:
        """Return the answer; after a refusal it says what the model took, so that a resumed thread knows."""
        result = getattr(response, "result", None)
        if not refused or not result or not isinstance(result[0], AIMessage):
            return response
        noted = with_limit(result[0], model=model_name(request.model) or "", limit=budget)
        return ModelResponse(result=[noted, *result[1:]], structured_response=response.structured_response)

    # What every hook needs.

    def _remember_left(self, scope: Scope, state: Mapping[str, Any], left: Sequence[Message]) -> None:
        key = _thread_key(scope, _messages_of(state))
        with self._lock:
            self._left[key] = frozenset(message.id for message in left)
            self._left.move_to_end(key)
            if len(self._left) > _MOST_THREADS:
                self._left.popitem(last=False)

    def _engine_of(self, runtime: Any) -> ContextEngine:
        return self._engines.of(getattr(runtime, "store", None))

    @property
    def _page_chars(self) -> int:
        # A page is not shortened, so it must fit as it is; even dense text has a token for two characters.
        return min(PAGE_CHARS, 2 * _usual_limit(self.engine, budget_for(None, self.max_tokens)))

    def _tool(self, name: str) -> BaseTool:
        return retrieve_original_tool(
            self.engine.optimizer,
            name=name,
            description=DESCRIPTION,
            page_chars=self._page_chars,
            user_id=self.user_id,
        )

    def _scope(self, runtime: Any) -> Scope:
        context = runtime.context if runtime is not None else None
        return scope_of(ensure_config(), context, user_id=self.user_id, graph_root=self.graph_root)

    def _owner(self, request: ToolCallRequest | ModelRequest[Any]) -> str:
        """Return the scope of the run's originals: its user's, else its thread's, else that of its messages alone."""
        scope = self._scope(request.runtime)
        return scope.owner or owner_scope(conversation_id=_first_of(_messages_of(_state_of(request))))

    def _guarded(self, stage: str, work: Callable[[], _T], *, otherwise: _T) -> _T:
        """Return what `work` returns; where it raises, warn and return `otherwise`, unless the engine is strict."""
        try:
            return work()
        except Exception as error:
            if self.engine.strict:
                raise
            telemetry.degraded(stage, error)
            return otherwise

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in ("_lock", "_left")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=Lock(), _left=OrderedDict())


def _usual_limit(engine: ContextEngine, budget: int) -> int:
    return max(int(budget * engine.shares.message), MIN_BUDGET)


def _state_of(request: Any) -> Any:
    return getattr(request, "state", None)


def _messages_of(state: Any) -> list[Any]:
    messages = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", state)
    return messages if isinstance(messages, list) else []


def _thread_key(scope: Scope, messages: Sequence[Any]) -> str:
    """Return what tells the threads of a process apart; a run without a thread is known by its first message."""
    return f"{scope.owner}\n{scope.session_id or _first_of(messages)}"


def _first_of(messages: Sequence[Any]) -> str | None:
    """Return what a run without a thread is known by: its first message, which LangGraph gives an id that nobody guesses."""
    if not messages or not isinstance(messages[0], BaseMessage):
        return None
    return f"run:{content_hash(f'{messages[0].id} {messages[0].content}')}"


def _split(messages: list[BaseMessage]) -> tuple[SystemMessage | None, list[BaseMessage]]:
    if messages and isinstance(messages[0], SystemMessage):
        return messages[0], messages[1:]
    return None, messages
