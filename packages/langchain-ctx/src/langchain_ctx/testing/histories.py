"""What every chat history owes its callers: all of each message, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

if TYPE_CHECKING:
    from langchain_core.chat_history import BaseChatMessageHistory


class ChatHistorySuite:
    """Subclass it and give the fixture `history`, empty each time."""

    @pytest.fixture
    def history(self) -> BaseChatMessageHistory:
        """Return an empty history."""
        raise NotImplementedError

    @pytest.fixture
    def conversation(self) -> list[BaseMessage]:
        """Return messages that use everything a message can hold."""
        call = {"id": "call/1", "name": "look_up", "args": {"order": "4471", "deep": [1, None]}, "type": "tool_call"}
        garbled = {"id": "call/2", "name": "look_up", "args": "{", "error": None, "type": "invalid_tool_call"}
        return [
            SystemMessage("Be brief.", id="s"),
            HumanMessage([{"type": "text", "text": "See:"}, {"type": "image_url", "image_url": {"url": "data:,"}}]),
            AIMessage("", id="a", tool_calls=[call], invalid_tool_calls=[garbled], response_metadata={"model": "m"}),
            ToolMessage(
                "no such order", tool_call_id="call/1", name="look_up", status="error", artifact={"row": [1]}, id="t"
            ),
            AIMessage("It is gone. ✓", name="clerk", additional_kwargs={"note": "x"}),
        ]

    def test_it_starts_empty(self, history: BaseChatMessageHistory) -> None:
        """Nothing was said yet."""
        assert history.messages == []

    def test_every_message_comes_back_whole(
        self, history: BaseChatMessageHistory, conversation: list[BaseMessage]
    ) -> None:
        """Tool calls, artifacts, status, ids, names and metadata are what they were."""
        history.add_messages(conversation)
        assert history.messages == conversation
        assert [message.model_dump() for message in history.messages] == [m.model_dump() for m in conversation]

    def test_the_same_words_twice_are_two_messages(self, history: BaseChatMessageHistory) -> None:
        """A second "ok" is not lost, in one call or in two."""
        history.add_messages([HumanMessage("ok"), HumanMessage("ok")])
        history.add_messages([HumanMessage("ok")])
        assert history.messages == [HumanMessage("ok")] * 3

    def test_calls_keep_their_order(self, history: BaseChatMessageHistory) -> None:
        """What is added later stands later."""
        said: list[BaseMessage] = [HumanMessage(f"message {number}") for number in range(25)]
        for message in said:
            history.add_messages([message])
        assert history.messages == said

    def test_adding_nothing_adds_nothing(self, history: BaseChatMessageHistory) -> None:
        """An empty batch is no error."""
        history.add_messages([])
        assert history.messages == []

    def test_clear_forgets_all(self, history: BaseChatMessageHistory, conversation: list[BaseMessage]) -> None:
        """After it the history is as good as new."""
        history.add_messages(conversation)
        history.clear()
        assert history.messages == []
        history.add_messages(conversation)
        assert history.messages == conversation

    async def test_async_does_the_same(self, history: BaseChatMessageHistory, conversation: list[BaseMessage]) -> None:
        """Both ways lead to one history."""
        await history.aadd_messages(conversation)
        assert await history.aget_messages() == conversation
        await history.aclear()
        assert await history.aget_messages() == []
