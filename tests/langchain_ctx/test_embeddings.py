"""Any embedding model of LangChain searches an archive."""

from zlib import crc32

from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings

from ctx_core import Archive, Turn
from ctx_core.embeddings.base import Embedder
from langchain_ctx import LangChainEmbedder


def test_it_is_an_embedder_of_the_core():
    embedder = LangChainEmbedder(DeterministicFakeEmbedding(size=16))
    assert isinstance(embedder, Embedder)
    assert (embedder.dimension, embedder.model, embedder.similarity_floor) == (
        16,
        "DeterministicFakeEmbedding",
        None,
    )
    assert [len(vector) for vector in embedder.embed(["a", "b"])] == [16, 16]
    assert embedder.embed([]) == []


def test_the_models_own_name_tells_vector_spaces_apart():
    class Named(DeterministicFakeEmbedding):
        model: str = "text-embedding-x"

    assert LangChainEmbedder(Named(size=8)).model == "text-embedding-x"
    assert LangChainEmbedder(Named(size=8), model="mine", dimension=8).model == "mine"


class Words(Embeddings):
    """Texts that share words are near."""

    def embed_query(self, text):
        vector = [0.0] * 64
        for word in text.lower().split():
            vector[crc32(word.encode()) % 64] += 1.0
        return vector

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]


def test_an_archive_finds_what_was_said():
    archive = Archive(embedder=LangChainEmbedder(Words()))
    said = ["the blue boat is moored at Norr", "tea is at four"]
    archive.append("user-1", [Turn(id=str(n), role="user", content=text) for n, text in enumerate(said)])
    hit = archive.search("user-1", "where is the blue boat moored", top_k=1)[0]
    assert hit.turn.id == "0"
    assert (hit.cosine or 0.0) > 0.5
