"""What every context middleware owes an agent; needs the extra `agents`."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctx.testing.fakes import FakeChatModel, calls
from langchain_ctx.testing.order import assert_legal_order

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.runnables import RunnableConfig

_STEPS = 12


@tool
def list_orders(page: int) -> str:
    """List the orders of a page."""
    return json.dumps([{"order": f"{page}-{row}", "status": "shipped", "total": row * 7} for row in range(40)])


@tool
def fail(page: int) -> str:
    """Fail."""
    raise ValueError(f"page {page} cannot be read")


class MiddlewareSuite:
    """Subclass it and give the fixture `make`: a function that returns a new instance of the middleware."""

    @pytest.fixture
    def make(self) -> Callable[[], AgentMiddleware[Any, Any, Any]]:
        """Return a function that makes the middleware under test."""
        raise NotImplementedError

    def _agent(self, make: Callable[[], AgentMiddleware[Any, Any, Any]], **options: Any) -> tuple[FakeChatModel, Any]:
        model = FakeChatModel(script=_browse)
        middleware = [make(), *options.pop("beside", ())]
        agent = create_agent(model, [list_orders, fail], middleware=middleware, system_prompt="You sell.", **options)
        return model, agent

    def test_every_way_to_run_works(self, make: Callable[[], AgentMiddleware[Any, Any, Any]]) -> None:
        """`invoke` and `stream` end with the model's answer."""
        _, agent = self._agent(make)
        asked = {"messages": [HumanMessage("Which orders are there?")]}
        assert agent.invoke(asked, _config())["messages"][-1].text == "done"
        assert [*agent.stream(asked, _config(), stream_mode="values")][-1]["messages"][-1].text == "done"

    async def test_every_async_way_to_run_works(self, make: Callable[[], AgentMiddleware[Any, Any, Any]]) -> None:
        """`ainvoke` and `astream` do as well."""
        _, agent = self._agent(make)
        asked = {"messages": [HumanMessage("Which orders are there?")]}
        assert (await agent.ainvoke(asked, _config()))["messages"][-1].text == "done"
        last = [state async for state in agent.astream(asked, _config(), stream_mode="values")][-1]
        assert last["messages"][-1].text == "done"

    def test_every_prompt_is_legal(self, make: Callable[[], AgentMiddleware[Any, Any, Any]]) -> None:
        """OpenAI, Anthropic and Gemini would accept each one."""
        model, agent = self._agent(make)
        agent.invoke({"messages": [HumanMessage("Which orders are there?")]}, _config())
        assert len(model.prompts) == _STEPS + 1
        for prompt in model.prompts:
            assert_legal_order(prompt)

    def test_the_task_is_in_every_prompt(self, make: Callable[[], AgentMiddleware[Any, Any, Any]]) -> None:
        """However long the tool loop gets, the model knows what it was asked."""
        model, agent = self._agent(make)
        agent.invoke({"messages": [HumanMessage("Find order 7-7.")]}, _config())
        assert all(any("Find order 7-7." in message.text for message in prompt) for prompt in model.prompts)

    def test_the_callers_messages_stay_as_they_were(self, make: Callable[[], AgentMiddleware[Any, Any, Any]]) -> None:
        """Input objects are never written to."""
        _, agent = self._agent(make)
        given: list[BaseMessage] = [HumanMessage("Which orders are there?", id="h"), *_past(30)]
        before = deepcopy(given)
        agent.invoke({"messages": [*given, HumanMessage("And now?")]}, _config())
        assert given == before

    def test_a_thread_goes_on_from_its_checkpoint(self, make: Callable[[], AgentMiddleware[Any, Any, Any]]) -> None:
        """A second question on the same thread, with a new instance, is answered."""
        saver = InMemorySaver()
        for question in ("Which orders are there?", "And now?"):
            _, agent = self._agent(make, checkpointer=saver)
            out = agent.invoke({"messages": [HumanMessage(question)]}, _config())
            assert out["messages"][-1].text == "done"

    def test_a_failed_tool_still_reads_as_failed(self, make: Callable[[], AgentMiddleware[Any, Any, Any]]) -> None:
        """Status, name and error text of an error result are kept."""
        middleware = make()
        failed = ToolMessage("Error: page 3 cannot be read", tool_call_id="c", name="fail", status="error")
        request: Any = _Request()
        out: Any = middleware.wrap_tool_call(request, lambda _: failed)
        assert (out.status, out.name, out.content) == ("error", "fail", failed.content)


class _Request:
    """As much of a `ToolCallRequest` as a middleware may look at outside of a graph."""

    tool_call: dict[str, Any] = {"id": "c", "name": "fail", "args": {"page": 3}}  # noqa: RUF012 - read only
    tool = fail
    state: dict[str, Any] = {"messages": []}  # noqa: RUF012 - read only
    runtime = None


def _browse(prompt: list[BaseMessage]) -> AIMessage:
    results = [message for message in prompt if isinstance(message, ToolMessage)]
    fresh = not results or (
        isinstance(prompt[-1], HumanMessage) and prompt[-1].additional_kwargs.get("lc_source") is None
    )
    page = 0 if fresh else int(results[-1].tool_call_id.rpartition("-")[2]) + 1
    return AIMessage("done") if page >= _STEPS else calls((f"call-{page}", "list_orders", {"page": page}))


def _past(pairs: int) -> list[BaseMessage]:
    said = ((HumanMessage(f"Question {n}?", id=f"q{n}"), AIMessage(f"Answer {n}.", id=f"a{n}")) for n in range(pairs))
    return [AIMessage("Several.", id="first"), *(message for pair in said for message in pair)]


def _config() -> RunnableConfig:
    return {"configurable": {"thread_id": "thread"}, "recursion_limit": 200}
