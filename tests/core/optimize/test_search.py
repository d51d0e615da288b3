"""Search results: no line loses its file, its number or its text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from ctx_core.optimize.compressors.base import Budget
from ctx_core.optimize.compressors.search import SearchCompressor
from ctx_core.tokens import TokenCounter

NATURAL = Budget()
COUNT = TokenCounter()


def compress(text: str, max_tokens: int | None = None, query: str | None = None):
    return SearchCompressor().compress(text, Budget(max_tokens=max_tokens), query=query)


def read_back(text: str) -> dict[tuple[str, str], str]:
    """Read grouped results the way a reader does: a heading, then numbered lines, and repeats by number."""
    found: dict[tuple[str, str], str] = {}
    path, last = "", ""
    for line in text.split("\n"):
        numbered = re.match(r"(\d+)([:-])(.*)", line, re.DOTALL)
        again = re.fullmatch(r"\[same at ([\d, ]+)\]", line)
        if numbered:
            last = numbered[2] + numbered[3]
            found[path, numbered[1]] = last
        elif again:
            found.update({(path, number): last for number in again[1].split(", ")})
        elif not line.startswith("[…"):
            path = line.removeprefix("./")
    return found


BODIES = [
    "raise ValueError('no')",
    "    raise",
    "x = load(path)",
    "url = 'http://host:8080/x-1-y'",
    "- item: 4:2",
    "",
    "logs/a-1-b",
    "TODO: ask",
]
PATHS = [
    "src/rules.py",
    "logs/2026-05-01/app.log",
    "C:\\src\\main.rs",
    "Makefile",
    "docs/a-1-b.md",
    "my docs/notes.txt",
    "12-factor/app.go",
]
RESULTS = st.lists(
    st.tuples(
        st.sampled_from(PATHS),
        st.dictionaries(
            st.integers(1, 99_999), st.tuples(st.sampled_from(BODIES), st.sampled_from(":::-")), min_size=1
        ),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda pair: pair[0],
)


@given(RESULTS)
def test_grep_results_can_be_read_back(results):
    expected = {}
    lines = []
    for path, hits in results:
        marks = {mark for _, mark in hits.values()}
        for number, (body, mark) in sorted(hits.items()):
            # Context is told from a match by the file that a match names.
            sign = mark if ":" in marks else ":"
            expected[path, str(number)] = sign + body
            lines.append(f"{path}{sign}{number}{sign}{body}")
    shown = compress("\n".join(lines))
    if shown.lossless and shown.text != "\n".join(lines):
        assert read_back(shown.text) == expected


@given(st.text(st.sampled_from("ab/.:-1 \n[]…\ud800\x00"), max_size=200), st.sampled_from([None, 30]))
def test_any_text_gives_a_stable_result(text, max_tokens):
    text = f"src/a.py:12:x = 1\n{text}"
    once = compress(text, max_tokens).text
    assert compress(once, max_tokens).text == once


GREP = "\n".join(
    [
        'src/rules.py:476:    settings({"order": "billing"})',
        'src/rules.py:535:    raise ValueError("order missing")',
        *(f"src/rules.py:{600 + 3 * at}:    order_list.append(order_{at})" for at in range(57)),
        "src/rules.py:900:    return order",
    ]
)


def test_lines_are_never_fused():
    result = compress(GREP)
    assert result.text == snapshot("""\
src/rules.py
476:    settings({"order": "billing"})
535:    raise ValueError("order missing")
600:    order_list.append(order_0)
603:    order_list.append(order_1)
[… 55 more that differ in numbers alone, to line 768]
900:    return order\
""")
    assert [(o.what, o.count, o.where) for o in result.omissions] == [("matches", 55, "src/rules.py")]


def test_the_same_line_again_is_named_by_number():
    lines = [
        f"app/{name}.py:{number}:        raise NotImplementedError(name)" for name in "ab" for number in (10, 25, 40)
    ]
    result = compress("\n".join(lines))
    assert result.lossless
    assert result.text == snapshot("""\
