"""The engine as a node of a LangGraph graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.runnables import RunnableLambda, ensure_config, run_in_executor

from ctx_core.engine.engine import ContextEngine
from langchain_ctx.arguments import check_engine, refuse_unknown
from langchain_ctx.events import report_numbers
from langchain_ctx.messages import all_to_core
from langchain_ctx.models import LEAST_BUDGET, budget_for, check_budget
from langchain_ctx.preparing import prepare
from langchain_ctx.scope import scope_of
from langchain_ctx.updates import channel_update, replaced_channel

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Never

    from langgraph.runtime import Runtime

_OPTIONS: Final = (
    "engine",
    "max_tokens",
    "model",
    "user_id",
    "session_id",
    "graph_root",
    "query",
    "input_messages_key",
    "output_messages_key",
    "replace",
)


class ContextNode:
    """Prepares the prompt of the next node: messages in, `llm_input_messages` out.

    The history in the state stays whole, unless `output_messages_key` names the input channel too: then messages that
    changed are replaced in place by id, and those that left the window are removed. States may be dicts, pydantic models,
    dataclasses, or a bare list of messages. What is written is messages only, never an empty list of them, and each run
    streams its numbers as a custom event `{"ctx": …}`.

    Works in `add_node("context", ContextNode())` and as the `pre_model_hook` of a prebuilt agent.

    Args:
        engine: Prepares the prompts; the default keeps everything in memory.
        max_tokens: Budget of a prompt, in tokens or as a share of the model's window; by default 32,000, or three quarters of
            the window where that is less.
        model: The model that reads the prompt, for its window.
        user_id: Whose archive is used; None takes `user_id` of the run's context or `configurable`, else the archive is the
            thread's own.
        session_id: Which conversation this is; None takes `session_id` or `thread_id`.
        graph_root: Node of the engine's graph to explain; None takes `graph_root`, if any.
        query: What the prompt is prepared for; None takes the latest user message.
        input_messages_key: Where the state holds its messages.
        output_messages_key: Where the prompt goes; the input key edits the history.
        replace: Rewrite an edited history as a whole instead of by id.
    """

    def __init__(
        self,
        engine: ContextEngine | None = None,
        *,
        max_tokens: float | None = None,
        model: Any = None,
        user_id: str | None = None,
        session_id: str | None = None,
        graph_root: str | None = None,
        query: str | None = None,
        input_messages_key: str = "messages",
        output_messages_key: str = "llm_input_messages",
        replace: bool = False,
        **unknown: Never,
    ) -> None:
        refuse_unknown("ContextNode", unknown, _OPTIONS)
        check_engine("ContextNode", engine)
        check_budget("ContextNode", max_tokens, least=LEAST_BUDGET)
        self.engine = engine or ContextEngine()
        self.max_tokens = max_tokens
        self.model = model
        self.user_id = user_id
        self.session_id = session_id
        self.graph_root = graph_root
        self.query = query
        self.input_messages_key = input_messages_key
        self.output_messages_key = output_messages_key
        self.replace = replace

    def __call__(self, state: Any, *, runtime: Runtime[Any] | None = None) -> dict[str, list[BaseMessage]]:
        """Return the state's update."""
        given = convert_to_messages(self._messages_of(state))
        if not given:
            return {}
        return {self.output_messages_key: self._written(given, self._prepared(given, runtime))}

    async def acall(self, state: Any, *, runtime: Runtime[Any] | None = None) -> dict[str, list[BaseMessage]]:
        """Return the state's update, prepared in a worker thread."""
        return await run_in_executor(None, self.__call__, state, runtime=runtime)

    def as_runnable(self) -> RunnableLambda[Any, dict[str, list[BaseMessage]]]:
        """Return the node as a Runnable with a sync and an async side."""

        def prepare(state: Any) -> dict[str, list[BaseMessage]]:
            return self(state)

        async def aprepare(state: Any) -> dict[str, list[BaseMessage]]:
            return await self.acall(state)

        return RunnableLambda(prepare, afunc=aprepare, name=type(self).__name__)

    def _messages_of(self, state: Any) -> Sequence[Any]:
        if isinstance(state, list):
            return state
        if isinstance(state, Mapping):
            return state.get(self.input_messages_key) or ()
        return getattr(state, self.input_messages_key, None) or ()

    def _prepared(self, messages: Sequence[BaseMessage], runtime: Runtime[Any] | None) -> list[BaseMessage]:
        scope = scope_of(
            ensure_config(),
            runtime and runtime.context,
            user_id=self.user_id,
            session_id=self.session_id,
            graph_root=self.graph_root,
        )
        prompt = prepare(
            self.engine,
            all_to_core(messages),
            scope,
            max_tokens=budget_for(self.model, self.max_tokens),
            query=self.query,
        )
        if runtime is not None:
            runtime.stream_writer({"ctx": report_numbers(prompt.report)})
        return prompt.messages

    def _written(self, given: Sequence[BaseMessage], prompt: list[BaseMessage]) -> list[BaseMessage]:
        if self.output_messages_key != self.input_messages_key:
            return prompt
        return replaced_channel(prompt) if self.replace else channel_update(given, prompt)
