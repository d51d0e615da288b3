"""What the compact form of JSON looks like, and what stays of a document over budget."""

from __future__ import annotations

import json
import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from ctx_core.optimize.compressors.base import Budget, Compressed
from ctx_core.optimize.compressors.json import JsonCrusher
from ctx_core.tokens import TokenCounter

count = TokenCounter().count


def crush(text: str, max_tokens: int | None = None, query: str | None = None) -> Compressed:
    return JsonCrusher().compress(text, Budget(max_tokens=max_tokens), query=query)


def orders(n: int, **odd: object) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = [
        {"id": f"ord-{100 + i}", "state": "paid", "total": 20.5 + i % 3, "to": {"city": "Oslo", "zip": "0150"}}
        for i in range(n)
    ]
    rows[n * 2 // 3].update(odd)
    return rows


def test_alike_objects_become_a_table_that_names_constants_once():
    text = json.dumps({"orders": orders(4), "next": None, "tags": ["a b", "12", 12]}, indent=2)
    assert crush(text).text == snapshot("""\
#json orders(id state=paid total to(city=Oslo zip="0150"))
 ord-100 20.5
 ord-101 21.5
 ord-102 22.5
 ord-103 20.5
next=null tags["a b" "12" 12]\
""")


def test_objects_of_objects_become_a_table_with_their_names():
    cards = {f"card_{n}": {"brand": "visa", "id": f"card_{n}", "last_four": str(n)} for n in (7447, 1907, 5550)}
    assert crush(json.dumps({"cards": cards, "free": {"a": 1}})).text == snapshot("""\
#json cards(KEY brand=visa id~<KEY> last_four:str)
 card_7447 7447
 card_1907 1907
 card_5550 5550
free{a=1}\
""")


def test_lists_of_lists_of_objects_share_one_table():
    legs = [{"from": "A", "to": "B", "fare": 10}, {"from": "B", "to": "C", "fare": 12}]
    assert crush(json.dumps([legs, legs[:1], legs])).text == snapshot("""\
#json [3][2 1 2](from to fare)
 A B 10
 B C 12
 A B 10
 A B 10
 B C 12\
""")


def test_absent_null_and_empty_are_told_apart():
    rows = [{"a": 1, "b": None, "c": ""}, {"a": 2, "c": "-"}, {"a": 3, "b": "null", "c": "x"}]
    assert crush(json.dumps(rows)).text == snapshot("""\
#json (a b c)
 1 null ""
 2 - "-"
 3 "null" x\
""")


def test_json_lines_are_read_as_rows():
    lines = "\n".join(json.dumps({"at": i, "msg": f"step {i} done", "ok": True}) for i in range(3))
    assert crush(lines).text == snapshot("""\
#jsonl (at,msg,ok=true)
 0,step 0 done
 1,step 1 done
 2,step 2 done\
""")


def test_shared_addresses_and_repeated_objects_are_said_once():
    owner = {"login": "kim", "id": 5, "type": "User", "url": "https://api.example.org/users/kim/profile"}
    items = [
        {"kind": kind, "owner": owner, "links": [f"https://api.example.org/users/kim/{kind}/{n}" for n in range(9)]}
        for kind in ("repos", "gists")
    ]
    text = json.dumps({"note": "x" * 900, "first": items[0], "other": {"more": items[1], "z": 1}}, indent=1)
    assert crush(text).text == snapshot("""\
#json: *1 is what follows &1 again; $1 stands for its text
$1=https://api.example.org/users/kim/gists/
$2=https://api.example.org/users/kim/repos/
note xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
first{
kind repos owner=&1{login kim id=5 type User url https://api.example.org/users/kim/profile}
links[$20 $21 $22 $23 $24 $25 $26 $27 $28]
}
other{
more{
kind gists owner=*1
links[$10 $11 $12 $13 $14 $15 $16 $17 $18]
}
z=1
}\
""")


def test_a_document_in_a_string_is_written_as_one():
    inner = json.dumps({"ok": True, "orders": orders(3), "note": 'said "no" \\ twice'})
    assert crush(json.dumps({"status": 200, "body": inner, "tags": "[]"})).text == snapshot("""\
#json status=200
body=json{
ok=true
orders(id state=paid total to(city=Oslo zip="0150"))
 ord-100 20.5
 ord-101 21.5
 ord-102 22.5
note="said \\"no\\" \\\\ twice"
}
tags="[]"\
""")


def test_digits_escapes_and_repeated_keys_stay_as_they_were():
    text = '{"id": 725653563933458401, "f": 1.50e+3, "h": {"Set": "a", "Set": "b; \\u00e9\\/"}, "v": [NaN, -0, 1E400]}'
    assert crush(text).text == snapshot(
        '#json id=725653563933458401 f=1.50e+3 h{Set a Set="b; \\u00e9\\/"} v[NaN -0 1E400]'
    )


def test_the_odd_rows_stay_over_budget_and_the_others_are_counted():
    rows = orders(60, state="refused", total=981.0)
    result = crush(json.dumps({"total": 60, "orders": rows}), max_tokens=220)
    assert result.text == snapshot("""\
#json total=60
orders[60](id state total to(city=Oslo zip="0150"))
 ord-100 paid 20.5
 ord-101 paid 21.5
 ord-102 paid 22.5
 ord-103 paid 20.5
 ord-104 paid 21.5
 ord-105 paid 22.5
 ord-106 paid 20.5
 …1 row
 ord-108 paid 22.5
 …7 rows
 ord-116 paid 21.5
 …15 rows
 ord-132 paid 22.5
 …5 rows
 ord-138 paid 22.5
 ord-139 paid 20.5
 ord-140 refused 981.0
 ord-141 paid 22.5
 ord-142 paid 20.5
 …5 rows
 ord-148 paid 20.5
 …8 rows
 ord-157 paid 20.5
 ord-158 paid 21.5
 ord-159 paid 22.5\
""")
    assert [(o.what, o.where) for o in result.omissions] == [("rows", "$.orders")]


def test_a_row_that_the_query_names_stays():
    text = json.dumps(orders(200))
    assert "ord-171 " in crush(text, max_tokens=150, query="what happened to ord-171?").text
    assert "ord-171 " not in crush(text, max_tokens=150).text


def test_every_distinct_error_outlives_ordinary_rows():
    rows = [{"n": i, "msg": f"worker {i % 7} is fine"} for i in range(300)]
    errors = ["connection refused by db", "disk failure on vdb", "Unhandled KeyError in parse"]
    for place, error in zip((31, 150, 288), errors, strict=True):
        rows[place]["msg"] = error
    text = crush(json.dumps(rows), max_tokens=120).text
    assert all(error in text for error in errors)


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), 9e9, None])
def test_an_odd_value_in_a_flat_series_stays(value: float | None):
    series = [{"t": t, "p99": 12.5} for t in range(300)]
    series[217]["p99"] = value  # pyright: ignore[reportArgumentType]
    assert "\n 217" in crush(json.dumps({"rows": series}), max_tokens=150).text


