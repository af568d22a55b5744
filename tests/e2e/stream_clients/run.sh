#!/usr/bin/env bash
# Installs what the clients need below the given build folder, once per lock file, and runs the
# tests.
#
#   tests/e2e/stream_clients/run.sh FOLDER
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
modules=${1:?usage: run.sh FOLDER}

mkdir -p "$modules"
if ! cmp -s "$here/package-lock.json" "$modules/installed-lock.json"; then
  cp "$here/package.json" "$here/package-lock.json" "$modules/"
  (cd "$modules" && npm ci --no-audit --no-fund --ignore-scripts)
  cp "$modules/package-lock.json" "$modules/installed-lock.json"
fi
export SPOTMESH_NODE_MODULES=$modules
exec node --test "$here"/*.test.mjs
