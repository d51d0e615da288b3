"""Units under a budget: never over it, nothing without what it requires, and no room left for a unit that was left out."""

from hypothesis import given
from hypothesis import strategies as st

from ctx_core.select import Unit, fill, omission_note, read_omission_notes


@st.composite
def lists_of_units(draw):
    sizes = draw(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 9)), max_size=40))
    return [
        Unit(
            str(place), tokens, value, draw(st.lists(st.integers(0, place - 1), max_size=2).map(tuple)) if place else ()
        )
        for place, (tokens, value) in enumerate(sizes)
    ]


@given(lists_of_units(), st.integers(0, 300))
def test_what_is_chosen_fits_and_has_what_it_requires(units, room):
    chosen = fill(units, room)
    assert sum(units[number].tokens for number in chosen) <= room
    assert all(required in chosen for number in chosen for required in units[number].requires)


@given(lists_of_units(), st.integers(0, 300))
def test_nothing_is_left_out_in_favour_of_nothing(units, room):
    chosen = fill(units, room)
    left = room - sum(units[number].tokens for number in chosen)
    free = [unit for number, unit in enumerate(units) if number not in chosen and set(unit.requires) <= chosen]
    assert all(unit.tokens > left for unit in free)


def test_a_note_between_units_is_paid():
    units = [Unit(str(n), 10, value) for n, value in enumerate([9, 0, 9, 0, 5])]
    assert fill(units, 30, gap=5) == {0, 1, 2}
    assert fill(units, 27, gap=6) == {0, 2}


@given(st.integers(1, 10**9), st.sampled_from(["lines", "matches", "changed lines", "bodies", "rows", "files"]))
def test_a_note_is_read_as_it_was_written(count, what):
    assert read_omission_notes(f"before\n{omission_note(count, what)}\nafter") == {what: count}
