#!/usr/bin/env bash
# Begins a game of your own: copies TicTacToe to samples/NAME and renames everything in it.
#
#   samples/new.sh NAME       NAME is of lower case letters and digits, such as checkers
set -euo pipefail
cd "$(dirname "$0")"

usage() { sed -n '2,/^set /s/^# \{0,1\}//p' new.sh; }

die() {
  printf 'new.sh: %s\n' "$1" >&2
  exit 2
}

case ${1-} in
  -h | --help)
    usage
    exit
    ;;
esac
(($# == 1)) || {
  usage >&2
  exit 2
}
name=$1
[[ $name =~ ^[a-z][a-z0-9]*$ ]] || die "'$name' is no name of lower case letters and digits"
# The name becomes a namespace beside these, and beside what C++, its libraries and schemas name.
case $name in
  internal | spotmesh | std | fmt | flatbuffers | table | string | byte | ubyte | ushort | uint | \
    ulong | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64 | \
    attribute | include)
    die "'$name' has a meaning already, choose another name"
    ;;
esac
if command -v clang++-19 >/dev/null &&
  ! clang++-19 -std=c++23 -fsyntax-only -x c++ - 2>/dev/null <<END; then
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/socket.h>
#include <unistd.h>
namespace $name {}
int main() {}
END
  die "'$name' has a meaning in C++ already, choose another name"
fi
[[ ! -e $name ]] || die "samples/$name is there already"

cp -r tictactoe "$name"
find "$name" -type f -exec sed -i "s/tictactoe/$name/g; s/TicTacToe/${name^}/g" {} +
mv "$name/schema/tictactoe.fbs" "$name/schema/$name.fbs"
# Another name is sorted elsewhere among the includes, and lines are of another length.
if command -v clang-format-19 >/dev/null; then
  find "$name" \( -name '*.cpp' -o -name '*.hpp' \) -exec clang-format-19 -i {} +
fi
# Pictures and tests of TicTacToe are not copied, nor what says how to come here.
sed -i '/^<p>$/,/^$/d; /^The tests are in/,/^$/d; /samples\/new.sh/,/^$/d' "$name/README.md"

cat <<END
samples/$name is a game now, and still TicTacToe by its rules. Play it:

  ./samples/run.sh $name

What is said stands in samples/$name/schema, what happens in samples/$name/server and
samples/$name/rules, and what people see in samples/$name/web.
END