app/a.py
10:        raise NotImplementedError(name)
[same at 25, 40]
app/b.py
10:        raise NotImplementedError(name)
[same at 25, 40]\
""")


def test_context_stays_context():
    text = "\n".join(
        f"src/my-app/2026-05-01/conv.py-{at}-    step_{at}()"
        if at % 5
        else f"src/my-app/2026-05-01/conv.py:{at}:def convert_{at}():"
        for at in range(3, 13)
    )
    text = text.replace("\nsrc/my-app/2026-05-01/conv.py-8", "\n--\nsrc/my-app/2026-05-01/conv.py-8")
    assert compress(text).text == snapshot("""\
src/my-app/2026-05-01/conv.py
3-    step_3()
4-    step_4()
5:def convert_5():
6-    step_6()
7-    step_7()
8-    step_8()
9-    step_9()
10:def convert_10():
11-    step_11()
12-    step_12()\
""")


def test_ripgrep_headings():
    text = "\n\n".join(
        f"src/mod_{name}.rs\n" + "\n".join(f"{at}:    let value = load({name}{at}).unwrap();" for at in (3, 9))
        for name in "abc"
    )
    assert compress(f"{text}\n").text == snapshot("""\
src/mod_a.rs
3:    let value = load(a3).unwrap();
9:    let value = load(a9).unwrap();

src/mod_b.rs
3:    let value = load(b3).unwrap();
9:    let value = load(b9).unwrap();

src/mod_c.rs
3:    let value = load(c3).unwrap();
9:    let value = load(c9).unwrap();
""")


def test_results_without_line_numbers():
    text = "\n".join(
        f"src/very/deep/folder/{name}.py:    raise SomeError('{name} {at}x')" for name in ("one", "two") for at in "abc"
    )
    result = compress(text)
    assert result.lossless
    assert result.text == snapshot("""\
src/very/deep/folder/one.py
:    raise SomeError('one ax')
:    raise SomeError('one bx')
:    raise SomeError('one cx')
src/very/deep/folder/two.py
:    raise SomeError('two ax')
:    raise SomeError('two bx')
:    raise SomeError('two cx')\
""")


def test_dates_in_paths_do_not_hijack_the_line():
    text = "\n".join(
        f"logs/2026-05-{day:02}/app.log:{line}:INFO 10:{day:02}:07 started" for day in range(1, 21) for line in (1, 2)
    )
    shown = compress(text)
    for day in range(1, 21):
        assert f"logs/2026-05-{day:02}/app.log\n1:INFO 10:{day:02}:07 started" in shown.text


def test_windows_paths():
    text = "\n".join(f'C:\\work\\src\\main.rs:{at}:    panic!("{at} of many")' for at in (4, 8))
    assert compress(text).text == snapshot("""\
C:\\work\\src\\main.rs
4:    panic!("4 of many")
8:    panic!("8 of many")\
""")


def test_what_is_no_result_stays():
    text = "src/a_long_name.py:1:import x\nsrc/a_long_name.py:2:import y\nBinary file src/logo.png matches\ngrep: src/secret: Permission denied\nsrc/a_long_name.py:9:import z"
    assert compress(text).text == snapshot("""\
