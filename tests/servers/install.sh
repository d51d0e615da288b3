#!/usr/bin/env bash
# Fetches what the server tests need and Python packages do not bring: Debian's Redis (for TLS) and the jars of Neo4j.
set -euo pipefail
cd "$(dirname "$0")"

if ! command -v redis-server >/dev/null; then
  apt-get update -qq && apt-get install -y -qq redis-server >/dev/null
fi