def test_the_odd_value_of_a_long_array_stays():
    values = [20 + i % 3 for i in range(500)]
    values[333] = 9000
    text = crush(json.dumps({"name": "load", "values": values}), max_tokens=120).text
    assert "9000" in text
    assert (
        sum(int(n) for n in re.findall(r"…(\d+) items?", text)) + len(re.findall(r"\b(?:2[012]|9000)\b(?! item)", text))
        == 500
    )


def test_a_gap_in_time_and_a_new_level_stay_visible():
    minutes = [*range(120), *range(180, 300)]
    series = [{"at": f"2031-05-04 {m // 60:02}:{m % 60:02}:00", "load": 3 + m % 4 + 40 * (m > 250)} for m in minutes]
    text = crush(json.dumps(series), max_tokens=500).text
    assert "02:00:00" not in text
    assert "01:59:00" in text
    assert "03:00:00" in text
    assert "04:11:00" in text


def test_long_strings_are_cut_around_what_they_complain_about():
    page = "all is well. " * 400 + "then: segmentation fault at 0x7f. " + "quiet again. " * 400
    result = crush(json.dumps({"log": page, "host": "web-3"}), max_tokens=150)
    assert "segmentation fault at 0x7f" in result.text
    assert "host web-3" in result.text
    cut = sum(int(n) for n in re.findall(r"\[…(\d+) characters\]", result.text))
    assert [o.count for o in result.omissions if o.what == "characters"] == [cut]


