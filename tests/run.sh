#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test.
#
#   tests/run.sh                       all tests, on the release build
#   tests/run.sh --only REGEX          the tests whose name matches; contract ids are part of names,
#                                      so --only JOIN-07 runs what exercises that rule
#   tests/run.sh --sanitize address    all but the browser and style checks, with AddressSanitizer
#                                      and UndefinedBehaviorSanitizer; fuzz targets run 30 s each
#   tests/run.sh --sanitize thread     the threaded tests, with ThreadSanitizer
#   tests/run.sh --list                only name the tests; goes with the other options
#
# The simulation runs seeds that nobody has run yet; SIMULATE_SEEDS_FROM=N makes them begin at N, as
# a run before has printed it.
#
# The last line is "N passed, N failed". The exit code is 0 only if tests ran and none failed.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '2,/^set /s/^# \{0,1\}//p' tests/run.sh; }

wrong_usage() {
  printf 'run.sh: %s\n\n' "$1" >&2
  usage >&2
  exit 2
}

preset=release
targets=(all all_verify_interface_header_sets)
only=
list=false
selection=()
while (($#)); do
  case $1 in
    --only)
      [[ -n ${2-} ]] || wrong_usage "--only needs a regular expression"
      only=$2
      shift
      ;;
    --sanitize)
      case ${2-} in
        address)
          preset=asan
          targets=(all)
          selection=(-LE '^(browser|style|link)$')
          ;;
        thread)
          preset=tsan
          targets=(spotmesh_threaded_tests)
          selection=(-L '^threaded$')
          ;;
        *) wrong_usage "--sanitize takes address or thread, not '${2-}'" ;;
      esac
      shift
      ;;
    --list) list=true ;;
    -h | --help)
      usage
      exit
      ;;
    *) wrong_usage "unknown argument '$1'" ;;
  esac
  shift
done
[[ -z $only ]] || selection+=(-R "$only")

give_up() {
  printf 'run.sh: %s\n0 passed, 1 failed\n' "$1"
  exit 1
}

tools/setup.sh || give_up "the setup failed, see above"
build=build/$preset
mkdir -p "$build"
cmake --preset "$preset" >"$build/configure.log" 2>&1 || {
  cat "$build/configure.log"
  give_up "the configuration failed, see above"
}
cmake --build --preset "$preset" --target "${targets[@]}" >&2 ||
  give_up "the build failed, see above"

if $list; then
  ctest --test-dir "$build" -N "${selection[@]}" | sed -n 's/^ *Test *#[0-9]*: //p'
  exit
fi
export SIMULATE_SEEDS_FROM=${SIMULATE_SEEDS_FROM:-$(date +%s%3N)}
printf 'run.sh: fresh seeds of the simulation: SIMULATE_SEEDS_FROM=%s\n' "$SIMULATE_SEEDS_FROM"
report=$build/tests.xml
rm -f "$report"
ctest --test-dir "$build" --output-on-failure --no-tests=ignore -j "${CTEST_PARALLEL_LEVEL:-2}" \
  --output-junit "$PWD/$report" "${selection[@]}" || true
exec python3 tests/support/closing_line.py "$report"
