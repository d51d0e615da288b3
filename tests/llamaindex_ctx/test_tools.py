"""Tool results are compressed at the source, and the original is one call away."""

import pytest
from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ImageBlock, TextBlock
from llama_index.core.llms import MockLLM
from llama_index.core.tools import AsyncBaseTool, FunctionTool, QueryEngineTool, ToolOutput
from llama_index.core.workflow import Context

from ctx_core import ContextOptimizer, TokenCounter
from llamaindex_ctx import compress_tool, retrieve_original_tool

COUNT = TokenCounter().count
LOG = "\n".join([*(f"INFO tick {n} ok" for n in range(600)), "ERROR disk full on /data", "INFO bye"])


def read_log(path: str) -> str:
    """Read a log."""
    return f"{path}\n{LOG}"


async def aread_log(path: str) -> str:
    """Read a log."""
    return f"{path}\n{LOG}"


def test_a_tools_output_shrinks_and_keeps_its_name_schema_and_raw_output():
    tool = FunctionTool.from_defaults(read_log)
    wrapped = compress_tool(tool)
    output = wrapped.call(path="run.log")
    assert wrapped.metadata is tool.metadata
    assert COUNT(output.content) < 200
    assert "ERROR disk full on /data" in output.content
    assert output.raw_output == read_log("run.log")


async def test_async_and_sync_functions_work_both_ways():
    for fn in ({"fn": read_log}, {"async_fn": aread_log}):
        wrapped = compress_tool(FunctionTool.from_defaults(**fn))
        assert COUNT((await wrapped.acall(path="run.log")).content) < 200
        assert COUNT(wrapped.call(path="run.log").content) < 200


def test_the_original_comes_back_whole_in_part_and_never_compressed_again():
    def read_jumps(path: str) -> str:
        """Read a log whose ticks jump, so that folding alone does not make it short enough."""
        return f"{path}\n" + "\n".join(f"INFO tick {n * 7919 % 10007} ok" for n in range(600)) + "\nERROR disk full"

    optimizer = ContextOptimizer()
    wrapped = compress_tool(FunctionTool.from_defaults(read_jumps), optimizer=optimizer, max_tokens=120)
    content = wrapped.call(path="run.log").content
    reference = content.split("CCR:")[1][:12]
    back = compress_tool(retrieve_original_tool(optimizer), optimizer=optimizer, max_tokens=100)
    assert "ERROR disk full" in back.call(ref=reference, query="disk full").content
    assert back.call(ref=reference, start_line=1, end_line=1).content.startswith("run.log")
    assert "no content is stored" in back.call(ref="0" * 12).content


def test_errors_keep_their_flag_and_images_pass_through():
    def snap(ctx_free: int) -> ToolOutput:
        """Take a picture."""
        return ToolOutput(
            tool_name="snap",
            blocks=[TextBlock(text=LOG), ImageBlock(image=b"x")],
            raw_input={"n": ctx_free},
            raw_output=None,
            is_error=True,
        )

    tool = FunctionTool.from_defaults(lambda n: None, name="snap", description="d", callback=lambda _: snap(1))
    output = compress_tool(tool).call(n=1)
    assert output.is_error
    assert isinstance(output.blocks[1], ImageBlock)
    assert COUNT(output.blocks[0].text) < 200


def test_a_tools_own_callback_runs_first():
    tool = FunctionTool.from_defaults(read_log, callback=lambda raw: f"seen by callback\n{raw}")
    assert "seen by callback" in compress_tool(tool).call(path="x").content


def test_a_workflow_context_still_reaches_the_function():
    async def remember(ctx: Context, note: str) -> str:
        """Remember a note."""
        return f"{type(ctx).__name__} {note}"

    wrapped = compress_tool(FunctionTool.from_defaults(remember))
    assert isinstance(wrapped, FunctionTool)
    assert wrapped.requires_context
    assert wrapped.ctx_param_name == "ctx"


def test_any_other_tool_can_be_wrapped():
    class Engine:
        def query(self, _):
            return LOG

        async def aquery(self, _):
            return LOG

    tool = QueryEngineTool.from_defaults(Engine(), name="logs", description="Searches logs.")
    assert COUNT(compress_tool(tool).call("what failed?").content) < 200


def test_agents_take_wrapped_tools():
    tools = [compress_tool(FunctionTool.from_defaults(read_log)), retrieve_original_tool(ContextOptimizer())]
    for agent in (FunctionAgent, ReActAgent):
        assert list(agent(tools=tools, llm=MockLLM()).tools or []) == tools


@pytest.mark.parametrize("as_function", [True, False])
async def test_what_a_return_direct_tool_tells_the_user_stays_whole(as_function):
    whole = "\n".join([*(f"INFO tick {n} ok" for n in range(600)), "ERROR disk full on /data"])
    tool = FunctionTool.from_defaults(lambda: whole, name="read_log", description="Read a log.", return_direct=True)
    compressed = compress_tool(tool if as_function else Plain(tool))
    assert compressed.metadata.return_direct
    assert compressed.call().content == whole
    assert (await compressed.acall()).content == whole


def test_an_error_of_a_return_direct_tool_is_read_by_the_model_and_shortened():
    class Failing(Plain):
        def call(self, *args, **kwargs):
            return super().call(*args, **kwargs).model_copy(update={"is_error": True})

    whole = "\n".join(f"INFO tick {n} ok" for n in range(600))
    tool = FunctionTool.from_defaults(lambda: whole, name="read_log", description="Read a log.", return_direct=True)
    output = compress_tool(Failing(tool)).call()
    assert output.is_error
    assert len(output.content) < len(whole) / 10


class Plain(AsyncBaseTool):
    """A tool that is no function tool."""

    def __init__(self, tool):
        self._tool = tool

    @property
    def metadata(self):
        return self._tool.metadata

    def call(self, *args, **kwargs):
        return self._tool.call(*args, **kwargs)

    async def acall(self, *args, **kwargs):
        return self.call(*args, **kwargs)
