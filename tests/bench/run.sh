#!/usr/bin/env bash
# Builds the benchmarks for release and runs them.
#
#   tests/bench/run.sh                 all of them, as a table
#   tests/bench/run.sh NAME…           only these: runtime for bench_runtime
#   tests/bench/run.sh --json FILE     writes all figures for programs as well
#   tests/bench/run.sh gateway --baselines DIR
#                                      beside the echo servers whose sources lie in DIR, which
#                                      SPOTMESH_BASELINES may name as well
set -euo pipefail
cd "$(dirname "$0")/../.."

tools/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release --target bench >&2
exec python3 -B tests/bench/report.py build/release/bin "$@"
