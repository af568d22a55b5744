#!/usr/bin/env bash
# Runs the tests of a folder that are written for Node. What its package.json names is installed in
# MODULES before, once per lock file.
#
#   tests/e2e/node_tests.sh FOLDER MODULES
set -euo pipefail
folder=$(cd "${1:?usage: node_tests.sh FOLDER MODULES}" && pwd)
modules=${2:?usage: node_tests.sh FOLDER MODULES}

mkdir -p "$modules"
if ! cmp -s "$folder/package-lock.json" "$modules/installed-lock.json"; then
  cp "$folder/package.json" "$folder/package-lock.json" "$modules/"
  (cd "$modules" && npm ci --no-audit --no-fund --ignore-scripts)
  cp "$modules/package-lock.json" "$modules/installed-lock.json"
fi
export SPOTMESH_NODE_MODULES=$modules
exec node --test "$folder"/*.test.mjs