def test_ten_thousand_levels_are_folded_around_their_leaf():
    text = '{"a":' * 10_000 + '"leaf failed"' + "}" * 10_000
    assert crush(text).text == snapshot('{"a":(×10000)"leaf failed"}(×10000)')
    assert crush("[" * 100_000).text == snapshot("[(×100000)")


def test_compact_json_is_shortened_again_by_its_rows():
    compact = crush(json.dumps({"page": 1, "orders": orders(50, state="failed")})).text
    text = crush(compact, 120).text
    assert count(text) <= 120
    assert "orders[50](id state total" in text
    assert "failed" in text
    kept = len(re.findall(r"^ ord-", text, re.MULTILINE))
    assert kept + sum(int(n) for n in re.findall(r"…(\d+) rows?", text)) in (50, 51)


ROWS = st.lists(st.tuples(st.integers(), st.text(max_size=30), st.none() | st.floats()), min_size=30)


@given(ROWS, st.integers(40, 400))
def test_a_budget_is_kept_and_every_missing_row_counted(rows: list[tuple[object, ...]], max_tokens: int):
    text = json.dumps([dict(zip(("id", "msg", "x"), row, strict=True)) for row in rows], indent=1)
    result = crush(text, max_tokens)
    assert count(result.text) <= max_tokens
    if not result.lossless:
        lines = result.text.removeprefix("#json ").split("\n")
        rows_shown = [line for line in lines if line.startswith(" ")]
        notes = [re.fullmatch(r" ?…(\d+) (?:rows?|items?)", line) for line in rows_shown or lines]
        dropped = sum(int(note[1]) for note in notes if note)
        assert dropped == sum(o.count for o in result.omissions if o.what in ("rows", "items"))
        assert dropped + sum(not note for note in notes) in (len(rows), 1)


@given(st.text(max_size=40) | st.text(alphabet='{}[]",:0 \\n', max_size=40), st.sampled_from([None, 32]))
def test_any_text_gives_a_result(text: str, max_tokens: int | None):
    result = crush(text, max_tokens)
    assert len(result.text) <= len(text) or max_tokens
    assert crush(text, max_tokens) == result


def test_very_long_lines_and_odd_characters_give_a_result():
    for text in (
        '["' + "x" * 2**20 + '"]',
        '{"a": "\ud800 \x00"}',
        '["\\ud83d"]',
        "\ufeff[1]",
        "[1e999999, -0.0, 1E-7]",
    ):
        assert crush(text).text
        assert crush(text, 32).text


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(
            [json.dumps({"id": i, "ship": f"ship {i % 999}", "berth": "north", "depth": i % 31}) for i in range(9_000)]
        ),
        json.dumps(
            [
                {
                    "id": i,
                    "ship": {"name": f"ship {i % 999}", "flag": "fi"},
                    "note": f"tied up at bollard {i} of the north quay",
                }
                for i in range(9_000)
            ]
        ),
        json.dumps([[i / 7, i / 11, i / 13] for i in range(9_000)]),
        json.dumps([{"a": i % 10} for i in range(50_000)]),
        json.dumps([{"id": i, "flag": "fi"} for i in range(20_000)]),
        json.dumps([i * 7919 % 1_000_000 for i in range(60_000)]),
        json.dumps({f"ship {i}": {"flag": "fi", "depth": i % 31} for i in range(12_000)}),
        json.dumps(
            [{"a": {"b": {"c": {"id": i}, "d": i % 7}, "e": [i]}} if i % 3 else [i, {"f": i}] for i in range(9_000)]
        ),
    ],
    ids=["lines", "nested", "rows of numbers", "tiny objects", "small objects", "numbers", "keyed", "mixed"],
)
def test_a_long_document_takes_less_than_twelve_times_its_memory(text: str):
    crush(text)
    tracemalloc.start()
    try:
        crush(text)
        assert tracemalloc.get_traced_memory()[1] < 12 * len(text)
    finally:
        tracemalloc.stop()
