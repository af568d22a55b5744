#!/usr/bin/env bash
# Installs what is missing, builds, and starts a sample on a fresh SQLite Location Store.
#
#   samples/run.sh tictactoe                  serve the game until Ctrl-C, and say where
#   samples/run.sh tictactoe --demo           play whole matches with bots, print each move and
#                                             exit 0 if everything was as the rules say
#
#   A game of your own, see samples/new.sh, is run in the same way.
#
#   --host H      the address to serve at, 127.0.0.1 if not given, where only this machine can
#                 play; 0.0.0.0 lets the phones of your network in
#   --port P      where to serve, 8080 if not given; 0 is any free port
#   --nodes N     so many server processes, 2 if not given, that form a cluster; each serves at the
#                 port after the one before. Players may come in at any of them and meet in one
#                 room. Rooms cannot move between nodes yet, so all of them live on the first
#   --store KIND  sqlite, if not given, or redis: a redis-server of its own that ends with the game
#
# With SPOTMESH_BIN_DIR set, the executables there are used and nothing is built.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '2,/^set /s/^# \{0,1\}//p' samples/run.sh; }

die() {
  printf 'run.sh: %s\n' "$1" >&2
  exit "${2:-1}"
}

wrong_usage() {
  printf 'run.sh: %s\n\n' "$1" >&2
  usage >&2
  exit 2
}

