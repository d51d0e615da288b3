"""A LangGraph chat whose history outgrows its window: old turns are archived, and come back when the user refers to them.

Runs offline with a fake chat model; for a real one, put `model = init_chat_model("gpt-4o-mini")` in its place.
"""

from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from langchain_ctx import ContextNode
from langchain_ctx.testing.fakes import FakeChatModel


class State(MessagesState):
    """The whole history, and the prompt that is made of it."""

    llm_input_messages: list[AnyMessage]


def main() -> None:
    """Chat until the first message has left the window, and ask for it."""
    model = FakeChatModel(script=lambda prompt: AIMessage(f"I was shown {len(prompt)} messages."))

    def answer(state: State) -> dict[str, Any]:
        return {"messages": [model.invoke(state["llm_input_messages"])]}

    graph = StateGraph(State)
    graph.add_node("context", ContextNode(max_tokens=800))
    graph.add_node("answer", answer)
    graph.add_edge(START, "context")
    graph.add_edge("context", "answer")
    chat = graph.compile(checkpointer=InMemorySaver())

    thread: Any = {"configurable": {"thread_id": "monday", "user_id": "user-1"}}
    said = ["Hello.", "The spare key is in locker 12, next to the boiler."]
    said += [f"Here is note {n}: " + "nothing new to report from the depot. " * 6 for n in range(20)]
    said += ["Remember where I said the spare key is?"]
    for text in said:
        asked: Any = {"messages": [HumanMessage(text)]}
        for part in chat.stream(asked, thread, stream_mode="custom"):
            numbers = part["ctx"]
            print(f"{numbers['tokens_before']:5} -> {numbers['tokens_after']:4} tokens, {numbers['archived']} archived")

    system = model.prompts[-1][0]
    assert "locker 12" in system.text
    print(f"\n{system.text}")


if __name__ == "__main__":
    main()
