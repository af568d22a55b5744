#!/usr/bin/env bash
# Simulates the cluster over many seeds:
#   ./tests/simulate.sh [--seeds N] [--from SEED] [--replay SEED]
#
# Without --from or --replay it takes seeds that nobody has run yet. Exit codes: 0 all correct,
# 1 wrong, 2 usage, 3 stuck; a crash ends by its signal.
set -euo pipefail
cd "$(dirname "$0")/.."

has_start=false
for argument in "$@"; do
  case "$argument" in
    --from | --from=* | --replay | --replay=* | --help | -h) has_start=true ;;
  esac
done

tools/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release --target simulate >/dev/null
if ! $has_start; then
  set -- "$@" --from "$(date +%s)000"
fi
exec build/release/bin/simulate "$@"
