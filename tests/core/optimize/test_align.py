"""The aligner moves what is about the request, and nothing else."""

import itertools
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from ctx_core import CacheAligner, Message, ToolCall
from ctx_core.errors import InvalidInput
from ctx_core.optimize.align import CACHE_RULES, align_tools

RULES = "You answer questions about stock.\nNever promise a delivery date.\nRefunds are given until 2024-05-01."

VOLATILE = [
    "Current time: 2026-05-01T10:00:07Z",
    "Current time is 15:09:20. Today is 2031-09-09.",
    "Current date: Friday, May 1, 2026",
    "The current date and time is Friday, 1 May 2026, 10:00 UTC.",
    "- Today's date: 2026-05-01",
    "* **Current date:** 1st of May 2026",
    "Today is Tuesday.",
    "Date: 2026-05-01",
    "Timestamp: 1777629607",
    "It is now 10:04 am, Europe/Berlin",
    "Local time (Berlin): 10:04",
    "current_datetime = 2026-05-01 10:04:09.123",
    "<current_time>2026-05-01T10:00:07+02:00</current_time>",
    "Prompt generated at 2026-05-01 10:00",
    "Aktuelles Datum: 01.05.2026",
    "当前时间：2026年5月1日 10:04",
    "今天是2026年5月1日",
    "Request: 550e8400-e29b-41d4-a716-446655440000",
    "Request ID: req_9f8a7b6c",
    "X-Request-ID: 7d9e1f00",
    "Session ID: `a81bc81b`",
    "session_id=42",
    "Run: run-20260501-7f3a",
    "Trace ID: 4bf92f3577b34da6a3ce929d0e0e4736",
    "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "Conversation id is 77812",
    "Working directory: /tmp/agent-8f3a/repo",
    "Scratch dir: /var/folders/zz/T/tmpab12cd",
    "Temp folder: C:\\Users\\me\\AppData\\Local\\Temp\\x91",
    "Date: 2026-05-01 | Time: 10:04 | Session: 8f3a91c2d4",
]

CONTENT = [
    "Refunds after 2024-05-01 are not given.",
    "Our offices are closed on 2026-12-24.",
    "If the current date is 2026-12-24, wish a happy Christmas.",
    "Today is 2031-09-09, so the summer sale is over.",
    "Today is a good day to ask for help.",
    "Knowledge cutoff: 2024-06",
    "The contract date: 2024-05-01",
    "Release date is 2026-05-01.",
    "Model released: 2026-05-01",
    "Order ID: 550e8400-e29b-41d4-a716-446655440000",
    "User ID: 8812",
    "Account: 550e8400-e29b-41d4-a716-446655440000",
    "Current time: HH:MM",
    "Request: please answer in French",
    "Session: morning",
    "Write logs to /tmp/app.log",
    "Log file: /srv/data/run-2026/app.log",
    "Config file: /etc/app/conf-12.yaml",
    "Opening time: 09:00",
    "Run the tests at 10:00.",
    "> Current date: 2019-01-01",
    "Now: think before you answer.",
    "Always begin with 'Current time: 10:00' when asked.",
    "Version: 2026-05-01",
]


def system(*lines: str) -> list[Message]:
    return [Message(role="system", content="\n".join(lines)), Message(role="user", content="Is it in stock?")]


def align(messages, **kwargs):
    return CacheAligner().align(messages, conversation_id="c", **kwargs)


def flat(messages) -> str:
    return "\x1e".join(f"{message.role}:{message.text}" for message in messages)


@pytest.mark.parametrize("line", VOLATILE)
def test_lines_about_the_request_move_to_the_tail(line):
    aligned = align(system(line, "", RULES))
    assert aligned.messages[0].text == RULES
    assert aligned.messages[-1].text.startswith("Is it in stock?\n\n")
    assert line.strip() in aligned.messages[-1].text
    assert aligned.moved == (line.strip(),)


@pytest.mark.parametrize("line", CONTENT)
def test_dates_ids_and_paths_that_are_content_stay(line):
    messages = system(RULES, "", line, "", "Be brief.")
    aligned = align(messages)
    assert aligned.messages == messages
    assert aligned.moved == ()


def test_a_sentence_moves_out_of_its_line_with_its_label():
    aligned = align(system("You are the desk assistant. Current time is 15:09:20. Be kind.", RULES))
    assert aligned.messages[0].text == f"You are the desk assistant. Be kind.\n{RULES}"
    assert aligned.moved == ("Current time is 15:09:20.",)


