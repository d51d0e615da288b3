"""How stack traces of each language are shortened within the noise around them."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from ctx_core.optimize.compressors.base import Budget
from ctx_core.optimize.compressors.log import LogCompressor

_NOISE = [f"INFO request {n} served in {n * 7 % 31} ms" for n in range(200)]


def within_noise(trace: str) -> str:
    """Return what stays of `trace` when it stands in the middle of a service's log."""
    text = "\n".join([*_NOISE[:100], *trace.strip("\n").split("\n"), *_NOISE[100:]])
    shown = LogCompressor().compress(text, Budget()).text.split("\n")
    return "\n".join(shown[3:-1])


def test_python_recursion_keeps_both_ends_and_the_error() -> None:
    step = '  File "/srv/app/walk.py", line 40, in walk\n    walk(node.child)\n'
    trace = (
        'Traceback (most recent call last):\n  File "/usr/lib/python3.11/runpy.py", line 196, in _run\n    exec(code)\n'
        '  File "/srv/app/main.py", line 12, in <module>\n    main()\n'
        + step
        * 30
        + '  File "/srv/app/walk.py", line 38, in walk\n    return node.leaf.weight\n'
        "RecursionError: maximum recursion depth exceeded"
    )
    assert within_noise(trace) == snapshot("""\
Traceback (most recent call last):
  File "/usr/lib/python3.11/runpy.py", line 196, in _run
    exec(code)
  File "/srv/app/main.py", line 12, in <module>
    main()
  File "/srv/app/walk.py", line 40, in walk
    walk(node.child)
[… 58 lines]
  File "/srv/app/walk.py", line 38, in walk
    return node.leaf.weight
RecursionError: maximum recursion depth exceeded\
""")


def test_java_keeps_its_causes_and_the_callers_frames() -> None:
    frames = "\n".join(f"\tat org.springframework.aop.Proxy.call{c}(Proxy.java:{n})" for n, c in enumerate("abcdefgh"))
    trace = f"""
java.lang.IllegalStateException: cannot settle order 17
\tat com.acme.pay.Settler.settle(Settler.java:88)
{frames}
\tat java.base/java.lang.Thread.run(Thread.java:840)
Caused by: java.sql.SQLTimeoutException: no answer in 30 s
\tat com.acme.db.Pool.take(Pool.java:31)
\t... 9 more
"""
    assert within_noise(trace) == snapshot("""\
java.lang.IllegalStateException: cannot settle order 17
	at com.acme.pay.Settler.settle(Settler.java:88)
[… 9 lines]
Caused by: java.sql.SQLTimeoutException: no answer in 30 s
	at com.acme.db.Pool.take(Pool.java:31)
	... 9 more\
""")


def test_threads_that_interleave_are_told_apart() -> None:
    rows = [
        line
        for n in range(8)
        for line in (f"[t-1]     at com.acme.A.f{n}(A.java:{n})", f"[t-2]     at com.acme.B.g{n}(B.java:{n})")
    ]
    heads = ["[t-1] java.lang.IllegalArgumentException: left", "[t-2] java.lang.IllegalStateException: right"]
    assert within_noise("\n".join([*heads, *rows])) == snapshot("""\
[t-1] java.lang.IllegalArgumentException: left
[t-2] java.lang.IllegalStateException: right
[t-1]     at com.acme.A.f0(A.java:0)
[t-2]     at com.acme.B.g0(B.java:0)
[… 12 lines]
[t-1]     at com.acme.A.f7(A.java:7)
[t-2]     at com.acme.B.g7(B.java:7)\
""")


_TRACES = {
    "javascript": """
TypeError: Cannot read properties of undefined (reading 'id')
    at render (/srv/app/src/view.js:10:15)
    at node:internal/process/task_queues:95:5
""",
    "go": """
panic: runtime error: index out of range [5] with length 3

goroutine 1 [running]:
main.pick(...)
\t/srv/app/pick.go:14
main.main()
\t/srv/app/main.go:9 +0x1d
exit status 2
""",
    "rust": """
thread 'main' panicked at src/ledger.rs:41:9:
ledger is empty
stack backtrace:
   0: rust_begin_unwind
             at /rustc/abc/library/std/src/panicking.rs:1:5
   1: ledger::close
             at ./src/ledger.rs:41:9
""",
    "dotnet": """
Unhandled exception. System.InvalidOperationException: no rate
   at Acme.Rates.Get(String c) in /src/Rates.cs:line 20
 ---> System.IO.IOException: disk gone
   --- End of inner exception stack trace ---
""",
    "c++": """
==9==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010
    #0 0x55d in acme::Queue::pop() /src/queue.cc:31:5
    #1 0x55e in main /src/main.cc:8
""",
}


@pytest.mark.parametrize(
    ("language", "signals"),
    [
        ("javascript", ["TypeError: Cannot read", "view.js:10:15"]),
        ("go", ["panic: runtime error", "pick.go:14", "exit status 2"]),
        ("rust", ["panicked at src/ledger.rs:41:9", "1: ledger::close"]),
        ("dotnet", ["no rate", "Rates.cs:line 20", "disk gone"]),
        ("c++", ["heap-use-after-free", "queue.cc:31:5"]),
    ],
)
def test_each_language_keeps_its_head_and_nearest_frame(language: str, signals: list[str]) -> None:
    shown = within_noise(_TRACES[language])
    assert [signal for signal in signals if signal not in shown] == []


def test_a_trace_that_repeats_is_shown_once() -> None:
    trace = "java.lang.IllegalStateException: shut\n\tat com.acme.Pool.take(Pool.java:31)\n\tat com.acme.Job.run(Job.java:7)"
    text = "\n".join(f"INFO round {n}\n{trace}" for n in range(60))
    shown = LogCompressor().compress(text, Budget()).text
    assert shown.count("Pool.java:31") == 1
