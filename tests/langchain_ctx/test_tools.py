"""The model gets its originals back, page by page, and readable errors."""

import pytest

from ctx_core import ContextOptimizer, MemoryCcrStore
from langchain_ctx import retrieve_original_tool
from langchain_ctx.tools import is_retrieval_tool


@pytest.fixture
def optimizer():
    return ContextOptimizer(retrieval_tool="retrieve_original")


def test_the_original_comes_back(optimizer, log):
    result = optimizer.optimize(log)
    tool = retrieve_original_tool(optimizer)
    assert "with the tool retrieve_original" in result.compressed
    first = tool.invoke({"ref": result.ccr_hash})
    assert log.startswith(first.rpartition("\n[page 1 of")[0])
    assert tool.invoke({"ref": result.ccr_hash, "query": "ERROR"}).count("disk full") == 1
    assert tool.invoke({"ref": result.ccr_hash, "first_line": 2, "last_line": 2}) == log.split("\n")[1]
    assert tool.invoke({"ref": f"<!-- CCR:{result.ccr_hash} — full content -->", "first_line": 2}).startswith(
        log.split("\n")[1]
    )


async def test_async_gives_the_same(optimizer, log):
    ref = optimizer.optimize(log).ccr_hash
    tool = retrieve_original_tool(optimizer, name="get_back")
    assert await tool.ainvoke({"ref": ref, "page": 2}) == tool.invoke({"ref": ref, "page": 2})
    assert tool.name == "get_back"


@pytest.mark.parametrize("arguments", [{"ref": "abc123abc123"}, {"ref": "no hash"}, {"ref": "a" * 64, "page": 9}])
def test_a_reference_that_leads_nowhere_is_an_error_the_model_can_read(optimizer, arguments):
    tool = retrieve_original_tool(optimizer)
    out = tool.invoke({"name": tool.name, "args": arguments, "id": "c1", "type": "tool_call"})
    assert out.status == "error"
    assert arguments["ref"] in out.content


def test_an_expired_original_says_so(rows):
    optimizer = ContextOptimizer(MemoryCcrStore(max_entries=1))
    ref = optimizer.optimize(rows(), max_tokens=200).ccr_hash
    optimizer.optimize(rows(start=500), max_tokens=200)
    assert "expired" in retrieve_original_tool(optimizer).invoke({"ref": ref})


def test_a_huge_line_comes_in_pages(optimizer):
    text = "\n".join(chr(ord("a") + n) * 20_000 for n in range(5))
    ref = optimizer.store.put(text)
    tool = retrieve_original_tool(optimizer)
    pages = [tool.invoke({"ref": ref, "page": page}) for page in range(1, 4)]
    assert all(len(page) < 9_000 for page in pages)
    assert len(set(pages)) == 3


def test_it_is_known_under_any_name(optimizer):
    assert is_retrieval_tool(retrieve_original_tool(optimizer, name="other"))
    assert not is_retrieval_tool(None)
