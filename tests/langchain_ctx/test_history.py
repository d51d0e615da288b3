"""The archived history passes the suite, and its turns can be searched."""

from datetime import UTC, datetime

import pytest
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage, ToolMessage

from ctx_core import Turn
from ctx_core.errors import InvalidInput
from langchain_ctx import ArchivedChatMessageHistory
from langchain_ctx.testing.histories import ChatHistorySuite


class TestArchivedHistory(ChatHistorySuite):
    @pytest.fixture
    def history(self, archive):
        return ArchivedChatMessageHistory(archive, user_id="user-1", session_id="one")


def test_sessions_of_one_user_stay_apart(archive):
    one, two = (ArchivedChatMessageHistory(archive, user_id="user-1", session_id=name) for name in ("one", "two"))
    one.add_messages([HumanMessage("in one")])
    two.add_messages([HumanMessage("in two")])
    one.clear()
    assert one.messages == []
    assert two.messages == [HumanMessage("in two")]


def test_what_was_said_can_be_found_with_its_time(archive):
    history = ArchivedChatMessageHistory(
        archive, user_id="user-1", session_id="one", now=lambda: datetime(2026, 3, 1, tzinfo=UTC)
    )
    history.add_messages([HumanMessage("The server room key is in locker 12.")])
    hit = archive.search("user-1", "where is the key")[0]
    assert hit.turn.text == "The server room key is in locker 12."
    assert hit.turn.created_at == datetime(2026, 3, 1, tzinfo=UTC)


def test_turns_that_an_eviction_archived_are_read_too(archive):
    archive.append("user-1", [Turn(id="t", role="user", content="hello", session_id="one")])
    history = ArchivedChatMessageHistory(archive, user_id="user-1", session_id="one")
    assert [(message.type, message.content, message.id) for message in history.messages] == [("human", "hello", "t")]


def test_an_artifact_that_is_no_json_is_refused_before_anything_is_written(archive):
    history = ArchivedChatMessageHistory(archive, user_id="user-1", session_id="one")
    with pytest.raises(InvalidInput, match="object"):
        history.add_messages([ToolMessage("x", tool_call_id="c", artifact=object())])
    assert history.messages == []


def test_an_artifact_that_is_a_model_comes_back_as_its_fields(archive):
    history = ArchivedChatMessageHistory(archive, user_id="user-1", session_id="one")
    history.add_messages([ToolMessage("x", tool_call_id="c", artifact=[Document(page_content="raw")])])
    assert history.messages[0].artifact[0]["page_content"] == "raw"
