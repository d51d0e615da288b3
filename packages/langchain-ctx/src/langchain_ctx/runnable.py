"""The engine in a chain: whatever a prompt is made of goes in, and the same kind comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from langchain_core.documents import Document
from langchain_core.messages import AnyMessage, BaseMessage, convert_to_messages
from langchain_core.prompt_values import ChatPromptValue, ChatPromptValueConcrete, PromptValue, StringPromptValue
from langchain_core.runnables import ConfigurableFieldSpec, RunnableConfig, RunnableSerializable, run_in_executor
from langchain_core.runnables.config import patch_config
from langchain_core.runnables.utils import get_unique_config_specs
from pydantic import ConfigDict, Field, SkipValidation, model_validator

from ctx_core.engine.engine import ContextEngine
from ctx_core.errors import InvalidInput
from langchain_ctx.arguments import check_engine, refuse_unknown
from langchain_ctx.documents import ContextDocumentCompressor
from langchain_ctx.events import emit, report_numbers
from langchain_ctx.messages import all_to_core
from langchain_ctx.models import budget_for, check_budget
from langchain_ctx.preparing import prepare
from langchain_ctx.scope import scope_of

if TYPE_CHECKING:
    from langchain_core.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun

    from ctx_core.optimize.optimizer import ContextOptimizer

ContextInput: TypeAlias = (
    str | list[AnyMessage] | list[Document] | StringPromptValue | ChatPromptValueConcrete | dict[str, Any]
)
"""What a `ContextRunnable` takes and gives back."""

_IDENTITY = (
    ConfigurableFieldSpec(
        id="user_id", annotation=str | None, name="User", description="Whose archive is searched.", default=None
    ),
    ConfigurableFieldSpec(
        id="session_id", annotation=str | None, name="Session", description="Which conversation this is.", default=None
    ),
)


class ContextRunnable(RunnableSerializable[Any, Any]):
    """Prepares a prompt inside a chain: `prompt | ContextRunnable(max_tokens=4000) | model`.

    Messages, prompt values with messages, and dicts with messages go through the whole engine; texts and documents are
    optimized. The type that goes in comes out, and messages that needed no change are the very same objects.

    User and session come from the fields, else from the run's `config["configurable"]` (`user_id`, and `session_id` or
    `thread_id`). Every field can be made configurable with `configurable_fields`.

    Args:
        engine: Prepares the prompts; the default keeps everything in memory.
        max_tokens: Budget of a prompt, of a text, or of all documents together: tokens, or a share of the model's window; by
            default 32,000, or three quarters of the window where that is less.
        model: The model that reads the prompt, for its window.
        user_id: Whose archive old turns go to and come from.
        session_id: Which conversation they belong to.
        graph_root: Node of the engine's graph to explain in the prompt.
        query: What texts and documents are shortened for.
        messages_key: Where a dict holds its messages.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    engine: SkipValidation[ContextEngine] = Field(default_factory=ContextEngine)
    max_tokens: float | None = None
    model: SkipValidation[Any] = None
    user_id: str | None = None
    session_id: str | None = None
    graph_root: str | None = None
    query: str | None = None
    messages_key: str = "messages"

    @model_validator(mode="before")
    @classmethod
    def _refuse_mistakes(cls, values: Any) -> Any:
        if isinstance(values, dict):
            refuse_unknown("ContextRunnable", values, (*cls.model_fields, "name"))
            check_engine("ContextRunnable", values.get("engine"))
            check_budget("ContextRunnable", values.get("max_tokens"), least=1)
        return values

    @property
    def InputType(self) -> Any:  # noqa: N802 - LangChain's name
        """The types that go in, for schemas."""
        return ContextInput

    @property
    def OutputType(self) -> Any:  # noqa: N802 - LangChain's name
        """The types that come out, for schemas."""
        return ContextInput

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What a run can be configured with."""
        return get_unique_config_specs([*super().config_specs, *_IDENTITY])

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002 - LangChain's name
        """Return `input`, prepared."""
        return self._call_with_config(self._traced, input, config, run_type="chain", **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """Return `input`, prepared in a worker thread."""
        return await self._acall_with_config(self._atraced, input, config, run_type="chain", **kwargs)

    def _traced(self, value: Any, run_manager: CallbackManagerForChainRun, config: RunnableConfig) -> Any:
        return self._prepare(value, patch_config(config, callbacks=run_manager.get_child()))

    async def _atraced(self, value: Any, run_manager: AsyncCallbackManagerForChainRun, config: RunnableConfig) -> Any:
        child = patch_config(config, callbacks=run_manager.get_sync().get_child())
        return await run_in_executor(config, self._prepare, value, child)

    def _prepare(self, value: Any, config: RunnableConfig) -> Any:
        if isinstance(value, str):
            return self._text(value, config)
        if isinstance(value, StringPromptValue):
            return value.model_copy(update={"text": self._text(value.text, config)})
        if isinstance(value, ChatPromptValue):
            return value.model_copy(update={"messages": self._messages(value.messages, config)})
        if isinstance(value, PromptValue):
            return value
        if isinstance(value, dict):
            return {**value, self.messages_key: self._messages(self._held_in(value), config)}
        if isinstance(value, Sequence):
            return self._documents(value, config) if _are_documents(value) else self._messages(value, config)
        raise InvalidInput(
            f"ContextRunnable takes text, messages, a prompt value, documents or a dict, not a {type(value).__name__}"
        )

    def _text(self, text: str, config: RunnableConfig) -> str:
        optimizer = self._optimizer(config)
        return optimizer.optimize(text, max_tokens=self._budget, query=self.query).compressed

    def _documents(self, documents: Sequence[Document], config: RunnableConfig) -> list[Document]:
        compressor = ContextDocumentCompressor(optimizer=self._optimizer(config), max_tokens=self._budget)
        return compressor.compress_documents(documents, self.query or "")

    def _optimizer(self, config: RunnableConfig) -> ContextOptimizer:
        return self.engine.optimizer_for(scope_of(config, user_id=self.user_id, session_id=self.session_id).owner)

    def _messages(self, messages: Sequence[Any], config: RunnableConfig) -> list[BaseMessage]:
        scope = scope_of(config, user_id=self.user_id, session_id=self.session_id, graph_root=self.graph_root)
        prompt = prepare(
            self.engine,
            all_to_core(convert_to_messages(messages)),
            scope,
            max_tokens=self._budget,
            query=self.query,
        )
        emit("ctx.prepare", report_numbers(prompt.report), config)
        return prompt.messages

    @property
    def _budget(self) -> int:
        return budget_for(self.model, self.max_tokens)

    def _held_in(self, value: dict[str, Any]) -> Sequence[Any]:
        if self.messages_key not in value:
            raise InvalidInput(
                f"the dict has no {self.messages_key!r}; it has {', '.join(map(repr, value)) or 'nothing'}"
            )
        return value[self.messages_key]


def _are_documents(values: Sequence[Any]) -> bool:
    return bool(values) and all(isinstance(value, Document) for value in values)
