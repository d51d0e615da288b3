"""A tool agent of 60 steps under each context middleware of LangChain, side by side, and what ours costs.

    python bench/bench_langchain.py                      # outputs made up here
    python bench/bench_langchain.py --data DIR           # DIR/trajectories.json and DIR/needles.json of tau-bench,
                                                         # or DIR with *.traj files of SWE-agent
    python bench/bench_langchain.py --overhead           # milliseconds per model call and per tool result

The model is a script: it calls one tool a step and never reads. The summary model is generous: it repeats every identifier
that it is shown, in up to 600 tokens.
"""

import argparse
import json
import os
import random
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    ModelRequest,
    ModelResponse,
    SummarizationMiddleware,
    dynamic_prompt,
)
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver

from ctx_core import Archive, ContextEngine, TokenCounter
from ctx_core.messages import message_tokens
from ctx_core.optimize.ccr import owner_scope
from langchain_ctx import ContextMiddleware
from langchain_ctx.agents.earlier import earlier_text
from langchain_ctx.messages import to_core
from langchain_ctx.testing.fakes import FakeChatModel, calls
from langchain_ctx.testing.order import Provider, order_faults

STEPS = 60
BUDGET = 8_000
SYSTEM = "You are a support agent. Look things up before you answer, and keep to the policy.\n" * 6
CLOCK = "Current time: 2026-05-01T10:{:02d}:07Z"
TASK = "Look through all the records and settle the case."
COUNTER = TokenCounter()
PROVIDERS: tuple[Provider, ...] = ("openai", "anthropic", "gemini")
Makes = Callable[[], list[AgentMiddleware[Any, Any, Any]]]


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """One tool output, and the facts of it that the answer needs."""

    text: str
    facts: tuple[str, ...] = ()


@dataclass(kw_only=True)
class Run:
    """What one agent did."""

    prompts: list[list[BaseMessage]] = field(default_factory=list)
    middleware: list[AgentMiddleware[Any, Any, Any]] = field(default_factory=list)
    final_state: dict[str, Any] = field(default_factory=dict)
    other_calls: int = 0
    other_tokens: int = 0


def made_up(seed: int = 0) -> list[Recorded]:
    """Outputs of a shop's tools: short records, long listings, and now and then a log."""
    rng = random.Random(seed)
    return [_made_up(rng, n) for n in range(STEPS)]


def _made_up(rng: random.Random, step: int) -> Recorded:
    code = f"R{step:02d}-{rng.randrange(16**6):06X}"
    if step % 6 == 5:
        lines = [f"2026-05-01 10:{n // 60:02d}:{n % 60:02d} INFO worker {n % 7} processed a batch" for n in range(120)]
        lines[rng.randrange(120)] = f"2026-05-01 11:00:00 ERROR booking {code} was refused"
        return Recorded(text="\n".join(lines), facts=(code,))
    if step % 3 == 0:
        rows = [{"code": f"X{step}-{n}", "seats": n % 9, "price": 80 + 7 * n, "carrier": "HAT", "refundable": False} for n in range(24)]  # fmt: skip
        rows[rng.randrange(24)]["code"] = code
        return Recorded(text=json.dumps(rows), facts=(code,))
    record = {
        "reservation": code,
        "user": f"user_{rng.randrange(9999)}",
        "cabin": "economy",
        "bags": step % 4,
        "insurance": "no",
    }
    return Recorded(text=json.dumps(record, indent=2), facts=(code,))


def recorded(folder: Path) -> list[Recorded]:
    """Tool outputs from files: the first 60 of several conversations, one after another."""
    if (folder / "trajectories.json").exists():
        runs = json.loads((folder / "trajectories.json").read_text())
        needles = {
            (n["traj"], n["msg"]): tuple(n["needles"]) for n in json.loads((folder / "needles.json").read_text())
        }
        found = [
            Recorded(text=message["content"], facts=needles[n, at])
            for n, run in enumerate(runs)
            for at, message in enumerate(run["traj"])
            if message["role"] == "tool" and (n, at) in needles
        ]
        return found[:STEPS]
    texts = [text for path in sorted(folder.rglob("*.traj")) for text in _observations(json.loads(path.read_text()))]
    return [Recorded(text=text, facts=_identifiers(text)) for text in texts if len(text) > 200][:STEPS]


def _observations(run: dict[str, Any]) -> list[str]:
    if "trajectory" in run:
        return [step.get("observation") or "" for step in run["trajectory"]]
    contents = [message["content"] for message in run["history"][2:] if message["role"] in ("user", "tool")]
    return [c if isinstance(c, str) else "\n".join(block.get("text", "") for block in c) for c in contents]


def _identifiers(text: str) -> tuple[str, ...]:
    """The rarest long words of an output stand for what an answer could need."""
    words = re.findall(r"[\w./:-]*\d[\w./:-]*|\w+Error\w*", text)
    return tuple(dict.fromkeys(word for word in words if len(word) > 6))[:5]