# The games that there are, with a comma between.
games() {
  local found=(samples/*/CMakeLists.txt)
  found=("${found[@]#samples/}")
  found=("${found[@]%/CMakeLists.txt}")
  local IFS=,
  printf '%s' "${found[*]}" | sed 's/,/, /g'
}

sample=
demo=false
nodes=2
kind=sqlite
host=127.0.0.1
port=
while (($#)); do
  case $1 in
    --demo) demo=true ;;
    --rolling) die "--rolling needs nodes that can move their rooms, which do not exist yet" 2 ;;
    --nodes)
      nodes=${2-}
      [[ $nodes =~ ^[1-9][0-9]*$ ]] || wrong_usage "--nodes takes a number, not '${2-}'"
      ((nodes <= 16)) || wrong_usage "--nodes takes 1 to 16, not $nodes"
      shift
      ;;
    --store)
      case ${2-} in
        sqlite | redis) kind=$2 ;;
        *) wrong_usage "--store takes sqlite or redis, not '${2-}'" ;;
      esac
      shift
      ;;
    --host)
      [[ -n ${2-} ]] || wrong_usage "--host takes an address"
      host=$2
      shift
      ;;
    --port)
      port=${2-}
      [[ $port =~ ^[0-9]{1,5}$ ]] && ((port < 65536)) ||
        wrong_usage "--port takes a number below 65536, not '${2-}'"
      shift
      ;;
    -h | --help)
      usage
      exit
      ;;
    [a-z]*)
      if [[ ! -f samples/$1/CMakeLists.txt ]]; then
        [[ $1 != bingo ]] || die "the sample bingo does not exist yet; there is $(games)" 2
        wrong_usage "there is no game in samples/$1; there is $(games)"
      fi
      sample=$1
      ;;
    *) wrong_usage "unknown argument '$1'" ;;
  esac
  shift
done
[[ -n $sample ]] || wrong_usage "which sample? There is $(games)"
if [[ -z $port ]]; then
  if $demo; then port=0; else port=8080; fi
fi

build() {
  tools/setup.sh
  mkdir -p build/release
  cmake --preset release >build/release/configure.log 2>&1 || {
    cat build/release/configure.log >&2
    die "the configuration failed, see above"
  }
  cmake --build --preset release --target "$sample-server" "$sample-bot" >&2 ||
    die "the build failed, see above"
}

if [[ -n ${SPOTMESH_BIN_DIR-} ]]; then
  bin=$SPOTMESH_BIN_DIR
else
  build
  bin=$PWD/build/release/bin
fi

# What tests are told through the environment is no setting of a server.
unset SPOTMESH_BIN_DIR SPOTMESH_SOURCE_DIR SPOTMESH_SANITIZE

run=$(mktemp -d "${TMPDIR:-/tmp}/spotmesh-$sample.XXXXXX")
servers=()
redis= # the process, when there is one

stop_server() {
  kill -TERM "$1" 2>/dev/null || return 0
  timeout 15 tail --pid="$1" -s 0.1 -f /dev/null || kill -KILL "$1" 2>/dev/null || true
}

# Runs at every exit.
clean_up() {
  trap '' INT TERM
  local pid
  for pid in "${servers[@]}" $redis; do stop_server "$pid"; done
  rm -rf "$run"
}
trap clean_up EXIT
# Ctrl-C is how a game that is served is meant to end.
trap 'exit 0' INT
trap 'exit 143' TERM

# What the nodes prove to each other that they know.
(umask 077 && head -c 32 /dev/urandom | base64 >"$run/secret")

# start_redis: a private one, on a port that nobody has; sets `store`.
start_redis() {
  local attempt at pid lines follower said
  command -v redis-server >/dev/null || die "there is no redis-server; tools/setup.sh installs it"
  for ((attempt = 1; attempt <= 10; ++attempt)); do
    at=$((20000 + RANDOM % 20000))
    redis-server --bind 127.0.0.1 --port "$at" --dir "$run" --save '' >"$run/redis.log" 2>&1 &
    pid=$!
    exec {lines}< <(exec tail -n +1 -F --pid="$pid" "$run/redis.log" 2>/dev/null)
    follower=$!
    said=$(sed -n '/Ready to accept connections/{p;q}' <&"$lines" || true)
    kill "$follower" 2>/dev/null || true
    wait "$follower" 2>/dev/null || true
    exec {lines}<&-
    if [[ -n $said ]]; then
      redis=$pid
      store=redis://127.0.0.1:$at/0?prefix=$sample
      return
    fi
  done
  cat "$run/redis.log" >&2
  die "redis-server did not start, see above"
}

store=sqlite:$run/cluster.db
[[ $kind != redis ]] || start_redis

# start_server NUMBER PORT FLAG…: sets `url`, and `admin_url` of its operators, once the server says
# that it serves.
start_server() {
  local number=$1 at=$2 log=$run/server-$1.log pid lines follower
  local cluster=(--node.prefix="$sample-$number")
  shift 2
  if ((nodes > 1)); then
    cluster+=(--mesh.listen=127.0.0.1:0 --mesh.secret_file="$run/secret")
    # A player meets only those whose node is the room's own, until players can move.
    ((number == 1)) || cluster+=(--node.placement_weight=0)
  fi
  # A thousand above the port that players come to, so that both can be guessed.
  local admin=$((at == 0 || at > 64535 ? 0 : at + 1000))
  "$bin/$sample-server" --admin.listen="127.0.0.1:$admin" \
    --stream.host="$host" --stream.port="$at" --stream.static_directory="samples/$sample/web" \
    --location.store="$store" "${cluster[@]}" "$@" >"$log" 2>&1 &
  pid=$!
  servers+=("$pid")
  exec {lines}< <(exec tail -n +1 -F --pid="$pid" "$log" 2>/dev/null)
  follower=$!
  url=$(sed -n '/^ready: /{s|.*\(http://[^ ]*\).*|\1|p;q}' <&"$lines" || true)
  kill "$follower" 2>/dev/null || true
  wait "$follower" 2>/dev/null || true
  exec {lines}<&-
  admin_url=$(sed -n '/^admin: /{s|^admin: ||p;q}' "$log")
  if [[ -z $url ]]; then
    cat "$log" >&2
    if grep -q 'the admin endpoint: .*Address already in use' "$log"; then
      die "port $admin, for operators, is taken, see above; --port P serves at another one and is \
a thousand below theirs, --port 0 takes any free ones"
    fi
    if grep -q 'Address already in use' "$log"; then
      die "port $at is taken, see above; --port P serves at another one, --port 0 at any free one"
    fi
    die "server $number did not start, see above"
  fi
}

# start_numbered NUMBER FLAG…
start_numbered() {
  local number=$1
  shift
  start_server "$number" "$((port == 0 ? 0 : port + number - 1))" "$@"
}

if $demo; then
  ports=
  for ((number = 1; number <= nodes; ++number)); do
    start_numbered "$number" --game.turn_limit=2s
    url=${url%/}
    ports+=,${url##*:}
  done
  "$bin/$sample-bot" --demo --port "${ports#,}" || {
    cat "$run"/server-*.log >&2
    die "the demo failed, see above; what the servers said is above, too"
  }
  exit
fi

for ((number = 1; number <= nodes; ++number)); do
  start_numbered "$number"
  # An address that others can type.
  if [[ $host == 0.0.0.0 ]]; then
    address=$(hostname -I 2>/dev/null | cut -d ' ' -f 1)
    url=${url/0.0.0.0/${address:-$(hostname)}}
  fi
  printf 'Open %s in two windows and play. Ctrl-C ends it.\n' "$url"
  printf 'Who is there, and how much: %sv1/actors and %smetrics\n' "$admin_url" "$admin_url"
done
# Ends when the first server does, which none is meant to do by itself.
wait -n "${servers[@]}" || true
cat "$run"/server-*.log >&2
die "a server ended by itself, see above"
