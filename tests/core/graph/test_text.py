"""Lines in three styles, and aliases that cost little."""

from datetime import UTC, datetime

import pytest
from inline_snapshot import snapshot

from ctx_core.graph.model import Bundle, Node, Provenance, Relation
from ctx_core.graph.render import render
from ctx_core.graph.text import Aliases, Head, Slot, Style, Writer, one_line, quoted
from ctx_core.tokens import TokenCounter


@pytest.mark.parametrize(
    ("node_id", "alias"),
    [
        ("api", "api"),
        ("n12", "n12"),
        ("node-9f86d081884c", "1"),
        ("Status", "Status"),
        ("7", "1"),
        ("a>b", "1"),
        ("über", "1"),
    ],
)
def test_a_short_word_is_its_own_alias(node_id, alias):
    assert Aliases().of(node_id) == alias


def test_an_alias_costs_a_fraction_of_the_id_it_stands_for():
    count, aliases = TokenCounter(), Aliases()
    ids = [f"node-{n * 2654435761 % 2**40:010x}" for n in range(1, 200)]
    assert count(" ".join(map(aliases.of, ids))) * 3 < count(" ".join(ids))
    assert [aliases.of(node_id) for node_id in ids] == [str(n) for n in range(1, 200)]


def test_only_a_semicolon_that_would_begin_a_part_is_changed():
    assert quoted("slow; via proxy; then fast; step by step") == "slow, via proxy; then fast, step by step"


def test_every_kind_of_line_end_becomes_one_space():
    assert one_line(" a\r\n\n b\u2028c\x85d\x0be\x00f ") == "a b c d e f"


def test_markdown_lists_nest_nothing_that_users_wrote():
    writer = Writer(Style.MARKDOWN)
    assert writer.opening(Head.DETAIL, "[a]") == "- Detail [a]"
    assert writer.part(Slot.TEXT, "one\n# two\n\n- three")[1] == ": one\n      # two\n      \n      - three"


def test_who_said_it_and_what_is_known_of_a_node_comes_last():
    seen = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)
    ana = Provenance(source_kind="human", source_agent="Ana", observed_at=seen)
    bundle = Bundle(
        root_node_id="a",
        nodes=[
            Node(
                node_id="a",
                title="Alarm",
                provenance=ana,
                labels=["urgent", "north"],
                properties={"zone": 4, "ok": False},
            ),
            Node(node_id="b", title="Door", status="open"),
        ],
        relations=[
            Relation(
                source_node_id="a",
                target_node_id="b",
                relation_type="caused by: door",
                semantic_class="causal",
                motivation="keep the room cold",
                occurred_at=seen,
                provenance=ana,
            )
        ],
    )
    assert bundle.to_dict()["nodes"][0]["provenance"]["observed_at"] == "2026-03-01T08:30:00+00:00"
    assert render(bundle).text == snapshot("""\
Objective: Alarm; said by human Ana 2026-03-01T08:30:00+00:00; labels urgent, north; with ok=False, zone=4
Next: Door
Why:
- caused_by_door (causal) -> Door (is open); for keep the room cold; occurred 2026-03-01T08:30:00+00:00; said by human Ana 2026-03-01T08:30:00+00:00\
""")
    assert render(bundle, style="json").text == snapshot("""\
{"l0_summary":[{"objective":true,"alias":"a","title":"Alarm","source":"human Ana 2026-03-01T08:30:00+00:00","labels":"urgent, north","properties":"ok=False, zone=4"},
{"next":true,"text":"Door"}],
"l1_causal_spine":[{"step":true,"from":"[a]","type":"caused by: door","class":"causal","to":"Door","to_status":"open","motivation":"keep the room cold","occurred":"2026-03-01T08:30:00+00:00","source":"human Ana 2026-03-01T08:30:00+00:00"}]}\
""")