def test_quoted_material_stays():
    for quoted in (
        "```\nCurrent time: 2026-05-01T10:00:07Z\nsession_id=42\n```",
        "<document>\nCurrent date: 2019-01-01\n</document>",
        "Answer in this format:\nCurrent time: 10:00\nSession ID: 42",
        "From: Ann\nDate: 2026-05-01\nSubject: Stock",
    ):
        messages = system(RULES, "", quoted)
        assert align(messages).messages == messages


def test_the_tail_block():
    messages = [
        Message(role="system", content=f"Current time: 10:00\nRequest ID: r-1\n{RULES}"),
        Message(role="user", content="Hello"),
        Message(role="assistant", content="", tool_calls=(ToolCall(id="t1", name="stock"),)),
        Message(role="tool", content="7 left", tool_call_id="t1"),
    ]
    aligned = align(messages)
    assert aligned.messages[1:4] == messages[1:4]
    assert aligned.messages[4:] == [
        Message(role="user", content="<request-context>\nCurrent time: 10:00\nRequest ID: r-1\n</request-context>")
    ]


def test_an_answer_begun_for_the_model_stays_last():
    messages = [*system("Current time: 10:00", RULES), Message(role="assistant", content="In stock:")]
    aligned = align(messages).messages
    assert [message.role for message in aligned] == ["system", "user", "assistant"]
    assert "Current time: 10:00" in aligned[1].text
    assert aligned[2] == messages[2]


def test_content_blocks_keep_their_shape():
    image = {"type": "image", "source": {"data": "…"}}
    messages = [
        Message(
            role="developer", content=[{"type": "text", "text": "Current time: 10:00"}, {"type": "text", "text": RULES}]
        ),
        Message(role="user", content=[image, {"type": "text", "text": "What is this?"}]),
    ]
    aligned = align(messages).messages
    assert aligned[0].content == [{"type": "text", "text": RULES}]
    assert aligned[1].content == snapshot(
        [
            {"type": "image", "source": {"data": "…"}},
            {"type": "text", "text": "What is this?"},
            {
                "type": "text",
                "text": """\
<request-context>
Current time: 10:00
</request-context>\
""",
            },
        ]
    )
    assert messages[0].text.startswith("Current time: 10:00")


def test_instructions_that_were_only_a_clock_leave_no_empty_message():
    aligned = align([Message(role="system", content="Current time: 10:00"), Message(role="user", content="Hi")])
    assert [message.role for message in aligned.messages] == ["user"]


def conversation(clock: str, turns: int) -> list[Message]:
    messages = [Message(role="system", content=f"Current time: {clock}\nRequest: {turns:032d}\n" + f"{RULES}\n" * 60)]
    for turn in range(turns):
        messages += [
            Message(role="user", content=f"Question {turn}?"),
            Message(role="assistant", content=f"Answer {turn}."),
        ]
    return messages[:-1]


def test_a_clock_costs_no_prefix_as_a_chat_grows():
    aligner = CacheAligner()
    requests = [aligner.align(conversation(f"10:{turn:02}", turn), conversation_id="c") for turn in range(1, 6)]
    for earlier, later in itertools.pairwise(requests):
        stable = flat(earlier.messages).partition("\n\n<request-context>")[0]
        assert flat(later.messages).startswith(stable)
        assert later.drift.changed is None
        assert later.drift.served_share > 0.9


def test_both_clocks_reach_the_model_behind_a_prefix_that_covers_the_rules():
    first, second = (
        align(system(f"Current time is 15:09:{second}. Today is 2031-09-09.", RULES * 100)).messages
        for second in (20, 41)
    )
    assert flat(second).startswith(flat(first)[: len("system:" + RULES * 100)])
    assert "15:09:20" in flat(first)
    assert "15:09:41" in flat(second)


def test_drift_names_the_line_that_changed_and_what_is_still_served():
    aligner = CacheAligner()
    rules = [f"Rule {number}: keep the answer short and kind." for number in range(200)]
    aligner.align(system(*rules), conversation_id="c")
    rules[150] = "Rule 150: users online: 17"
    drift = aligner.align(system(*rules), conversation_id="c").drift
    assert (drift.changed, drift.excerpt) == ("message 0 (system), line 151", "Rule 150: users online: 17")
    assert drift.served_tokens % 128 == 0
    assert 1024 < drift.served_tokens <= drift.stable_tokens < drift.total_tokens


def test_drift_tells_rewritten_history_from_growth():
    aligner = CacheAligner()
    messages = conversation("10:00", 4)
    assert aligner.align(messages, conversation_id="c").drift.changed is None
    assert aligner.align(conversation("10:01", 5), conversation_id="c").drift.changed is None
    assert (
        aligner.align([*messages[:3], Message(role="user", content="[compacted]")], conversation_id="c").drift.changed
        == "message 3 (user)"
    )
    assert aligner.align(messages[:3], conversation_id="c").drift.changed == "message 3 is gone"
    assert aligner.align(messages, conversation_id="other").drift.stable_tokens == 0


