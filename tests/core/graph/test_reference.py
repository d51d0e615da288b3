"""Measured against the reference's published rules on graphs of its own shape, cell by cell."""

import pytest
from reference import BUDGETS, Cell, cells, density, reference_keeps, resumes, tier_caps

from ctx_core.graph.modes import RehydrationMode, resolve_mode
from ctx_core.graph.render import RenderedContext, render
from ctx_core.tokens import TokenCounter

COUNT = TokenCounter()


@pytest.mark.parametrize(
    ("total", "resume", "caps"),
    [
        (0, False, (0, 0, 0)),
        (50, False, (50, 0, 0)),
        (100, False, (100, 0, 0)),
        (101, False, (100, 1, 0)),
        (300, False, (100, 200, 0)),
        (600, False, (100, 500, 0)),
        (4096, False, (100, 500, 3496)),
        (512, True, (100, 412, 0)),
    ],
)
def test_the_rules_cap_tiers_as_published(total, resume, caps):
    assert tier_caps(total, resume=resume) == caps


@pytest.mark.parametrize("cell", list(cells()), ids=lambda cell: cell.name)
def test_auto_chooses_as_the_rules_do(cell):
    for budget in (None, *BUDGETS):
        chosen = resolve_mode("auto", cell.bundle, max_tokens=budget).mode
        rule = resumes(budget, len(cell.bundle.nodes), density(cell.bundle))
        assert (chosen is RehydrationMode.RESUME_FOCUSED) == rule


def lines_kept(shown: RenderedContext) -> set[str | None]:
    return {section.relation_id for section in shown.sections if section.kind == "relation"}


@pytest.mark.parametrize("cell", list(cells()), ids=lambda cell: cell.name)
def test_no_cell_keeps_less_of_the_main_chain_than_the_rules_do(cell):
    for budget in BUDGETS:
        _, theirs = reference_keeps(cell.bundle, budget)
        assert len(lines_kept(render(cell.bundle, max_tokens=budget)) & cell.chain_ids) >= len(theirs & cell.chain_ids)


def test_the_whole_text_keeps_to_its_budget_where_the_rules_count_lines_alone():
    bundle = Cell("stress", "operations", "explanatory", "competing").bundle
    text, _ = reference_keeps(bundle, 4096)
    assert COUNT(text) > sum(map(COUNT, text.split("\n\n")))
    assert all(render(bundle, max_tokens=budget).token_count <= budget for budget in range(96, 1200, 50))


def test_the_structural_arm_is_given_its_relations():
    shown = render(Cell("meso", "operations", "structural", "clean").bundle, max_tokens=4096)
    assert not shown.omitted
