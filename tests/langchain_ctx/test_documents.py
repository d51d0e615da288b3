"""Retrieved documents get shorter and stay themselves."""

import pickle

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_tests.integration_tests import RetrieversIntegrationTests

from ctx_core import ContextOptimizer, TokenCounter
from langchain_ctx import CompressedRetriever, ContextDocumentCompressor
from langchain_ctx.testing.compressors import DocumentCompressorSuite


class TestCompressor(DocumentCompressorSuite):
    @pytest.fixture
    def compressor(self):
        return ContextDocumentCompressor()


class TestCompressorWithinABudget(DocumentCompressorSuite):
    @pytest.fixture
    def compressor(self):
        return ContextDocumentCompressor(max_tokens=300)


class Shelf(BaseRetriever):
    documents: list[Document] = []  # noqa: RUF012 - pydantic copies it
    k: int = 10

    def _get_relevant_documents(self, query, *, run_manager, k=None):
        return self.documents[: k or self.k]


@pytest.fixture
def documents(log):
    return [Document(page_content=log, id=str(n), metadata={"n": n}) for n in range(4)]


def test_the_metadata_says_what_was_done_and_leads_back(documents, log):
    compressor = ContextDocumentCompressor()
    out = compressor.compress_documents(documents, "disk")[0]
    assert out.metadata["n"] == 0
    assert set(out.metadata) == {"n", "ctx_ref", "ctx_content_type", "ctx_original_tokens", "ctx_tokens"}
    assert out.metadata["ctx_tokens"] < out.metadata["ctx_original_tokens"]
    assert "disk full" in out.page_content
    assert compressor.optimizer.retrieve(out.metadata["ctx_ref"]) == log


def test_all_documents_together_are_within_the_budget(documents):
    out = ContextDocumentCompressor(max_tokens=400).compress_documents(documents, "disk")
    assert len(out) == 4
    assert sum(TokenCounter().count(document.page_content) for document in out) <= 400


def test_it_is_a_transformer_too(documents):
    compressor = ContextDocumentCompressor(max_tokens=400)
    assert compressor.transform_documents(documents) == compressor.compress_documents(documents, "")
    assert compressor.transform_documents(documents, query="disk") == compressor.compress_documents(documents, "disk")


def test_it_works_in_the_classic_wrappers(documents):
    compressor = ContextDocumentCompressor()
    pipeline = DocumentCompressorPipeline(transformers=[compressor, compressor])
    retriever = ContextualCompressionRetriever(base_compressor=pipeline, base_retriever=Shelf(documents=documents))
    assert retriever.invoke("disk") == list(compressor.compress_documents(documents, "disk"))


async def test_it_works_in_the_classic_wrappers_async(documents):
    compressor = ContextDocumentCompressor()
    pipeline = DocumentCompressorPipeline(transformers=[compressor])
    retriever = ContextualCompressionRetriever(base_compressor=pipeline, base_retriever=Shelf(documents=documents))
    assert await retriever.ainvoke("disk") == list(compressor.compress_documents(documents, "disk"))


class TestCompressedRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self):
        return _shelf_of_three

    @property
    def retriever_constructor_params(self):
        return {}

    @property
    def retriever_query_example(self):
        return "disk"


def _shelf_of_three(k=10):
    documents = [Document(page_content=f"note {n}") for n in range(3)]
    return CompressedRetriever(base_retriever=Shelf(documents=documents, k=k))


def test_arguments_and_callbacks_reach_the_base_retriever(documents):
    class Names(BaseCallbackHandler):
        def __init__(self):
            self.names = []

        def on_retriever_start(self, serialized, query, *, parent_run_id=None, name=None, **kwargs):
            self.names.append((name, parent_run_id is not None))

    heard = Names()
    retriever = CompressedRetriever(base_retriever=Shelf(documents=documents))
    assert len(retriever.invoke("disk", {"callbacks": [heard]}, k=2)) == 2
    assert heard.names == [("CompressedRetriever", False), ("Shelf", True)]


def test_any_runnable_from_query_to_documents_can_be_wrapped(documents):
    retriever = CompressedRetriever(base_retriever=RunnableLambda(lambda query: documents))
    assert [document.id for document in retriever.invoke("disk")] == ["0", "1", "2", "3"]
    assert CompressedRetriever(base_retriever=RunnableLambda(lambda query: [])).invoke("disk") == []


def test_compressors_pickle(documents):
    compressor = pickle.loads(pickle.dumps(ContextDocumentCompressor(optimizer=ContextOptimizer(), max_tokens=500)))
    assert compressor.max_tokens == 500
