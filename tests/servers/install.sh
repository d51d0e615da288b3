#!/usr/bin/env bash
# Fetches what the server tests need and Python packages do not bring: Debian's Redis, for TLS. The jars of Neo4j are
# put together from Maven Central by the first test that needs them.
set -euo pipefail

for tool in java mvn; do
  command -v "$tool" >/dev/null || { echo "the tests of Neo4j need $tool" >&2; exit 1; }
done
if ! command -v redis-server >/dev/null; then
  apt-get update -qq && apt-get install -y -qq redis-server >/dev/null
fi
