"""The checker knows what each provider refuses."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from langchain_ctx.testing.fakes import calls
from langchain_ctx.testing.order import assert_legal_order, order_faults

S, H, A = SystemMessage("s"), HumanMessage("h"), AIMessage("a")
C1, C12 = calls(("1", "f", {})), calls(("1", "f", {}), ("2", "f", {}))
T1, T2 = ToolMessage("r", tool_call_id="1"), ToolMessage("r", tool_call_id="2")
ALL = {"openai", "anthropic", "gemini"}


@pytest.mark.parametrize(
    ("messages", "refused_by"),
    [
        ([S, H, A, H], set()),
        ([S, H, C12, T1, T2, A, H], set()),
        ([S, H, C12, T2, T1, C1, T1], set()),
        ([H, T1], ALL),
        ([H, C12, T1, H], ALL),
        ([H, C1, H, T1], ALL),
        ([H, C1], ALL),
        ([H, C1, T1, T1], ALL),
        ([A, H], {"anthropic", "gemini"}),
        ([H, S, H], {"anthropic", "gemini"}),
        ([S], {"anthropic", "gemini"}),
        ([H, A, C1, T1], {"gemini"}),
        ([H, AIMessage(""), H], {"anthropic"}),
    ],
)
def test_a_prompt_is_refused_by(messages, refused_by):
    assert {provider for provider in ALL if order_faults(messages, provider)} == refused_by


def test_the_assertion_shows_the_order():
    with pytest.raises(AssertionError, match="answers no open call"):
        assert_legal_order([H, T1])
