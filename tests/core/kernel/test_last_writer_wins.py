"""Writes of one entity add up to the same state in any order."""

from hypothesis import given
from hypothesis import strategies as st

from ctx_core.kernel.commands import EntityKind
from ctx_core.kernel.last_writer_wins import Effect, Register, Write, merge_all

FIELDS = st.dictionaries(st.sampled_from(["title", "status", "summary"]), st.sampled_from(["a", "b", None]), max_size=3)
WRITES = st.lists(
    st.builds(
        Write,
        kind=st.just(EntityKind.NODE),
        entity_id=st.sampled_from(["n", "m"]),
        stamp=st.integers(0, 20).map("{:02d}".format),
        effect=st.sampled_from(Effect),
        fields=FIELDS,
    ),
    max_size=12,
    # One stamp is one change of one command, so two writes of a stamp are the same write.
    unique_by=lambda write: write.stamp,
)


@given(WRITES, st.randoms())
def test_any_order_and_any_repetition_gives_the_same_state(writes, random):
    again = [*writes, *random.choices(writes, k=len(writes))] if writes else []
    random.shuffle(again)
    assert merge_all({}, again) == merge_all({}, writes)


@given(WRITES)
def test_a_state_survives_being_stored(writes):
    for state in merge_all({}, writes).values():
        assert Register.from_json(state.to_json()) == state


@given(WRITES)
def test_the_state_is_that_of_applying_the_writes_one_by_one_in_their_order(writes):
    plain = {}
    for write in sorted(writes, key=lambda write: write.stamp):
        values = plain.get(write.entity_id, {"live": False, "fields": {}})
        if write.effect is Effect.REPLACE:
            values = {"live": True, "fields": dict(write.fields)}
        elif write.effect is Effect.REMOVE:
            values = {"live": False, "fields": {}}
        else:
            values = {"live": values["live"], "fields": {**values["fields"], **write.fields}}
        plain[write.entity_id] = values
    states = merge_all({}, writes)
    for entity_id, expected in plain.items():
        state = states.get(entity_id, Register())
        assert state.is_live == expected["live"]
        assert state.values == {name: value for name, value in expected["fields"].items() if value is not None}
