"""A LlamaIndex query engine whose retrieved nodes are compressed before the model sees them.

Runs offline with a mock model; for a real one, set `Settings.llm = OpenAI("gpt-4o-mini")` and a real embedding model.
"""

from __future__ import annotations

from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.schema import TextNode

from ctx_core import ContextOptimizer, TokenCounter
from llamaindex_ctx import ContextPostprocessor

BUDGET = 400


def build_log() -> str:
    """Return a nightly job's log: much noise, one failure."""
    lines = [
        f"2026-03-02 01:{minute:02d}:{second:02d} INFO copied block {minute * 60 + second} in 12 ms"
        for minute in range(20)
        for second in range(60)
    ]
    lines[700] = "2026-03-02 01:11:40 ERROR replica 3 refused block 700: no space left on device"
    return "\n".join(lines)


def main() -> None:
    """Ask a question, and print what the model was sent."""
    nodes = [
        TextNode(text=build_log(), metadata={"file": "nightly.log"}),
        TextNode(text="The nightly job copies blocks to three replicas.", metadata={"file": "notes.md"}),
    ]
    index = VectorStoreIndex(nodes, embed_model=MockEmbedding(8))
    optimizer = ContextOptimizer()
    engine = index.as_query_engine(
        llm=MockLLM(),
        node_postprocessors=[ContextPostprocessor(max_tokens=BUDGET, optimizer=optimizer)],
        similarity_top_k=2,
    )
    response = engine.query("Why did the nightly job fail?")
    sent = str(response)
    assert "no space left on device" in sent

    count = TokenCounter().count
    print(f"documents: {count(build_log())} tokens; sent to the model: {count(sent)} tokens\n")
    print(sent)


if __name__ == "__main__":
    main()