src/a_long_name.py
1:import x
2:import y
Binary file src/logo.png matches
grep: src/secret: Permission denied
src/a_long_name.py
9:import z\
""")


def many(files: int = 30, each: int = 12) -> str:
    return "\n".join(
        f"pkg/module_{file}/handlers.py:{line * 7 + 1}:    value = compute_{file}_{line}(request, {'timeout' if line == 5 else 'limit'}=3)"
        for file in range(files)
        for line in range(each)
    )


@pytest.mark.parametrize("max_tokens", [1500, 700, 300, 100, 32])
def test_over_budget_spreads_over_files_with_true_counts(max_tokens):
    text = many()
    result = compress(text, max_tokens)
    assert COUNT(result.text) <= max_tokens
    source = read_back(
        "\n".join(re.sub(r"(:\d+:)", r"\n\1", line, count=1).replace("\n:", "\n") for line in text.split("\n"))
    )
    shown = read_back(result.text)
    assert all(source[key] == body for key, body in shown.items())
    counts = {omission.what: omission.count for omission in result.omissions}
    assert len(shown) + counts["matches"] == 30 * 12
    per_file = [sum(path == key[0] for key in shown) for path in {key[0] for key in shown}]
    assert not per_file or max(per_file) - min(per_file) <= 1 or len(per_file) == 30


def test_query_matches_come_first():
    shown = compress(many(), 300, query="which call has a timeout?").text
    numbered = [line for line in shown.split("\n") if re.match(r"\d+:", line)]
    assert numbered
    assert all("timeout" in line for line in numbered)


def test_picture_of_a_small_budget():
    assert compress(many(6, 5), 150).text == snapshot("""\
pkg/module_0/handlers.py
1:    value = compute_0_0(request, limit=3)
[… 4 matches left out]
pkg/module_1/handlers.py
1:    value = compute_1_0(request, limit=3)
[… 4 matches left out]
pkg/module_2/handlers.py
1:    value = compute_2_0(request, limit=3)
[… 4 matches left out]
pkg/module_3/handlers.py
1:    value = compute_3_0(request, limit=3)
[… 4 matches left out]
[… 2 files, 10 matches left out]\
""")


def test_a_very_long_line_is_cut_and_counted():
    text = many(3, 3) + "\ndist/app.min.js:1:" + "a(b);" * 4000
    result = compress(text, 400)
    assert "characters]" in result.text
    assert ("characters", 20_000 - 298) in [(o.what, o.count) for o in result.omissions]


def test_prose_and_logs_are_left_alone():
    for text in (
        "Note: 3 things.\nThen: 4 more.\n" * 20,
        "2026-05-01T10:00:07 INFO up\n2026-05-01T10:15:08 INFO down\n" * 20,
    ):
        assert compress(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"src/f{n}.py:{n}:def parse{n}(value)\n" for n in range(1, 5000)),
        "".join(f"a.py:{n}:{'call ' * (n % 9)}x{n % 50}\n" for n in range(1, 5000)),
    ],
    ids=["a file each", "one file"],
)
def test_a_search_for_what_fits_counts_no_more_than_what_it_shows(text, counter):
    result = SearchCompressor().compress(text, Budget(max_tokens=300, counter=counter))
    assert TokenCounter().count(result.text) <= 300
    assert counter.characters < 10 * 8 * 300  # rounds, and characters of a token at most


def test_a_result_given_many_times_is_named_once():
    text = "app.py:1:connection = open_it_again()\n" * 500
    shown = SearchCompressor().compress(text, Budget()).text
    assert len(shown) < len(text)
    assert shown.count("[same at") == 1


def test_a_match_without_a_number_is_not_taken_for_one_with():
    text = "".join(f"app.py:{n}:connection = open_it_again()\n" for n in range(1, 9))
    results = text + ":connection = open_it_again()\n"
    assert SearchCompressor().compress(results, Budget()).text.count("connection") == 2


def test_over_budget_matches_that_differ_in_numbers_alone_count_as_one():
    lines = [f"src/dock{n % 7}.py:{n}:    raise Taken('berth {n}')" for n in range(1, 400)]
    lines.insert(200, "src/dock3.py:777:    raise RuntimeError('pilot refused to board')")
    lines.insert(300, "src/dock3.py:778:    raise RuntimeError('mooring line snapped')")
    text = compress("\n".join(lines), 200).text
    assert "pilot refused to board" in text
    assert "mooring line snapped" in text
