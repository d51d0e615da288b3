"""Every Python block in the README, the docs and the packages' docstrings runs as it stands."""

from pathlib import Path

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("packages/*/README.md")), "docs"]


def blocks():
    """All blocks but those marked `skip`, which name what only the reader has, such as a server or a key."""
    found = list(find_examples(*(str(ROOT / page) for page in PAGES)))
    return [block for block in found if block.prefix == "python" or block.prefix.startswith("python ")]


@pytest.mark.parametrize("example", blocks(), ids=lambda block: str(block).removeprefix(f"{ROOT}/"))
def test_a_code_block_runs(example: CodeExample, eval_example: EvalExample, tmp_path, monkeypatch):
    if example.prefix_settings().get("test") == "skip":
        pytest.skip(example.prefix_settings().get("reason", "needs what only the reader has"))
    monkeypatch.chdir(tmp_path)
    eval_example.set_config(line_length=120)
    eval_example.run(example)
