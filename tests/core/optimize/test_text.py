"""What stays of prose, and that whole sentences do."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from ctx_core.optimize.compressors.base import Budget, Compressed
from ctx_core.optimize.compressors.text import TextCompressor
from ctx_core.optimize.compressors.text.units import units_of
from ctx_core.tokens import TokenCounter

count = TokenCounter().count

GUIDE = """\
# Brewing

Coffee is a drink that many people like. It is made from beans that were roasted. Some people drink it in the morning.

## Water

Water matters to the taste. The water should be 93 degrees, never boiling. It can be filtered if one likes. Taste it first.

- Use soft water.
- Use 60 grams per litre.
- Pour slowly.

## Faults

The cup may be sour. If the pump reports error E17, unplug it for 30 seconds. People often like sour cups anyway.

```sh
brew --temp 93
brew --log
brew --stop
```
"""


def compress(text: str, max_tokens: int | None = None, query: str | None = None) -> Compressed:
    return TextCompressor().compress(text, Budget(max_tokens=max_tokens), query=query)


def test_facts_stay_in_whole_sentences_under_their_headings():
    assert compress(GUIDE, 110).text == snapshot("""\
# Brewing

Coffee is a drink that many people like. [… 2 sentences]

## Water

[… 1 sentence] The water should be 93 degrees, never boiling. [… 2 sentences]

- Use soft water.
- Use 60 grams per litre.
- Pour slowly.

## Faults

The cup may be sour. If the pump reports error E17, unplug it for 30 seconds. [… 1 sentence]

```sh
brew --temp 93
brew --log
brew --stop
```
""")


def test_a_tiny_budget_keeps_the_error():
    assert "If the pump reports error E17, unplug it for 30 seconds." in compress(GUIDE, 36).text


def test_the_query_decides_which_sentence_stays():
    text = compress(GUIDE, 70, query="can the water be filtered?").text
    assert "It can be filtered if one likes." in text
    assert "It can be filtered if one likes." not in compress(GUIDE, 70).text


def test_code_that_is_cut_stays_fenced():
    code = "Intro.\n\n```py\n" + "".join(f"call_{i}({i})\n" for i in range(60)) + "```\n\nThe end is near."
    text = compress(code, 80).text
    assert text.count("```") == 2
    assert re.search(r"\[… \d+ lines\]\n", text)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        (
            "天气很好。我们去公园散步。大家都很高兴。" * 20
            + "服务器在3点返回错误代码502。"
            + "晚上回家吃饭。孩子们睡觉了。" * 20,
            "服务器在3点返回错误代码502。",
        ),
        (
            "きょうはいい天気です。みんなで歩きました。" * 20
            + "14時にタイムアウトの失敗がありました。"
            + "夜はゆっくり寝ました。" * 20,
            "14時にタイムアウトの失敗がありました。",
        ),
        (
            "Погода хорошая. Мы идем гулять. " * 20 + "Код ошибки равен 502. " + "Вечером все спят. " * 20,
            "Код ошибки равен 502.",
        ),
    ],
)
def test_facts_stay_in_other_scripts(text: str, fact: str):
    assert fact in compress(text, 90).text


def test_thai_is_cut_at_its_spaces_and_keeps_its_marks():
    text = "วันนี้อากาศดีมากเราไปเดินเล่นที่สวน " * 80 + "เซิร์ฟเวอร์ล่มเวลา 03:15 " + "แล้วก็กลับบ้านไปนอน " * 80
    result = compress(text, 300)
    assert all(piece.strip() in text for piece in re.split(r"\[… \d+ sentences?\]", result.text))


def test_a_long_paragraph_said_twice_is_said_once():
    legal = "This software comes with no warranty of any kind, and whoever uses it does so at a risk that is entirely their own, whatever the law of their country may say about it."
    text = f"First.\n\n{legal}\n\nSecond.\n\n{legal}\n\nThird.\n"
    assert compress(text).text == f"First.\n\n{legal}\n\nSecond.\n\n[… 1 sentence said before]\n\nThird.\n"


@pytest.mark.parametrize(
    "said", ["库存服务在三点返回空列表，订单无法确认。", "在庫は空でした。\n", "The stock is empty. "]
)
def test_a_sentence_said_many_times_is_said_once_with_a_count(said: str):
    result = compress(f"{said * 40}Then it was filled.")
    assert result.text.startswith(f"{said}[… 39 sentences said before]")
    assert result.text.endswith("Then it was filled.")
    assert [omission.count for omission in result.omissions] == [39]


def test_short_echoes_headings_and_code_are_no_repetition():
    text = (
        "# One\n\nYes. It was moored here.\n\n# One\n\nYes. It was moored here.\n\n"
        + "```\ntie(rope, berth)\n```\n" * 20
    )
    assert compress(text).text == text


def test_counts_stay_true_when_a_shortened_text_is_shortened_again():
    text = " ".join(f"Sentence number {i} says a thing." for i in range(100))
    twice = compress(compress(text, 400).text, 120).text
    kept = len(re.findall(r"says a thing", twice))
    assert kept + sum(int(n) for n in re.findall(r"\[… (\d+) sentences?\]", twice)) == 100


TEXTS = st.text(alphabet="ab.! \n`-#1\u00e9\u0e01\u0e34\u6f22\u3002\U0001f1e6", max_size=300)


@given(TEXTS, st.integers(20, 60))
def test_any_text_is_cut_between_its_units(text: str, max_tokens: int):
    units = [unit.text for unit in units_of(text)]
    assert "".join(units) == text
    result = compress(text, max_tokens)
    assert count(result.text) <= max_tokens
    assert bool(result.omissions) == ("[… " in result.text)
    assert compress(text, max_tokens) == result
    assert compress(compress(text).text).text == compress(text).text


def test_one_very_long_line_takes_a_moment_only():
    for text in ("x" * 2**18, ". " * 2**16, "(" * 2**18, " " * 2**18, "....... a" * 2**14):
        assert count(compress(text, 100).text) <= 100
