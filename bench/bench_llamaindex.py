"""What the postprocessor costs and saves in a query engine, with and without it in one run.

    python bench/bench_llamaindex.py [FOLDER …]

Without folders it reads this project's own documentation; name more folders of text files to measure on those, too.
"""

import argparse
import statistics
import time
from pathlib import Path

from llama_index.core import SummaryIndex
from llama_index.core.llms import LLMMetadata, MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import BaseNode, Document, NodeWithScore, TextNode

from ctx_core import ContextOptimizer, TokenCounter
from llamaindex_ctx import ContextPostprocessor

COUNT = TokenCounter().count


class Wide(MockLLM):
    """A mock model whose window holds every prompt, so that nothing is cut but by the postprocessor."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=1_000_000)


NEEDLE = "ERROR 7319: the replica refused the block"


def documents(folders: list[str]) -> list[Document]:
    paths = sorted(path for folder in folders for path in Path(folder).rglob("*") if path.is_file())
    texts = [(path, path.read_text(encoding="utf-8", errors="replace")) for path in paths]
    return [Document(text=text, metadata={"file": path.name}) for path, text in texts if text.strip()]


def compare(nodes: list[BaseNode], budget: int) -> None:
    """Ask over twenty nodes at a time, a needle planted in each batch."""
    sent = {"without": 0, "with": 0}
    kept = {"without": 0, "with": 0}
    batches = [nodes[at : at + 20] for at in range(0, len(nodes), 20)]
    for number, batch in enumerate(batches):
        target = batch[number % len(batch)]
        planted = [
            node.model_copy(update={"text": f"{node.get_content()}\n{NEEDLE}"}) if node is target else node
            for node in batch
        ]
        for name, post in (("without", []), ("with", [ContextPostprocessor(max_tokens=budget)])):
            engine = SummaryIndex(planted).as_query_engine(
                llm=Wide(max_tokens=None), node_postprocessors=post, response_mode="simple_summarize"
            )
            prompt = str(engine.query("Which error did the replica report?"))
            sent[name] += COUNT(prompt)
            kept[name] += NEEDLE in prompt
    for name, tokens in sent.items():
        print(
            f"{name:8} postprocessor: {tokens} tokens over {len(batches)} questions, needles {kept[name]}/{len(batches)}"
        )
    print(f"ratio {sent['with'] / sent['without']:.3f}")


def overhead() -> None:
    """Twenty nodes of 1,000 tokens, none seen before, against counting their tokens once."""
    walls, counts, texts = [], [], [""]
    optimizer = ContextOptimizer()
    for run in range(15):
        texts = [
            "\n".join(f"10:{n // 60:02d}:{n % 60:02d} INFO run {run} node {node} copied block {n}" for n in range(52))
            for node in range(20)
        ]
        nodes = [NodeWithScore(node=TextNode(text=text), score=1.0) for text in texts]
        start = time.perf_counter()
        sum(map(COUNT, texts))
        counts.append(time.perf_counter() - start)
        start = time.perf_counter()
        ContextPostprocessor(max_tokens=4000, optimizer=optimizer).postprocess_nodes(nodes, query_str="what failed?")
        walls.append(time.perf_counter() - start)
    print(
        f"20 nodes of {COUNT(texts[0])} tokens: {statistics.median(walls) / statistics.median(counts):.1f} x one count, worst {max(walls[1:]) * 1e3:.0f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", default=[str(Path(__file__).parents[1] / "docs")])
    nodes = SentenceSplitter(chunk_size=800, chunk_overlap=0).get_nodes_from_documents(
        documents(parser.parse_args().folders)
    )
    compare(nodes, budget=4000)
    overhead()


if __name__ == "__main__":
    main()
