"""The Python blocks of a page run in order, as a reader would type them; each page begins anew."""

from itertools import groupby
from pathlib import Path

import pytest
from pytest_examples import CodeExample, find_examples

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("packages/*/README.md")), ROOT / "docs"]


def pages() -> list[list[CodeExample]]:
    blocks = [block for block in find_examples(*map(str, PAGES)) if block.prefix.split(" ")[0] == "python"]
    return [list(page) for _, page in groupby(blocks, key=lambda block: block.path)]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page[0].path.relative_to(ROOT)))
def test_the_blocks_of_a_page_run(page: list[CodeExample], tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__docs__"}
    for block in page:
        # Blank lines in front make a traceback name the line of the page.
        source = "\n" * block.start_line + block.source
        exec(compile(source, str(block.path), "exec", dont_inherit=True), names)
