"""A LlamaIndex agent whose tool results are compressed at the source, with the originals one call away.

Runs offline with a scripted model; for a real one, set `llm=OpenAI("gpt-4o-mini")` and drop the script.
"""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, ChatResponseAsyncGen, LLMMetadata, ToolCallBlock
from llama_index.core.llms import MockLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.tools import FunctionTool

from ctx_core import ContextOptimizer, TokenCounter
from llamaindex_ctx import compress_tool, retrieve_original_tool


def read_log(path: str) -> str:
    """Read a log file."""
    lines = [f"01:{n // 60:02d}:{n % 60:02d} INFO block {n} copied in {n % 17} ms" for n in range(900)]
    return "\n".join([path, *lines[:700], "ERROR replica 3 refused block 700: no space left on device", *lines[700:]])


class ScriptedLLM(MockLLM):
    """A model that calls one tool, then answers with the error line it was shown."""

    seen: list[int] = []  # noqa: RUF012 - a pydantic field, copied for each instance

    @property
    def metadata(self) -> LLMMetadata:
        """Say that the model calls tools."""
        return LLMMetadata(is_function_calling_model=True)

    def _answer(self, messages: list[ChatMessage]) -> ChatMessage:
        shown = "\n".join(str(message.content) for message in messages)
        self.seen.append(TokenCounter().count(shown))
        error = next((line for line in shown.splitlines() if "ERROR" in line), None)
        if error:
            return ChatMessage(
                role="assistant", content=f"Thought: I can answer now.\nAnswer: It failed: {error.strip()}"
            )
        call = ToolCallBlock(tool_call_id="c1", tool_name="read_log", tool_kwargs={"path": "nightly.log"})
        return ChatMessage(role="assistant", blocks=[call], additional_kwargs={"tool_calls": [call]})

    async def astream_chat_with_tools(
        self, tools: Any, chat_history: Any = None, **kwargs: Any
    ) -> ChatResponseAsyncGen:
        """Stream one scripted message."""
        del tools, kwargs
        return self._stream(self._answer(list(chat_history)))

    async def astream_chat(self, messages: Any, **kwargs: Any) -> ChatResponseAsyncGen:
        """Stream one scripted message in ReAct's form."""
        del kwargs
        message = self._answer(list(messages))
        if message.additional_kwargs:
            message = ChatMessage(
                role="assistant",
                content='Thought: I need the log.\nAction: read_log\nAction Input: {"path": "nightly.log"}',
            )
        return self._stream(message)

    async def _stream(self, message: ChatMessage) -> ChatResponseAsyncGen:
        yield ChatResponse(message=message, delta=message.content or "")

    def get_tool_calls_from_response(self, response: ChatResponse, **kwargs: Any) -> list[ToolSelection]:
        """Read the scripted calls."""
        del kwargs
        return [
            ToolSelection(
                tool_id=str(block.tool_call_id), tool_name=block.tool_name, tool_kwargs={"path": "nightly.log"}
            )
            for block in response.message.blocks
            if isinstance(block, ToolCallBlock)
        ]


async def ask(agent_type: type[FunctionAgent | ReActAgent]) -> tuple[str, list[int]]:
    """Run one agent; return its answer and the tokens of each prompt."""
    optimizer = ContextOptimizer(retrieval_tool="retrieve_original")
    tools = [
        compress_tool(FunctionTool.from_defaults(read_log), optimizer=optimizer),
        retrieve_original_tool(optimizer),
    ]
    llm = ScriptedLLM(max_tokens=None)
    answer = await agent_type(tools=tools, llm=llm).run(user_msg="Why did the nightly job fail?")
    return str(answer), llm.seen


def main() -> None:
    """Ask both kinds of agents."""
    raw = TokenCounter().count(read_log("nightly.log"))
    for agent_type in (FunctionAgent, ReActAgent):
        answer, prompts = asyncio.run(ask(agent_type))
        assert "no space left on device" in answer
        assert max(prompts) < raw / 5
        print(f"{agent_type.__name__}: tool output of {raw} tokens, prompts of {prompts} tokens\n  {answer}")


if __name__ == "__main__":
    main()