@pytest.mark.parametrize(
    ("provider", "model", "tokens", "served"),
    [
        ("openai", None, 1023, 0),
        ("openai", "gpt-5", 1300, 1280),
        ("anthropic", None, 1300, 1300),
        ("anthropic", "claude-haiku-4-5", 1300, 0),
        ("gemini", "gemini-2.5-pro", 2047, 0),
        ("deepseek", None, 130, 128),
        ("vllm", None, 47, 32),
    ],
)
def test_providers_rules(provider, model, tokens, served):
    assert CacheAligner(provider=provider, model=model).rule.served(tokens) == served


def test_a_breakpoint_looks_back_only_so_far():
    rule = CacheAligner(provider="anthropic").rule
    assert rule.served(5000, blocks_since=20) == 5000
    assert rule.served(5000, blocks_since=21) == 0


def test_every_rule_names_its_source():
    assert all(rule.source.startswith("https://") for rule in CACHE_RULES)
    with pytest.raises(InvalidInput, match="known are openai"):
        CacheAligner(provider="acme")


SEARCH = {
    "name": "search",
    "parameters": {
        "type": "object",
        "properties": {"q": {"type": "string"}, "range": {"type": "string", "enum": ["week", "day"]}},
        "required": ["q", "range"],
    },
}
ADD = {"name": "add", "parameters": {"type": "object", "properties": {}}}


def reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: value[key] if key == "enum" else reordered(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return [reordered(item) for item in reversed(value)]
    return value


def test_equal_sets_of_tools_become_equal_bytes():
    one, two = [SEARCH, ADD], reordered([SEARCH, ADD])
    assert json.dumps(align_tools(one)) == json.dumps(CacheAligner().align_tools(two))
    assert align_tools(one)[1]["parameters"]["properties"]["range"]["enum"] == ["week", "day"]
    assert list(one[0]) == ["name", "parameters"]
    assert align(system(RULES), tools=one).tools == align_tools(two)


def test_a_tool_with_a_breakpoint_keeps_its_place():
    marked = {**ADD, "cache_control": {"type": "ephemeral"}}
    names = [tool["name"] for tool in align_tools([{"name": "z"}, SEARCH, marked, {"name": "c"}, {"name": "b"}])]
    assert names == ["search", "z", "add", "b", "c"]


def test_only_required_of_a_schema_is_a_set():
    schema = {
        "properties": {"default": {"required": ["b", "a"]}},
        "default": {"required": ["b", "a"]},
        "anyOf": ["b", "a"],
    }
    (tool,) = align_tools([{"function": {"name": "f", "parameters": schema}}])
    parameters = tool["function"]["parameters"]
    assert parameters["properties"]["default"]["required"] == ["a", "b"]
    assert parameters["default"]["required"] == ["b", "a"]
    assert parameters["anyOf"] == ["b", "a"]


@given(st.lists(st.sampled_from([*VOLATILE, *CONTENT, "", "```", "text"]) | st.text(max_size=40), max_size=12))
def test_nothing_is_lost_and_aligning_twice_changes_nothing(lines):
    text = "\n".join(lines)
    once = align([Message(role="system", content=text), Message(role="user", content="Hi")])
    shown = flat(once.messages)
    assert all(word in shown for word in text.split())
    assert all(line in text for line in once.moved)
    twice = align(once.messages)
    assert twice.moved == ()
    assert twice.messages == once.messages


def test_threads_share_one_aligner():
    aligner = CacheAligner(max_conversations=8)

    def chat(number: int) -> list[float]:
        return [
            aligner.align(conversation(f"10:{turn:02}", turn), conversation_id=f"c{number % 8}").drift.served_share
            for turn in range(1, 5)
        ]

    with ThreadPoolExecutor(16) as pool:
        shares = list(pool.map(chat, range(32)))
    assert all(0 <= share <= 1 for row in shares for share in row)


def test_least_recently_used_conversations_are_forgotten():
    aligner = CacheAligner(max_conversations=2)
    for name in ("a", "b", "c"):
        aligner.align(system(RULES), conversation_id=name)
    assert aligner.align(system(RULES), conversation_id="c").drift.stable_tokens > 0
    assert aligner.align(system(RULES), conversation_id="a").drift.stable_tokens == 0


def test_pickles_without_its_memory():
    aligner = CacheAligner(provider="anthropic")
    aligner.align(system(RULES), conversation_id="c")
    copy = pickle.loads(pickle.dumps(aligner))
    assert copy.rule == aligner.rule
    assert copy.align(system(RULES), conversation_id="c").drift.stable_tokens == 0
