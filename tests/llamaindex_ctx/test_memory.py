"""What memory flushes is archived, and what the user refers to comes back."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone

import pytest
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock, ToolCallBlock
from llama_index.core.memory import Memory

from ctx_core import Archive, TokenCounter
from ctx_core.rehydrate.rehydrator import RehydratorConfig
from ctx_core.stores.files import FileBlobs
from ctx_core.stores.s3 import S3Blobs
from llamaindex_ctx import RehydrationMemoryBlock
from llamaindex_ctx.messages import to_message, to_turns

LIMIT = 2000
ONE = RehydratorConfig(max_rehydrated=1)
FACTS = {n: f"The code of locker {n} is L-{n * 7919 % 10007}." for n in range(30)}


def block_for(archive, **options):
    return RehydrationMemoryBlock(user_id="user-1", archive=archive, priority=1, **options)


def memory_with(*blocks, session_id="s1"):
    return Memory.from_defaults(
        session_id=session_id, token_limit=LIMIT, token_flush_size=300, memory_blocks=list(blocks)
    )


async def tell(memory, facts):
    for number, fact in facts.items():
        await memory.aput(ChatMessage(role="user", content=f"{fact} " + "It was a quiet day at the depot. " * 8))
        await memory.aput(
            ChatMessage(role="assistant", content=f"Locker {number} is noted. " + "Anything else I can do? " * 8)
        )


async def prompt_for(memory, question):
    await memory.aput(ChatMessage(role="user", content=question))
    messages = await memory.aget()
    await memory.aput(ChatMessage(role="assistant", content="See above."))
    return "\n".join(str(message.content) for message in messages)


async def share_kept(memory):
    """The share of ten questions over a long chat whose answer stands in the prompt."""
    await tell(memory, FACTS)
    found = 0
    for number in range(0, 30, 3):
        prompt = await prompt_for(memory, f"Remember the code of locker {number}? Which one was it?")
        found += FACTS[number].split()[-1].rstrip(".") in prompt
        assert TokenCounter().count(prompt) <= LIMIT * 1.1
    return found / 10


async def test_in_a_forty_turn_chat_every_fact_asked_for_is_in_the_prompt():
    assert await share_kept(memory_with(block_for(Archive(embedder=None)))) == 1.0


async def test_memory_alone_forgets_most_of_them():
    assert await share_kept(memory_with()) < 0.5


async def test_facts_come_back_in_a_later_session_and_loop():
    archive = Archive(embedder=None)
    await asyncio.to_thread(asyncio.run, tell(memory_with(block_for(archive), session_id="old"), FACTS))
    later = memory_with(block_for(archive), session_id="new")
    assert "L-7919" in await prompt_for(later, "Remember the code of locker 1? Which one was it?")


async def test_a_message_that_does_not_look_back_brings_nothing():
    memory = memory_with(block_for(Archive(embedder=None)))
    await tell(memory, FACTS)
    assert "<rehydrated-context>" not in await prompt_for(memory, "Please order more crates.")


def test_concurrent_puts_from_several_loops_lose_nothing():
    archive = Archive(embedder=None)
    block = block_for(archive)

    def put(worker):
        messages = [ChatMessage(role="user", content=f"worker {worker} says {n}") for n in range(25)]
        asyncio.run(block.aput(messages, from_short_term_memory=True, session_id=f"s{worker}"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, range(8)))
    assert len(archive.export("user-1")) == 200


async def test_a_failing_archive_never_fails_the_chat():
    class Broken(Archive):
        def append(self, *_args, **_kwargs):
            raise OSError("no disk")

        def scan(self, *_args, **_kwargs):
            raise OSError("no disk")

    memory = memory_with(block_for(Broken(embedder=None)))
    await tell(memory, FACTS)
    assert "locker 29" in await prompt_for(memory, "Remember the code of locker 1?")


async def test_what_a_store_that_was_down_did_not_take_is_kept_and_stored_later():
    class Down(Archive):
        is_down = True

        def append(self, *args, **options):
            if self.is_down:
                raise OSError("no disk")
            return super().append(*args, **options)

    archive = Down(embedder=None)
    block = block_for(archive)
    messages = [ChatMessage(role="user", content=f"The code of locker {n} is L-{n}.") for n in range(4)]
    await block.aput(messages[:2], from_short_term_memory=True, session_id="s1")
    assert archive.export("user-1") == []
    archive.is_down = False
    await block.aput(messages[2:], from_short_term_memory=True, session_id="s1")
    assert [turn.text for turn in archive.export("user-1")] == [message.content for message in messages]


@pytest.mark.parametrize("cut", [20, 60, 10_000])
async def test_truncation_keeps_a_well_formed_block_or_none(cut):
    archive = Archive(embedder=None)
    archive.append("user-1", [{"role": "user", "content": fact, "id": str(n)} for n, fact in FACTS.items()])
    block = block_for(archive)
    content = await block.aget([ChatMessage(role="user", content="Remember the code of locker 3? And of locker 4?")])
    shorter = await block.atruncate(content, cut)
    assert shorter is None or (shorter.startswith("<rehydrated-context>") and shorter.endswith("</rehydrated-context>"))
    assert TokenCounter().count(shorter or "") <= max(0, TokenCounter().count(content) - cut)


@pytest.mark.parametrize("place", ["memory", "file"])
async def test_a_block_restored_from_json_finds_its_archive_again(place, tmp_path):
    archive = Archive(FileBlobs(tmp_path / "büro 1"), prefix="mine") if place == "file" else Archive()
    archive.append("user-1", [{"role": "user", "content": "The door code is 4711-N."}])
    again = RehydrationMemoryBlock(**json.loads(block_for(archive).model_dump_json()))
    assert [turn.text for turn in again.archive.export("user-1")] == ["The door code is 4711-N."]
    assert again.archive.prefix == archive.prefix


def test_the_address_of_an_archive_holds_no_secret():
    blobs = S3Blobs("bucket", prefix="a/b", endpoint_url="http://localhost:1", aws_secret_access_key="hush")
    written = block_for(Archive(blobs)).model_dump_json()
    again = RehydrationMemoryBlock(**json.loads(written)).archive.blobs
    assert "hush" not in written
    assert (again.bucket, again.prefix) == ("bucket", "a/b/")


def test_an_archive_that_ended_with_its_process_is_an_empty_one():
    values = {"user_id": "user-1", "archive": {"url": "memory:gone", "prefix": "evictions"}}
    assert RehydrationMemoryBlock(**values).archive.export("user-1") == []


async def test_last_time_means_an_earlier_session_than_the_ongoing_one():
    archive = Archive(embedder=None)
    for session, color in (("s1", "red"), ("s2", "green")):
        told = [ChatMessage(role="user", content=f"I like the {color} tiles.")]
        await block_for(archive).aput(told, session_id=session)
    asked = [ChatMessage(role="user", content="Which tiles did I say I like last time we talked?")]
    block = await block_for(archive, config=ONE).aget(asked, session_id="s2")
    assert "red tiles" in block
    assert "green tiles" not in block


async def test_turns_are_dated_from_created_at_and_found_by_day_in_the_zone_of_the_clock():
    archive = Archive(embedder=None)
    auckland = timezone(timedelta(hours=12))
    # Half past eleven at night by UTC on the 2nd is the 3rd in Auckland.
    for text, said in (("red", "2026-03-01T12:00:00+00:00"), ("green", "2026-03-02T23:30:00+00:00")):
        kept = {"created_at": said}
        await block_for(archive).aput(
            [ChatMessage(role="user", content=f"I chose {text} tiles.", additional_kwargs=kept)]
        )
    block = block_for(archive, config=ONE, clock=lambda: datetime(2026, 3, 4, 9, tzinfo=auckland))
    found = await block.aget([ChatMessage(role="user", content="Which tiles did I choose yesterday?")])
    assert all(turn.created_at for turn in archive.export("user-1"))
    assert "green tiles" in found
    assert "red tiles" not in found


async def test_a_history_set_again_is_kept_once_and_a_reply_given_twice_is_kept_twice():
    archive = Archive(embedder=None)
    texts = ["Tidy up.", "Renew the paper?", "Yes, please.", "Cancel the gym?", "Yes, please.", "Cancelled."]
    told = [ChatMessage(role=("user", "assistant")[at % 2], content=text) for at, text in enumerate(texts)]
    for _ in range(2):
        await block_for(archive).aput([message.model_copy(deep=True) for message in told], session_id="s1")
    assert [turn.text for turn in archive.export("user-1")] == texts


def test_blocks_of_every_kind_reach_the_archive():
    call = ToolCallBlock(tool_call_id="c1", tool_name="run", tool_kwargs={"n": 1})
    asks = to_message(ChatMessage(role="assistant", blocks=[TextBlock(text="I will run it."), call]))
    assert asks.text == "I will run it."
    assert asks.tool_calls[0].arguments == '{"n": 1}'
    answers = to_message(ChatMessage(role="tool", content="done", additional_kwargs={"tool_call_id": "c1"}))
    assert (answers.tool_call_id, answers.text) == ("c1", "done")
    assert to_turns([ChatMessage(role="user", content="  ")]) == []
    image = to_message(ChatMessage(role="user", blocks=[TextBlock(text="look"), ImageBlock(image=b"x")]))
    assert image.text == "look"
    assert len(image.content) == 2
