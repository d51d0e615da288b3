"""What everyday tools print, generated: nothing is lost without a budget, and a budget is used when something is left out."""

from __future__ import annotations

from random import Random

import pytest

from ctx_core.optimize.fold import unfold
from ctx_core.optimize.optimizer import ContextOptimizer
from ctx_core.optimize.router import ContentRouter


def _eslint(r):
    rules = ("no-explicit-any", "semi", "exhaustive-deps")
    hits = "  {:>3}:{:<3} {}  Unexpected use here  {}"
    return "\n".join(
        f"/srv/web/src/part{file}.tsx\n"
        + "\n".join(hits.format(r.randint(1, 400), r.randint(1, 80), "warning", r.choice(rules)) for _ in range(6))
        + "\n"
        for file in range(14)
    )


def _mypy(r):
    line = 'src/app/mod{}.py:{}: error: Argument {} to "run" has incompatible type "str"; expected "int"  [arg-type]'
    return "\n".join(line.format(n % 9, r.randint(1, 600), 1 + n % 3) for n in range(60))


def _ctest(r):
    done = "{0:>3}/90 Test #{0:>2}: Unit.Case{0} .......................   Passed    {1:.2f} sec"
    return "\n".join(f"      Start {n:>3}: Unit.Case{n}\n{done.format(n, r.random())}" for n in range(1, 91))


def _threads(r):
    return "\n".join(
        f'"pool-1-thread-{n}" #{20 + n} prio=5 cpu={r.random() * 90:.2f}ms tid=0x00007f{r.randrange(16**8):08x} waiting\n'
        "   java.lang.Thread.State: WAITING (parking)\n\tat jdk.internal.misc.Unsafe.park(Native Method)\n"
        f"\tat app.Worker.run(Worker.java:{40 + n % 3})\n"
        for n in range(26)
    )


def _ps(r):
    row = "{:<10} {:>5}  {:.1f} {:>6} ?        Ss   09:{:02}   0:{:02} /usr/bin/worker --id {}"
    return "USER         PID %CPU    RSS TTY      STAT START   TIME COMMAND\n" + "\n".join(
        row.format(r.choice(["root", "app"]), r.randint(1, 99999), r.random(), r.randint(100, 99999), n % 60, n % 60, n)
        for n in range(60)
    )


def _plan(r):
    del r
    return "\n".join(
        f'  # aws_s3_bucket.data[{n}] will be created\n  + resource "aws_s3_bucket" "data" {{\n'
        f'      + arn    = (known after apply)\n      + bucket = "data-{n}-prod"\n    }}\n'
        for n in range(30)
    )


def _commits(r):
    return "\n".join(
        f"commit {r.randrange(16**40):040x}\nAuthor: {r.choice(['Kim Doe', 'Lee Roe'])} <dev@example.org>\n"
        f"Date:   Tue Jul {1 + n % 28} 10:0{n % 6}:11 2026 +0200\n\n    fix(quay): moor ship {n} at berth {n % 7}\n"
        for n in range(30)
    )


def _access(r):
    line = '10.0.0.{} - - [03/Mar/2026:10:{:02}:{:02} +0000] "GET /orders/{} HTTP/1.1" 200 {} "-" "curl/8.5"'
    return "\n".join(
        line.format(r.randint(1, 250), n % 60, r.randint(0, 59), n, r.randint(100, 9999)) for n in range(60)
    )


OUTPUTS = [make(Random(7)) for make in (_eslint, _mypy, _ctest, _threads, _ps, _plan, _commits, _access)]


@pytest.mark.parametrize("text", OUTPUTS, ids=["eslint", "mypy", "ctest", "threads", "ps", "plan", "commits", "access"])
def test_what_tools_print_is_folded_without_loss_and_fills_its_budget(text):
    subject = ContextOptimizer(router=ContentRouter(magika=False))
    whole = subject.optimize(text)
    assert whole.lossless
    assert unfold(whole.compressed) == text
    assert whole.compressed_tokens < 0.8 * whole.original_tokens
    for share in (0.1, 0.25):
        budget = int(share * whole.original_tokens)
        part = subject.optimize(text, max_tokens=budget)
        assert part.lossless or 0.6 * budget <= part.compressed_tokens <= budget
