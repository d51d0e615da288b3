"""A LangChain agent with the whole suite: long tool results are shortened, and the model can have any original back.

Runs offline with a fake chat model; for a real one, put `model = init_chat_model("claude-sonnet-4-5")` in its place.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from ctx_core import TokenCounter
from langchain_ctx import ContextMiddleware
from langchain_ctx.testing.fakes import FakeChatModel, calls

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig


@tool
def list_orders(page: int) -> str:
    """List the orders of a page."""
    return json.dumps([{"order": f"{page}-{n}", "status": "shipped", "total": 7 * n} for n in range(120)])


def script(prompt: list[BaseMessage]) -> AIMessage:
    """List eight pages, then ask for what has left the window, then answer."""
    results = [message for message in prompt if isinstance(message, ToolMessage)]
    if results and results[-1].name == "retrieve_original":
        return AIMessage(f"Order 0-100: {results[-1].text.splitlines()[0]}")
    page = int(results[-1].tool_call_id) + 1 if results else 0
    if page < 8:
        return calls((str(page), "list_orders", {"page": page}))
    return calls(("back", "retrieve_original", {"ref": "earlier", "query": '"0-100"'}))


def main() -> None:
    """Run the agent, and print how large each prompt was."""
    model = FakeChatModel(script=script)
    agent = create_agent(
        model,
        [list_orders],
        system_prompt="You look after orders.",
        middleware=[ContextMiddleware(max_tokens=6000)],
        checkpointer=InMemorySaver(),
    )
    config: RunnableConfig = {"configurable": {"thread_id": "monday", "user_id": "user-1"}}
    out = agent.invoke({"messages": [HumanMessage("What is the total of order 0-100?")]}, config)

    count = TokenCounter().count
    for number, prompt in enumerate(model.prompts):
        print(f"prompt {number}: {len(prompt):2} messages, {sum(count(message.text) for message in prompt):5} tokens")
    assert max(sum(count(message.text) for message in prompt) for prompt in model.prompts) <= 6000
    print(f"\n{out['messages'][-1].text}")


if __name__ == "__main__":
    main()
