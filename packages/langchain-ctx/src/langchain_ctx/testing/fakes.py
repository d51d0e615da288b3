"""A chat model that needs no network: it answers from a script and remembers every prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field, PrivateAttr

if TYPE_CHECKING:
    from langchain_core.callbacks import CallbackManagerForLLMRun
    from langchain_core.runnables import Runnable

Script = Sequence[AIMessage | Exception] | Callable[[list[BaseMessage]], AIMessage]
"""What a `FakeChatModel` says: answers in turn (the last one for ever, exceptions raised), or a function of the prompt."""


class FakeChatModel(BaseChatModel):
    """Plays a script, and keeps every prompt it was sent in `prompts`.

    Args:
        script: What it says.
        prompts: Each prompt, in order.
        bound_tools: The tools of the latest binding.
    """

    script: Any = ()
    prompts: list[list[BaseMessage]] = Field(default_factory=list)
    bound_tools: list[Any] = Field(default_factory=list)
    _said: int = PrivateAttr(default=0)

    @property
    def _llm_type(self) -> str:
        return "fake-ctx"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        """Remember the tools; the script calls them or does not."""
        self.bound_tools[:] = tools
        return self.bind(**kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        del stop, run_manager, kwargs
        self.prompts.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages))])

    def _answer(self, messages: list[BaseMessage]) -> AIMessage:
        if callable(self.script):
            return cast("AIMessage", self.script(messages))
        answer = self.script[min(self._said, len(self.script) - 1)]
        self._said += 1
        if isinstance(answer, Exception):
            raise answer
        return answer.model_copy(update={"id": None})


def calls(*named: tuple[str, str, dict[str, Any]], text: str = "") -> AIMessage:
    """Return a message that calls tools, given as (id, name, arguments)."""
    return AIMessage(text, tool_calls=[{"id": id_, "name": name, "args": args} for id_, name, args in named])