def generous_summary(prompt: list[BaseMessage]) -> AIMessage:
    shown = "\n".join(message.text for message in prompt)
    return AIMessage(
        "Facts so far: " + COUNTER.clip(" ".join(dict.fromkeys(re.findall(r"[\w-]*\d[\w-]*", shown))), 600)
    )


SUMMARIES = FakeChatModel(script=generous_summary)
SYSTEMS: dict[str, Makes] = {
    "nothing": list,
    "ContextMiddleware": lambda: [ContextMiddleware(ContextEngine(archive=Archive(embedder=None)), max_tokens=BUDGET)],
    "SummarizationMiddleware": lambda: [SummarizationMiddleware(SUMMARIES, trigger=("tokens", BUDGET), keep=("messages", 6), trim_tokens_to_summarize=None)],
    "ContextEditingMiddleware": lambda: [ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=BUDGET, keep=3)])],
}  # fmt: skip


def run_agent(outputs: list[Recorded], make: Makes, *, clock: bool = True, stop_at: int | None = None) -> Run:
    """Play the outputs to an agent; with `stop_at`, stop there, build everything anew and go on from the checkpoint."""
    run = Run()
    SUMMARIES.prompts.clear()
    with tempfile.TemporaryDirectory() as folder, SqliteSaver.from_conn_string(f"{folder}/t.db") as saver:
        if stop_at is not None:
            _play(outputs, run, make(), saver, clock=clock, until=stop_at)
        _play(outputs, run, _on_the_stores_of(run.middleware, make()), saver, clock=clock, until=len(outputs) + 1)
    run.other_calls = len(SUMMARIES.prompts)
    run.other_tokens = sum(tokens_of(prompt) for prompt in SUMMARIES.prompts)
    return run


def _play(
    outputs: list[Recorded],
    run: Run,
    middleware: list[AgentMiddleware[Any, Any, Any]],
    saver: Any,
    *,
    clock: bool,
    until: int,
) -> None:
    config: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 10 * STEPS}
    given: Any = None if run.prompts else {"messages": [HumanMessage(TASK, id="task")]}
    agent = _agent(outputs, run, middleware, saver, clock=clock)
    for _ in agent.stream(given, config, stream_mode="updates"):
        if len(run.prompts) >= until:
            break
    run.middleware, run.final_state = middleware, agent.get_state(config).values


def _on_the_stores_of(
    before: list[AgentMiddleware[Any, Any, Any]], made: list[AgentMiddleware[Any, Any, Any]]
) -> list[AgentMiddleware[Any, Any, Any]]:
    """Give new instances the stores of the old ones, as another process on the same servers has them."""
    for old, new in zip(before, made, strict=False):
        if isinstance(old, ContextMiddleware) and isinstance(new, ContextMiddleware):
            engine = ContextEngine(archive=old.engine.archive, optimizer=old.engine.optimizer)
            new.__init__(engine, max_tokens=new.max_tokens)
    return made


def _agent(
    outputs: list[Recorded], run: Run, middleware: list[AgentMiddleware[Any, Any, Any]], saver: Any, *, clock: bool
) -> Any:
    @tool
    def look_up(step: int) -> str:
        """Look up the record of a step."""
        return outputs[step].text

    def script(prompt: list[BaseMessage]) -> AIMessage:
        run.prompts.append(prompt)
        at = len(run.prompts) - 1
        return calls((f"call-{at}", "look_up", {"step": at})) if at < len(outputs) else AIMessage("settled")

    @dynamic_prompt
    def system(_: Any) -> str:
        return f"{CLOCK.format(len(run.prompts) % 60)}\n{SYSTEM}" if clock else SYSTEM

    return create_agent(FakeChatModel(script=script), [look_up], middleware=[system, *middleware], checkpointer=saver)


def tokens_of(prompt: list[BaseMessage]) -> int:
    return sum(message_tokens(to_core(message), COUNTER) for message in prompt)


def flat(prompt: list[BaseMessage]) -> str:
    return "\x1e".join(f"{m.type}:{m.content}:{getattr(m, 'tool_calls', '')}" for m in prompt)


