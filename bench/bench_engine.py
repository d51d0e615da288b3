"""What preparing the next turn of a long chat costs, against counting its tokens once, which any budget needs."""

import statistics
import time

from ctx_core import Archive, ContextEngine, Message, TokenCounter, ToolCall
from ctx_core.messages import message_tokens

LOG = "\n".join(
    [*(f"2026-03-02T10:{n // 60 % 60:02d}:{n % 60:02d}Z INFO step {n} ok" for n in range(500)), "ERROR disk full"]
)


def chat(turns: int) -> list[Message]:
    messages = [Message(role="system", content="You help."), Message(role="user", content="Pack the depot.")]
    for n in range(turns):
        messages += [
            Message(role="assistant", tool_calls=(ToolCall(id=f"c{n}", name="pack"),)),
            Message(role="tool", tool_call_id=f"c{n}", content=f"crate {n}\n{LOG}"),
            Message(role="assistant", content=f"Crate {n} is packed."),
            Message(role="user", content=f"Go on with crate {n + 1}."),
        ]
    return messages


def median_ms(function, runs: int = 9) -> float:
    walls = []
    for _ in range(runs):
        start = time.perf_counter()
        function()
        walls.append((time.perf_counter() - start) * 1e3)
    return statistics.median(walls)


def main() -> None:
    counter = TokenCounter()
    for turns in (10, 50):
        messages = chat(turns)
        engine = ContextEngine(archive=Archive(embedder=None))
        engine.prepare(messages, user_id="user-1", max_tokens=8000)
        baseline = median_ms(lambda messages=messages: [message_tokens(message, counter) for message in messages])
        warm = median_ms(
            lambda messages=messages, engine=engine: engine.prepare(messages, user_id="user-1", max_tokens=8000)
        )
        print(
            f"{len(messages)} messages: warm prepare {warm / baseline:.2f} x one count of the chat ({baseline:.0f} ms)"
        )


if __name__ == "__main__":
    main()
