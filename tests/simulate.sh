#!/usr/bin/env bash
# Simulates clusters under faults, a run for each seed, after the seeds that have once found a
# defect:
#   ./tests/simulate.sh [--seeds N] [--from SEED] [--scenario NAME] [--known]
#                       [--each-fault] [--replay SEED [--trace]]
#
# Scenarios: alone (one node and its clients), together (several), apart (several without clients,
# whose objects live anywhere), tictactoe (the sample); without --scenario each seed in turn.
# Without --from it takes seeds that nobody has run yet. What fails is printed with its trace and
# the command that replays it. Exit codes: 0 all correct, 1 wrong, 2 usage, 3 stuck, 4 crashed.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release --target simulate >&2
exec build/release/bin/simulate "$@"