def served_share(prompts: list[list[BaseMessage]]) -> float:
    """Share of prompt tokens that a cache of 128-token steps from 1,024 tokens on would serve."""
    texts = [flat(prompt) for prompt in prompts]
    same = [COUNTER.count(os.path.commonprefix([a, b])) for a, b in pairwise(texts)]  # noqa: RUF071 - characters are meant
    return sum(n // 128 * 128 for n in same if n >= 1024) / sum(COUNTER.count(text) for text in texts[1:])


def reachable(outputs: list[Recorded], run: Run) -> tuple[float, float]:
    """Shares of the facts that the last prompt shows, and that it shows or one call of the retrieval tool returns."""
    shown = flat(run.prompts[-1])
    facts = [(output, fact) for output in outputs for fact in output.facts]
    visible = [fact in shown for _, fact in facts]
    behind = _retrievable(run)
    found = [seen or fact in behind for seen, (_, fact) in zip(visible, facts, strict=True)]
    return sum(visible) / len(facts), sum(found) / len(facts)


def _retrievable(run: Run) -> str:
    ours = next((m for m in run.middleware if isinstance(m, ContextMiddleware)), None)
    if ours is None:
        return ""
    optimizer = ours.engine.optimizer_for(owner_scope(conversation_id="t"))
    return "\n".join(said for _, said in earlier_text(run.final_state["messages"], optimizer))


_COLUMNS = (
    "tokens sent",
    "largest prompt",
    "model calls",
    "summary calls (tokens)",
    "order faults",
    "facts shown",
    "facts reachable",
    "cache served",
    "without the clock",
)


def compare(outputs: list[Recorded]) -> None:
    """Print one row for each system."""
    size = sum(COUNTER.count(output.text) for output in outputs)
    print(f"{len(outputs)} outputs, {size:,} tokens; budget {BUDGET:,}; a clock in the system prompt")
    print("| | " + " | ".join(_COLUMNS) + " |")
    print("|---|" + "--:|" * len(_COLUMNS))
    for name, make in SYSTEMS.items():
        print(f"| {name} | " + " | ".join(_row(outputs, make)) + " |")


def _row(outputs: list[Recorded], make: Makes) -> list[str]:
    run, clock_free = run_agent(outputs, make), run_agent(outputs, make, clock=False)
    sizes = [tokens_of(prompt) for prompt in run.prompts]
    faults = sum(bool(order_faults(prompt, provider)) for prompt in run.prompts for provider in PROVIDERS)
    shares = (*reachable(outputs, run), served_share(run.prompts), served_share(clock_free.prompts))
    calls_made = f"{len(run.prompts)}", f"{run.other_calls} ({run.other_tokens:,})"
    return [f"{sum(sizes):,}", f"{max(sizes):,}", *calls_made, f"{faults}", *(f"{share:.3f}" for share in shares)]


def overhead() -> None:
    """Print what our hooks cost: a model call with about 200 messages in the state, and a tool result of 32 KB."""
    middleware = ContextMiddleware(ContextEngine(archive=Archive(embedder=None)), max_tokens=60_000)
    _print_times("model call, 170 to 230 messages", [_model_call(middleware, 85 + n // 2) for n in range(60)])
    texts = [json.dumps([{"id": f"{seed}-{n}", "state": "ok", "n": n, "note": f"item {n} of {seed}"} for n in range(480)])[:32_768] for seed in range(30)]  # fmt: skip
    _print_times("tool result, 32 KB of JSON", [_tool_result(middleware, text) for text in texts])


_CHAT = [
    message
    for n in range(130)
    for message in (
        calls((f"c{n}", "f", {"n": n})).model_copy(update={"id": f"a{n}"}),
        ToolMessage(f"row {n} " * 80, tool_call_id=f"c{n}", id=f"t{n}"),
    )
]
_STATE: dict[str, Any] = {}


def _model_call(middleware: ContextMiddleware, pairs: int) -> tuple[float, float]:
    shortened = [_shortened(middleware, message) for message in _CHAT[: 2 * pairs]]
    state: Any = {**_STATE, "messages": [HumanMessage(TASK, id="task"), *shortened]}
    request = ModelRequest(model=FakeChatModel(), messages=state["messages"], state=state, tools=[*middleware.tools])
    start, used = time.perf_counter(), time.thread_time()
    update = middleware.before_model(state, None)  # pyright: ignore[reportArgumentType] - no graph around it
    middleware.wrap_model_call(request, lambda _: ModelResponse(result=[AIMessage("ok")]))
    spent = (time.perf_counter() - start) * 1e3, (time.thread_time() - used) * 1e3
    _STATE.update({"ctx": update["ctx"]} if update else {})
    return spent


def _shortened(middleware: ContextMiddleware, message: BaseMessage) -> Any:
    request: Any = SimpleNamespace(tool=None)
    return middleware.wrap_tool_call(request, lambda _: message) if isinstance(message, ToolMessage) else message


def _tool_result(middleware: ContextMiddleware, text: str) -> tuple[float, float]:
    result = ToolMessage(text, tool_call_id="c")
    start, used = time.perf_counter(), time.thread_time()
    _shortened(middleware, result)
    return (time.perf_counter() - start) * 1e3, (time.thread_time() - used) * 1e3


def _print_times(what: str, spent: list[tuple[float, float]]) -> None:
    warm = spent[2:]
    for clock, times in (("wall", [wall for wall, _ in warm]), ("CPU", [cpu for _, cpu in warm])):
        p95 = statistics.quantiles(times, n=20)[-1]
        print(f"{what}: {clock} least {min(times):.1f} ms, median {statistics.median(times):.1f} ms, p95 {p95:.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--overhead", action="store_true")
    args = parser.parse_args()
    if args.overhead:
        overhead()
    else:
        compare(recorded(args.data) if args.data else made_up())


if __name__ == "__main__":
    main()
