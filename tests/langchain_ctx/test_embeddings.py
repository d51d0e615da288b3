"""Any embedding model of LangChain searches an archive."""

from langchain_core.embeddings import DeterministicFakeEmbedding

from ctx_core import Archive, Turn
from ctx_core.embeddings.base import DEFAULT_FLOOR, Embedder
from langchain_ctx import LangChainEmbedder


def test_it_is_an_embedder_of_the_core():
    embedder = LangChainEmbedder(DeterministicFakeEmbedding(size=16))
    assert isinstance(embedder, Embedder)
    assert (embedder.dimension, embedder.model, embedder.similarity_floor) == (
        16,
        "DeterministicFakeEmbedding",
        DEFAULT_FLOOR,
    )
    assert [len(vector) for vector in embedder.embed(["a", "b"])] == [16, 16]
    assert embedder.embed([]) == []


def test_the_models_own_name_tells_vector_spaces_apart():
    class Named(DeterministicFakeEmbedding):
        model: str = "text-embedding-x"

    assert LangChainEmbedder(Named(size=8)).model == "text-embedding-x"
    assert LangChainEmbedder(Named(size=8), model="mine", dimension=8).model == "mine"


def test_an_archive_finds_what_was_said():
    archive = Archive(embedder=LangChainEmbedder(DeterministicFakeEmbedding(size=32)))
    archive.append(
        "ann",
        [
            Turn(id="1", role="user", content="the blue boat is moored at Norr"),
            Turn(id="2", role="user", content="tea"),
        ],
    )
    assert archive.search("ann", "the blue boat", top_k=1)[0].turn.id == "1"
