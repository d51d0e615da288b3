import math
import pickle
import subprocess
import sys

import pytest

from ctx_core import extras
from ctx_core.embeddings import minilm
from ctx_core.embeddings.base import Embedder, embed_all, embed_query, unit
from ctx_core.embeddings.caching import CachingEmbedder
from ctx_core.embeddings.minilm import MiniLmEmbedder
from ctx_core.embeddings.multilingual_e5 import MultilingualE5Embedder
from ctx_core.embeddings.sentence_transformers import SentenceTransformersEmbedder
from ctx_core.errors import DimensionMismatch, MissingExtra, StoreCorrupt
from ctx_core.testing.embeddings import FakeEmbedder

needs_model = pytest.mark.skipif(not MiniLmEmbedder.available(), reason="the extra `local` is not installed")


def cosine(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True))


@needs_model
def test_the_local_model_brings_alike_texts_near():
    seal, near, far = MiniLmEmbedder().embed(["the seal is blue", "a blue seal", "stock markets crashed"])
    assert cosine(seal, near) > 0.6 > MiniLmEmbedder.similarity_floor > cosine(seal, far)
    assert len(seal) == MiniLmEmbedder.dimension
    assert math.isclose(cosine(seal, seal), 1, rel_tol=1e-5)


@needs_model
def test_order_batches_and_lengths_do_not_change_a_vector():
    texts = [f"valve {at} " * (1 + at % 7) for at in range(21)]
    whole = MiniLmEmbedder(batch_size=4).embed(texts)
    for at in (0, 6, 20):
        (alone,) = MiniLmEmbedder().embed([texts[at]])
        assert cosine(whole[at], alone) > 0.999


@needs_model
@pytest.mark.parametrize("text", ["x" * 200_000, "\ud800 lone", "\0", "🙂" * 500, "."])
def test_odd_texts_get_a_finite_vector(text):
    (vector,) = MiniLmEmbedder().embed([text])
    assert all(math.isfinite(value) for value in vector)


@needs_model
def test_a_damaged_model_file_is_refused(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"not the model")
    with pytest.raises(StoreCorrupt, match=r"model\.onnx"):
        minilm._checked(path, minilm._MODEL_SHA256)


def test_what_is_missing_is_named_with_the_command(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"ctx-core\[local\]"):
        MiniLmEmbedder()
    with pytest.raises(MissingExtra, match=r"ctx-core\[sentence-transformers\]"):
        SentenceTransformersEmbedder("any")
    assert not MiniLmEmbedder.available()


def test_embedders_keep_the_port():
    assert isinstance(FakeEmbedder(), Embedder)
    assert isinstance(CachingEmbedder(FakeEmbedder()), Embedder)


def test_a_text_is_asked_for_once():
    fake = FakeEmbedder()
    cached = CachingEmbedder(fake, max_entries=2)
    first = cached.embed(["a", "b", "a"])
    assert fake.calls == [["a", "b"]]
    assert first[0] == first[2]
    assert cached.embed(["b", "a"]) == [first[1], first[0]]
    cached.embed(["c"])
    cached.embed(["a"])
    assert fake.calls == [["a", "b"], ["c"]], "the least recently used left, and a was not it"
    assert (cached.model, cached.dimension, cached.similarity_floor) == ("fake", 64, 0.3)


def test_another_model_or_dimension_is_another_vector():
    fake = FakeEmbedder()
    cached = CachingEmbedder(fake)
    cached.embed(["a"])
    fake.model = "other"
    cached.embed(["a"])
    fake.dimension = 32
    assert len(cached.embed(["a"])[0]) == 32
    assert len(fake.calls) == 3


def test_a_failure_is_not_cached():
    class Flaky(FakeEmbedder):
        down = True

        def embed(self, texts):
            if self.down:
                raise ConnectionError
            return super().embed(texts)

    flaky = Flaky()
    cached = CachingEmbedder(flaky)
    with pytest.raises(ConnectionError):
        cached.embed(["a"])
    flaky.down = False
    assert len(cached.embed(["a"])) == 1


def test_it_pickles():
    cached = CachingEmbedder(FakeEmbedder())
    assert pickle.loads(pickle.dumps(cached)).embed(["a"]) == cached.embed(["a"])


def test_a_wrong_number_or_length_of_vectors_is_an_error():
    class Wrong(FakeEmbedder):
        def embed(self, texts):
            return super().embed(texts)[1:]

    with pytest.raises(StoreCorrupt, match="1 vectors for 2 texts"):
        embed_all(Wrong(), ["a", "b"])
    fake = FakeEmbedder()
    fake._vector = lambda _: [1.0, 2.0]
    with pytest.raises(DimensionMismatch) as caught:
        embed_all(fake, ["a"])
    assert (caught.value.expected, caught.value.actual) == (64, 2)
    assert embed_all(fake, []) == []


@pytest.mark.parametrize("vector", [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]])
def test_a_vector_without_direction_matches_nothing(vector):
    assert list(unit(vector)) == [0.0, 0.0]


def test_importing_loads_nothing_heavy():
    code = (
        "import sys, ctx_core.rehydrate.archive, ctx_core.rehydrate.rehydrator, ctx_core.rehydrate.evict, ctx_core.embeddings.minilm\n"
        "print(sorted({'numpy', 'onnxruntime', 'tokenizers', 'tiktoken', 'boto3', 'httpx', 'requests'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class AsymmetricEmbedder(FakeEmbedder):
    def embed_query(self, text):
        return self._vector(f"query {text}")


def test_a_query_is_embedded_by_the_models_own_method():
    embedder = AsymmetricEmbedder()
    own = unit(embedder.embed_query("seal"))
    assert embed_query(embedder, "seal") == own
    assert embed_query(FakeEmbedder(), "seal") == embed_all(FakeEmbedder(), ["seal"])[0]
    cache = CachingEmbedder(embedder)
    assert cache.embed_query("seal") == cache.embed_query("seal") == own
    assert cache.embed(["seal"])[0] != own


def test_a_query_vector_of_another_length_is_refused():
    embedder = AsymmetricEmbedder()
    embedder.dimension = 65
    embedder._vector = lambda _: [1.0] * 64
    with pytest.raises(DimensionMismatch):
        embed_query(embedder, "seal")


needs_e5 = pytest.mark.skipif(
    not MultilingualE5Embedder.available(), reason="the extra `multilingual` is not installed"
)


@needs_e5
def test_the_multilingual_model_brings_alike_texts_of_two_languages_near():
    embedder = MultilingualE5Embedder()
    near, far = embed_all(embedder, ["Mi hija es alérgica a los frutos secos.", "Der Zug fährt um zehn."])
    query = embed_query(embedder, "What can my daughter not eat?")
    assert cosine(query, near) > cosine(query, far)


@needs_e5
@pytest.mark.parametrize("text", ["x" * 200_000, "\ud800 lone", "a\0b", "🙂" * 500, "."])
def test_odd_texts_get_a_finite_multilingual_vector(text):
    (vector,) = MultilingualE5Embedder().embed([text])
    assert all(math.isfinite(value) for value in vector)
    assert pickle.loads(pickle.dumps(MultilingualE5Embedder())).max_text_tokens == 256
