"""No public function that takes a text does work that grows much faster than the text, whatever the text is made of.

Work is counted, not timed: every line of Python that runs, every call of a function written in C, and, for the methods of
strings that copy or scan all of them, one unit for 32 characters of the string. A quadratic loop quadruples that count where
a text doubles; n log n makes it a little more than double. What one call of a regular expression does cannot be seen from
here, so the long form, `CTX_LONG=1`, measures CPU time at larger sizes as well.
"""

import os
import sys
import time
import tracemalloc
from itertools import pairwise

import pytest

from ctx_core import (
    Archive,
    Bundle,
    CacheAligner,
    ContextEngine,
    ContextOptimizer,
    Evictor,
    Message,
    Node,
    NodeDetail,
    Relation,
    ToolCall,
    TriggerDetector,
    Turn,
    audit,
    render,
)
from ctx_core.markers import Tag, escape, quote_lines, split_blocks
from ctx_core.optimize.ccr import excerpt, hints_in, without_hints
from ctx_core.optimize.router import ContentRouter
from ctx_core.rehydrate.summary import note_on, without_notes
from ctx_core.testing.hostile import MARKERS

LONG = bool(os.environ.get("CTX_LONG"))
# Doubling a text may at most triple the work; where one size crosses a threshold of the code, the next one decides.
MOST = 3.0


def optimizer() -> ContextOptimizer:
    return ContextOptimizer(router=ContentRouter(magika=False), compress_code=True)


def prepare(text: str) -> object:
    call = Message(role="assistant", tool_calls=(ToolCall(id="c", name="t"),))
    chat = [
        Message(role="user", content=f"Read it. {text}"),
        call,
        Message(role="tool", tool_call_id="c", content=text),
        *(Message(role=role, content="w " * 60) for role in ("assistant", "user") * 4),
        Message(role="user", content="What did we say earlier?"),
    ]
    return ContextEngine(archive=Archive(embedder=None), optimizer=optimizer()).prepare(
        chat, user_id="u", max_tokens=900
    )


def archived(text: str) -> object:
    archive = Archive(embedder=None)
    archive.append("u", [Turn(role="user", content=f"The pump {text}")])
    return archive.search("u", f"pump {text}")


def graph(text: str) -> Bundle:
    relation = Relation(
        source_node_id="a", target_node_id="b", relation_type="CAUSES", semantic_class="causal", rationale=f"it {text}"
    )
    return Bundle(
        root_node_id="a",
        nodes=[Node(node_id="a", title=f"pump {text}", summary=text), Node(node_id="b", title="valve")],
        relations=[relation],
        details=[NodeDetail(node_id="a", detail=text)],
    )


SMALL = graph("leaked")
RENDERED = render(SMALL)


def prepare_with_chunks(text: str) -> object:
    question = Message(role="user", content="What does it say?")
    return ContextEngine(optimizer=optimizer()).prepare([question], chunks=[text, text[::-1], "b"], max_tokens=400)


