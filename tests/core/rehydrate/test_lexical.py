from hypothesis import given
from hypothesis import strategies as st

from ctx_core.rehydrate.lexical import Bm25, stem, words


def over(*documents):
    found = Bm25()
    for document in documents:
        found.add(words(document))
    return found


def test_a_rare_word_tells_more_than_one_that_every_turn_holds():
    index = over(*(f"pump {at}" for at in range(30)), "seal")
    assert index.weight("seal") > 10 * index.weight("pump") > 0
    assert index.weight("unheard") == index.weight("seal")
    scores = index.scores(["pump", "seal"])
    assert max(range(31), key=scores.__getitem__) == 30


@given(st.lists(st.text(alphabet="ab ", max_size=8), max_size=12))
def test_the_fewer_hold_a_word_the_more_it_weighs(documents):
    index = over(*documents)
    known = sorted({term for document in documents for term in words(document)}, key=lambda t: len(index.holding(t)))
    weights = [index.weight(term) for term in known]
    assert weights == sorted(weights, reverse=True)
    assert all(weight > 0 for weight in weights)


def test_forms_of_a_word_meet():
    assert stem("paintings") == stem("painted")
    assert stem("chose") == stem("choosing")
