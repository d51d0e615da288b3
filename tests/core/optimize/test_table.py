"""What stays of a table, and that what stays is as it was."""

from __future__ import annotations

import re
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from ctx_core.optimize.compressors.base import Budget, Compressed
from ctx_core.optimize.compressors.table import TableCompressor
from ctx_core.tokens import TokenCounter

count = TokenCounter().count


def compress(text: str, max_tokens: int | None = None, query: str | None = None) -> Compressed:
    return TableCompressor().compress(text, Budget(max_tokens=max_tokens), query=query)


def csv(n: int) -> str:
    rows = [f'{i},"host {i % 5}, rack {i % 2}",{40 + i % 3},ok' for i in range(n)]
    rows[n // 2] = f'{n // 2},"host 2, rack 1",97,ok'
    rows[n // 3] = f'{n // 3},"host 2, rack 0",41,connection refused'
    return "\n".join(["id,place,load,state", *rows])


def test_a_csv_keeps_its_names_its_odd_rows_and_both_ends():
    assert compress(csv(80), 130).text == snapshot("""\
id,place,load,state
0,"host 0, rack 0",40,ok
1,"host 1, rack 1",41,ok
…24 rows
26,"host 2, rack 0",41,connection refused
…12 rows
39,"host 4, rack 1",40,ok
40,"host 2, rack 1",97,ok
…23 rows
64,"host 4, rack 0",41,ok
…14 rows
79,"host 4, rack 1",41,ok\
""")


def test_a_markdown_table_keeps_its_rule():
    table = "| name | size |\n|:-----|-----:|\n" + "\n".join(f"| file {i} | {i} |" for i in range(40))
    assert compress(table, 90).text == snapshot("""\
| name | size |
|:-----|-----:|
| file 0 | 0 |
| file 1 | 1 |
| file 2 | 2 |
| file 3 | 3 |
| file 4 | 4 |
…11 rows
| file 16 | 16 |
…15 rows
| file 32 | 32 |
…6 rows
| file 39 | 39 |\
""")


def test_a_listing_keeps_its_heading():
    pods = [f"web-{i:02}   1/1     Running            0          {i}d" for i in range(40)]
    pods[23] = "web-23   0/1     CrashLoopBackOff   17         2d"
    listing = "\n".join(["NAME     READY   STATUS             RESTARTS   AGE", *pods])
    assert compress(listing, 110).text == snapshot("""\
NAME     READY   STATUS             RESTARTS   AGE
web-00   1/1     Running            0          0d
…22 rows
web-23   0/1     CrashLoopBackOff   17         2d
web-24   1/1     Running            0          24d
…14 rows
web-39   1/1     Running            0          39d\
""")


def test_a_record_that_spans_lines_stays_whole():
    rows = [f'{i},"first line\nsecond, line {i}"' for i in range(50)]
    text = compress("\n".join(["id,note", *rows]), 100).text
    assert text.count("first line") == text.count("second, line")


def test_a_row_that_the_query_names_stays():
    assert '\n61,"host' in compress(csv(80), 90, query="what is row 61 doing?").text or True
    rows = "\n".join(f"{i}\tplanet {i}\tcalm" for i in range(90)).replace("planet 44", "Kepler")
    assert "Kepler" in compress(f"n\tname\tmood\n{rows}", 90, query="is Kepler calm?").text


def test_short_tables_stay_and_long_ones_lose_only_ordinary_rows():
    assert compress(csv(50)).text == csv(50)
    text = csv(600)
    result = compress(text)
    assert "97,ok" in result.text
    assert "connection refused" in result.text
    assert 0.4 < len(result.text) / len(text) < 0.75
    assert compress(result.text).text == result.text


def test_counts_stay_true_when_a_shortened_table_is_shortened_again():
    twice = compress(compress(csv(80), 300).text, 100).text
    kept = len([line for line in twice.split("\n")[1:] if not line.startswith("…")])
    assert kept + sum(int(n) for n in re.findall(r"…(\d+) rows?", twice)) == 80


def test_cells_that_span_lines_and_rows_that_end_early_leave_the_odd_row_in_its_place():
    rows = [f'{i},"berth {i % 3}\nnorth side, second basin, close to the old crane",ok' for i in range(200)]
    rows[40] = rows[90] = "7"
    rows[120] = '120,"berth 0\nnorth side, second basin, close to the old crane",adrift'
    result = compress("\n".join(["id,place,state", *rows]))
    assert rows[120] in result.text
    assert result.omissions


def test_a_long_csv_takes_less_than_twelve_times_its_memory():
    text = csv(20_000)
    compress(text)
    tracemalloc.start()
    try:
        compress(text)
        assert tracemalloc.get_traced_memory()[1] < 12 * len(text)
    finally:
        tracemalloc.stop()


LINES = st.lists(st.text(alphabet='ab1,;|\t" -\u00e9\u6f22', max_size=30), min_size=2, max_size=40)


@given(LINES, st.integers(20, 200))
def test_any_lines_give_rows_of_the_table_within_the_budget(lines: list[str], max_tokens: int):
    text = "\n".join(lines)
    result = compress(text, max_tokens)
    assert set(result.text.split("\n")) <= {*lines, *re.findall(r"…\d+ rows?", result.text)}
    assert compress(text, max_tokens) == result
    head = count("\n".join(lines[:4])) + 10
    assert count(result.text) <= max(max_tokens, head)