FUNCTIONS = {
    "optimize": lambda text: optimizer().optimize(text),
    "optimize within 64": lambda text: optimizer().optimize(text, max_tokens=64, query="why did it fail"),
    "optimize_many": lambda text: optimizer().optimize_many([text, text[::-1], f"{text}."], max_tokens=32),
    "prepare": prepare,
    "archive": archived,
    "detect": lambda text: TriggerDetector().detect(text),
    "align": lambda text: CacheAligner().align([Message(role="system", content=text)], conversation_id="c"),
    "evict": lambda text: Evictor(keep_recent=1).evict(
        [Message(role="user", content=part) for part in text.split(" ")[:500]], max_tokens=60
    ),
    "chunks": prepare_with_chunks,
    "render": lambda text: render(graph(text), max_tokens=300),
    "render for a question": lambda text: render(SMALL, query=text),
    "audit": lambda text: audit(text, RENDERED, bundle=SMALL),
    "escape": escape,
    "quote_lines": quote_lines,
    "hints": lambda text: (hints_in(text), without_hints(text)),
    "blocks": lambda text: [split_blocks(text, tag) for tag in Tag],
    "notes": lambda text: (
        note_on([Message(role="user", content=text)]),
        without_notes(Message(role="user", content=text)),
    ),
    "excerpt": lambda text: (excerpt(text, query="a", page=1), excerpt(text, lines=(2, 5))),
}
UNITS = (
    *(
        "a",
        " ",
        "\n",
        "\t\r",
        "a ",
        "a. ",
        "x\n",
        "\\",
        "[",
        "{",
        '{"a":',
        '"',
        "'",
        "<",
        "< ",
        "<b ",
        "`",
        "|a",
        "a,b\n",
        "- ",
        "#",
    ),
    *(
        "\u0301",
        "\u200b",
        "👨\u200d",
        "\U0001f1eb",
        "\ud800",
        "库",
        "\0",
        "\x1b[",
        "a:1:b\n",
        "1.",
        "\r",
        "?",
        "why did we ",
    ),
    *("<!-- CCR:0123456789ab — full content available via retrieval -->\n", "<<ccr:0123456789ab>>", "[omit ", "hash="),
    *(f"<{tag}>\n" for tag in Tag),
    *(
        "2026-01-01 10:00:00 ERROR x\n",
        "at a.b(C.java:1)\n",
        "@@ -1,9 +1,9 @@\n",
        "```\n",
        "key:\n  ",
        "def f(a):\n",
        "[… 5 lines]\n",
    ),
)
SOME = (
    UNITS
    if LONG
    else (
        "a",
        " ",
        "\n",
        "a. ",
        "[",
        "< ",
        "\U0001f1eb",
        "\x1b[",
        MARKERS[10] + "\n",
        *(f"<{tag}>\n" for tag in list(Tag)[1:3]),
    )
)


def work(function, text: str) -> int:
    """Count what a function does to a text."""
    count = 0

    def on_call(_frame, event, arg):
        nonlocal count
        if event == "c_call":
            count += 1
            owner = getattr(arg, "__self__", None)
            if isinstance(owner, str) and arg.__name__ in _WHOLE:
                count += len(owner) // 32

    def on_line(_frame, event, _arg):
        nonlocal count
        count += event == "line"
        return on_line

    sys.setprofile(on_call)
    sys.settrace(on_line)
    try:
        function(text)
    finally:
        sys.settrace(None)
        sys.setprofile(None)
    return count


_WHOLE = frozenset(
    ("replace", "count", "split", "splitlines", "lower", "casefold", "translate", "join", "encode", "strip", "rstrip")
)


def grows(function, unit: str) -> list[float]:
    sizes = [2_000, 4_000, 8_000]
    function(unit * (sizes[0] // len(unit) + 1))  # what is loaded on first use is no work on the text
    counts = [work(function, unit * (size // len(unit) + 1)) for size in sizes]
    return [later / (former + 2_000) for former, later in pairwise(counts)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_work_grows_no_faster_than_the_text(name):
    too_fast = {unit: ratios for unit in SOME if min(ratios := grows(FUNCTIONS[name], unit)) > MOST}
    assert too_fast == {}


@pytest.mark.skipif(not LONG, reason="minutes long; set CTX_LONG=1")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_cpu_time_grows_no_faster_than_the_text(name):
    too_fast = {}
    for unit in UNITS:
        seconds = []
        for size in (50_000, 100_000, 200_000):
            started = time.process_time()
            FUNCTIONS[name](unit * (size // len(unit) + 1))
            seconds.append(time.process_time() - started)
        if seconds[2] > 0.5 and seconds[2] > MOST * seconds[1] > MOST * MOST * seconds[0] / 2:
            too_fast[unit] = seconds
    assert too_fast == {}


@pytest.mark.skipif(not LONG, reason="minutes long; set CTX_LONG=1")
@pytest.mark.parametrize("unit", UNITS)
def test_memory_stays_below_twelve_times_the_text(unit):
    optimizer().optimize(unit * 9_000, max_tokens=500)
    text = unit * (1_500_000 // len(unit))
    tracemalloc.start()
    try:
        optimizer().optimize(text, max_tokens=500)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 12 * sys.getsizeof(text)
