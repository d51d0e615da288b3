"""LangChain's own suites for tools; those for retrievers are beside the retrievers' tests."""

from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from ctx_core import ContextOptimizer
from langchain_ctx import retrieve_original_tool

OPTIMIZER = ContextOptimizer()
REF = OPTIMIZER.store.put("the whole log")


class TestRetrievalToolUnit(ToolsUnitTests):
    @property
    def tool_constructor(self):
        return retrieve_original_tool(OPTIMIZER)

    @property
    def tool_invoke_params_example(self):
        return {"ref": REF[:12]}


class TestRetrievalToolIntegration(ToolsIntegrationTests):
    @property
    def tool_constructor(self):
        return retrieve_original_tool(OPTIMIZER)

    @property
    def tool_invoke_params_example(self):
        return {"ref": REF[:12], "query": "log"}
