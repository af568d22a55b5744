#!/usr/bin/env bash
# Installs what building, testing and playing need on Debian 12. This is the one place that names
# system packages. Does nothing, quickly, when all of it is there.
#
#   tools/setup.sh           install what is missing
#   tools/setup.sh --check   only say what is missing; exit 1 if anything is
set -euo pipefail

packages=(
  # compiler, linker, build tools
  clang-19 lld-19 libclang-rt-19-dev llvm-19 libstdc++-12-dev libc6-dev
  cmake ninja-build ccache clang-format-19 git python3 util-linux
  # libraries of the framework
  libboost1.81-dev libflatbuffers-dev flatbuffers-compiler libsqlite3-dev libhiredis-dev libssl-dev
  libspdlog-dev libfmt-dev libtomlplusplus-dev nlohmann-json3-dev libcli11-dev
  prometheus-cpp-dev
  # tests: unit and property tests, benchmarks, clocks that jump, the browser that plays, and the
  # server that --store redis starts
  catch2 librapidcheck-dev libbenchmark-dev faketime chromium redis-server
)
oldest_node=18

die() {
  printf 'setup: %s\n' "$@" >&2
  exit 1
}

usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0"; }

node_major() { node --version 2>/dev/null | sed -n 's/^v\([0-9]*\)\..*/\1/p'; }

# Node.js may have come from anywhere; only its version counts. Debian's comes without npm.
add_node_if_absent() {
  local found
  found=$(node_major || true)
  if [[ -z $found ]]; then
    packages+=(nodejs)
  elif ((found < oldest_node)); then
    die "node $(node --version) at $(command -v node) is too old: the web client's tests need" \
      "version $oldest_node or newer. Remove it, and this script installs Debian's."
  fi
  command -v npm >/dev/null || packages+=(npm)
}

missing_packages() {
  local installed
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null |
    sed -n 's/ installed$//p' || true)
  comm -23 <(printf '%s\n' "${packages[@]}" | sort -u) <(sort -u <<<"$installed")
}

install() {
  local -a as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      die "these packages are missing: $*" "Run this script as root, or install sudo."
    as_root=(sudo)
  fi
  local -a apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
    apt-get -o DPkg::Lock::Timeout=300)
  printf 'setup: installing %s\n' "$*"
  "${apt[@]}" update -q ||
    printf 'setup: apt-get update failed, trying with the lists at hand\n' >&2
  "${apt[@]}" install -q -y --no-install-recommends "$@" ||
    die "apt-get could not install: $*" \
      "Spotmesh is built on Debian 12 (bookworm) with its security updates enabled; clang-19" \
      "comes from there. Look at apt-get's message above, mend it and run tools/setup.sh again."
}

main() {
  local check_only=false
  case ${1-} in
    '') ;;
    --check) check_only=true ;;
    -h | --help) usage && return ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
  command -v dpkg-query >/dev/null ||
    die "this is not a Debian system: dpkg-query is missing." \
      "Install the equivalents of these yourself: ${packages[*]} nodejs npm"
  add_node_if_absent
  local -a missing
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]} == 0)) && return
  if $check_only; then
    printf 'setup: missing: %s\n' "${missing[*]}"
    exit 1
  fi
  install "${missing[@]}"
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]} == 0)) || die "still missing after the installation: ${missing[*]}"
  [[ $(node_major) -ge $oldest_node ]] || die "node $oldest_node or newer is still not on PATH"
}

main "$@"
