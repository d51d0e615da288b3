"""What every document compressor owes its callers."""

from __future__ import annotations

from copy import deepcopy

import pytest
from langchain_core.documents import BaseDocumentCompressor, Document

_LINES = "\n".join(
    f"2026-03-0{day} 10:00:{second:02d} INFO heartbeat ok" for day in range(1, 8) for second in range(40)
)


class DocumentCompressorSuite:
    """Subclass it and give the fixture `compressor`."""

    @pytest.fixture
    def compressor(self) -> BaseDocumentCompressor:
        """Return the compressor under test."""
        raise NotImplementedError

    @pytest.fixture
    def documents(self) -> list[Document]:
        """Return documents worth compressing; two of them share one metadata dict."""
        shared = {"source": "worker.log"}
        return [
            Document(page_content=_LINES, id="log", metadata=shared),
            Document(page_content=f"{_LINES}\nERROR disk full on /var", id="failed", metadata=shared),
            Document(page_content="A short note.", id="note", metadata={"source": "note.txt", "page": 3}),
        ]

    def test_no_documents_give_no_documents(self, compressor: BaseDocumentCompressor) -> None:
        """An empty result of a retriever passes."""
        assert list(compressor.compress_documents([], "anything")) == []

    def test_inputs_stay_as_they_were(self, compressor: BaseDocumentCompressor, documents: list[Document]) -> None:
        """The caller's documents can be used again, for another query too."""
        before = deepcopy(documents)
        first = list(compressor.compress_documents(documents, "disk"))
        compressor.compress_documents(documents, "heartbeat")
        assert documents == before
        assert list(compressor.compress_documents(documents, "disk")) == first

    def test_ids_and_metadata_are_kept(self, compressor: BaseDocumentCompressor, documents: list[Document]) -> None:
        """What the application put there is still there."""
        out = {document.id: document for document in compressor.compress_documents(documents, "disk")}
        for document in documents:
            if document.id in out:
                assert document.metadata.items() <= out[document.id].metadata.items()
        assert set(out) <= {document.id for document in documents}

    def test_no_two_documents_share_metadata(
        self, compressor: BaseDocumentCompressor, documents: list[Document]
    ) -> None:
        """Writing to one result changes neither another nor an input."""
        out = list(compressor.compress_documents(documents, "disk"))
        out[0].metadata["mine"] = True
        assert all("mine" not in document.metadata for document in [*out[1:], *documents])

    def test_something_is_left(self, compressor: BaseDocumentCompressor, documents: list[Document]) -> None:
        """A query that nothing answers does not empty the prompt."""
        out = list(compressor.compress_documents(documents, "an unrelated question about bees"))
        assert out
        assert all(document.page_content for document in out)

    async def test_async_gives_the_same(self, compressor: BaseDocumentCompressor, documents: list[Document]) -> None:
        """Both ways lead to one result."""
        out = await compressor.acompress_documents(documents, "disk")
        assert list(out) == list(compressor.compress_documents(documents, "disk"))
