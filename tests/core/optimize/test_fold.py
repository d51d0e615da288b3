"""Folding: shorter, and every line comes back in its place, character by character."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from ctx_core.optimize.fold import fold, holds_folded, unfold
from ctx_core.optimize.optimizer import ContextOptimizer
from ctx_core.tokens import TokenCounter

count = TokenCounter().count

WORDS = st.sampled_from(
    ["anchor", "berth", "é", "{x}", "a|", "|", "\\", "+|b", "=2", ":", "~7", "×3", '"', "1;2", "3,4", "\t", "  ", "\r"]
)
VALUES = (
    st.integers(0, 10**20).map(str) | st.integers(0, 99).map("{:03}".format) | WORDS | st.text('ab1,;"~ ', max_size=6)
)
TEMPLATES = st.lists(WORDS | st.just("\0"), min_size=1, max_size=6)


@st.composite
def alike(draw):
    """Lines of a few templates, whose gaps are filled with numbers and signs, in runs and by turns."""
    templates = draw(st.lists(TEMPLATES, min_size=1, max_size=3))
    joint = draw(st.sampled_from([" ", "  ", "", "/", "\t"]))
    lines = []
    for number in range(draw(st.integers(4, 40))):
        parts = templates[number % len(templates)]
        filled = [draw(VALUES) if part == "\0" else part for part in parts]
        lines.append(joint.join(filled).replace("\n", " ") + draw(st.sampled_from(["", str(number)])))
    return "\n".join(lines)


@given(alike() | st.text(max_size=400))
@example("[folded 3 lines: a| is a pattern, {…} varies in it; rows]\na|{1}\n|2 more")
@example("\n".join(f"{n:>6} {'x' * (n % 5):<6} end" for n in range(30)))
@example("\n".join(f"a|{n} b;{n},c" for n in range(30)))
def test_what_is_folded_can_be_unfolded(text):
    shorter = fold(text)
    assert shorter == text or unfold(shorter) == text


@given(
    st.lists(
        st.sampled_from(
            [
                "[folded 9 lines: a| is a pattern, {…} varies in it; rows]",
                "a|{7 +1} {=1}",
                "|5 more",
                "|1,2;",
                "+|{=9}",
                "b|{x",
                '|"',
                "line",
            ]
        ),
        max_size=9,
    )
)
def test_a_forged_block_raises_nothing(lines):
    assert len(unfold("\n".join(lines)).split("\n")) <= 1_000


def test_a_forged_count_does_not_fill_the_memory():
    text = "[folded 999999999 lines: a| is a pattern, {…} varies in it; rows]\na|{1}\n|999999998 more"
    assert unfold(text) == text


def test_runs_become_a_template_and_rows():
    text = "\n".join(
        f"[{n}/9] tests/{name}.ts:{10 + 7 * n % 40} › {name} opens"
        for n, name in enumerate(["cart", "login", "cart", "user", "cart", "cart", "login", "user", "cart"], 1)
    )
    assert fold(text + "\n" + text.replace("opens", "closes")) == snapshot("""\
[folded 18 lines: a| is a pattern, {…} varies in it; each row below it gives the next line's values, empty: as before or counted on]
a|[{1 +2}/9] tests/cart.ts:{17 +14} › cart opens
b|[{2}/9] tests/{login}.ts:{24} › {=2} {opens}
a|1 more
b|4,user,38
a|1 more;6,12
b|7,login,19;8,user,26
a|9,33
c|[{1 +2}/9] tests/cart.ts:{17 +14} › cart closes
b|2,login,24,closes
c|1 more
b|4,user,38
c|1 more;6,12
b|7,login,19;8,user,26
c|9,33\
""")


def test_records_of_several_lines_stay_together():
    text = "\n".join(
        f"commit {n * 7919:08x}\nAuthor: Kim Doe\nDate:   Tue Jul {n} 10:0{n % 6}:11 2026\n\n    fix: change number {n}\n"
        for n in range(1, 13)
    )
    assert fold(text) == snapshot("""\
[folded 72 lines: a| is a pattern, {…} varies in it; each row below it gives the next line's values, empty: as before or counted on]
a|commit {00001eef}
+|Author: Kim Doe
+|Date:   Tue Jul {1 +1 to 12} 10:{01 +1}:11 2026
+|
+|    fix: change number {=2}
+|
|00003dde;00005ccd;00007bbc;00009aab;0000b99a,,00;0000d889;0000f778;00011667;00013556;00015445;00017334,,00\
""")


@pytest.mark.parametrize(
    "line",
    [
        "error: cannot open berth {n} at /srv/{n}/quay",
        "FAILED tests/test_quay.py::test_berth_{n} - AssertionError: {n}",
    ],
)
def test_a_few_errors_are_quoted_and_many_are_folded(line):
    calm = "\n".join(f"moored ship {n} in {n % 7} ms" for n in range(40))
    few = "\n".join(line.format(n=n) for n in range(5))
    assert few in fold(f"{calm}\n{few}\n{calm}")
    many = "\n".join(line.format(n=n) for n in range(50))
    assert count(fold(many)) < count(many) / 2


def test_folded_text_is_known_and_folded_once():
    text = "\n".join(f"moored ship {n} in {n % 7} ms" for n in range(40))
    folded = ContextOptimizer().optimize(text)
    assert (folded.lossless, holds_folded(folded.compressed)) == (True, True)
    assert ContextOptimizer().optimize(folded.compressed).compressed is folded.compressed
    assert unfold(f"before\n{folded.compressed}\nafter") == f"before\n{text}\nafter"


def test_what_was_folded_is_unfolded_before_it_is_cut():
    text = "\n".join(f"moored ship {n * 7919 % 1000} in {n * 31 % 97} ms" for n in range(400))
    folded = ContextOptimizer(natural_tokens=10_000).optimize(text).compressed
    shorter = ContextOptimizer().optimize(folded, max_tokens=200)
    assert shorter.compressed_tokens <= 200
    assert "moored ship 0 in 0 ms" in unfold(shorter.compressed)


def test_an_address_is_never_cut():
    lines = [f"sent mail to sailor{n}@harbour.example in {n * 31 % 97} ms" for n in range(40)]
    folded = fold("\n".join(lines))
    assert holds_folded(folded)
    assert all(f"sailor{n}@harbour.example" in folded for n in range(40))
