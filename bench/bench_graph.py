"""What a render costs as graphs grow, and what it keeps: look-alike chains, the reference's 36 cells, planted answers.

`--tables` prints the tables of docs/guides/graph.md.
"""

import random
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from ctx_core import Bundle, Node, Relation, RelationClass, audit, render
from ctx_core.graph.explained_path import find_explained_path
from ctx_core.testing.answers import planted_answers, site_graph
from ctx_core.testing.graphs import chain

sys.path.insert(0, str(Path(__file__).parent.parent / "tests/core/graph"))
from reference import BUDGETS, cells, reference_keeps  # pyright: ignore[reportMissingImports] - shared with tests

SIZES = ((100, 500), (1_000, 5_000), (5_000, 25_000), (20_000, 100_000))
LOOK_ALIKES: dict[str, dict[str, Any]] = {
    "plain": {},
    "a third of the fields missing": {"missing": 0.3},
    "a third of the branches claim steps": {"lies": 0.3},
    "classes mislabelled": {"mislabelled": True},
    "shortcuts": {"shortcuts": 8},
    "cycles, half of them explained": {"cycles": 30},
    "all at once": {"missing": 0.3, "lies": 0.3, "shortcuts": 6, "cycles": 20},
}


def random_graph(nodes: int, relations: int) -> Bundle:
    """Relations between any two nodes; half of them explained, half with a step."""
    rng = random.Random(0)
    ids = [f"node-{n:06d}" for n in range(nodes)]
    return Bundle(
        root_node_id=ids[0],
        nodes=[Node(node_id=i, node_kind="task", title=f"title {i[5:]} of it", summary="as planned") for i in ids],
        relations=[
            Relation(
                source_node_id=rng.choice(ids),
                target_node_id=rng.choice(ids),
                relation_type="LEADS_TO",
                semantic_class=rng.choice(list(RelationClass)),
                rationale=f"pool {n} drained the queue" if rng.random() < 0.5 else None,
                sequence=n % 20 if rng.random() < 0.5 else None,
            )
            for n in range(relations)
        ],
    )


def cost(max_tokens: int = 2000) -> None:
    print("| nodes | relations | median ms | p95 ms | CPU ms | its p95 |\n|---|---|---|---|---|---|")
    for nodes, relations in SIZES:
        bundle = random_graph(nodes, relations)
        walls, cpus = [], []
        for _ in range(200 if relations <= 5_000 else 10):
            wall, cpu = time.perf_counter(), time.process_time()
            render(bundle, max_tokens=max_tokens)
            walls.append((time.perf_counter() - wall) * 1e3)
            cpus.append((time.process_time() - cpu) * 1e3)
        columns = [f"{ms:.1f}" for times in (walls, cpus) for ms in (statistics.median(times), p95(times))]
        print(f"| {nodes:,} | {relations:,} | {' | '.join(columns)} |")


def p95(times: list[float]) -> float:
    return sorted(times)[round(0.95 * (len(times) - 1))]


def look_alikes() -> None:
    print("| what hides the chain | found | reasons at 256 | at 512 |\n|---|---|---|---|")
    for name, how in LOOK_ALIKES.items():
        found, kept = [], defaultdict(list)
        for seed in range(20):
            for hops, branches in ((3, 1), (5, 3), (8, 5)):
                hidden = chain(seed, hops=hops, branches=branches, **how)
                ids = {relation.relation_id for relation in find_explained_path(hidden.bundle).relations}
                found += [relation.relation_id in ids for relation in hidden.true_path]
                for budget in (256, 512):
                    text = render(hidden.bundle, max_tokens=budget).text
                    kept[budget] += [r.rationale in text for r in hidden.true_path if r.rationale]
        print(
            f"| {name} | {statistics.mean(found):.3f} | {statistics.mean(kept[256]):.3f} | {statistics.mean(kept[512]):.3f} |"
        )


def reference() -> None:
    print("| cell | " + " | ".join(map(str, BUDGETS)) + " |\n|---" + "|---" * len(BUDGETS) + "|")
    chain_share: dict[int, list[list[float]]] = {budget: [[], []] for budget in BUDGETS}
    losses = []
    for cell in cells():
        row = []
        for budget in BUDGETS:
            shown = render(cell.bundle, max_tokens=budget)
            ours = {section.relation_id for section in shown.sections if section.kind == "relation"}
            _, theirs = reference_keeps(cell.bundle, budget)
            row.append(f"{len(theirs & cell.chain_ids)} → {len(ours & cell.chain_ids)}")
            for counts, kept in zip(chain_share[budget], (theirs, ours), strict=True):
                counts.append(len(kept & cell.chain_ids) / len(cell.chain_ids))
            if len(theirs) > len(ours):
                losses.append(f"{cell.name} at {budget}: {len(theirs)} relations of any kind against {len(ours)}")
        print(f"| {cell.name}, of {len(cell.chain_ids)} | " + " | ".join(row) + " |")
    means = [" → ".join(f"{statistics.mean(side):.2f}" for side in chain_share[budget]) for budget in BUDGETS]
    print("| **share, mean of cells** | " + " | ".join(means) + " |\n")
    print("The reference keeps more:", *losses, sep="\n- ")


def planted() -> None:
    right = defaultdict(list)
    for seed in range(40):
        bundle = site_graph(seed)
        shown = render(bundle)
        for answer in planted_answers(bundle, seed):
            found = {claim.verdict for claim in audit(answer.text, shown).claims}
            allowed = answer.right | ({"supported"} if answer.kind == "invented id" else set())
            right[answer.kind].append(bool(found & answer.right) and found <= allowed)
    print(f"{sum(map(len, right.values()))} answers\n\n| planted | answers | verdict right |\n|---|---|---|")
    for kind, hits in right.items():
        print(f"| {kind} | {len(hits)} | {statistics.mean(hits):.3f} |")


def main() -> None:
    cost()
    if "--tables" in sys.argv:
        for table in (look_alikes, reference, planted):
            print()
            table()


if __name__ == "__main__":
    main()
