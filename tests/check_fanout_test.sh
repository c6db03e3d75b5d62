#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the checker: a count above or below its ceiling must be reported, and --update lowers only.
set -euo pipefail
checker=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)/check_fanout.py
tree=$(mktemp -d)
trap 'rm -rf -- "$tree"' EXIT
failures=0

# table ROW...: the table of the tree.
table() {
  printf '%s\n' 'concept,count,in,ceiling,goal,pattern,why' "$@" >"$tree/tests/fanout.csv"
}

# says STATUS LINE [OPTION]: the checker ends so and says the line among others.
says() {
  local output status=0
  output=$("$checker" ${3:+"$3"} "$tree") || status=$?
  if ((status != $1)) || [[ $output != *"$2"* ]]; then
    printf 'wanted: %s\n%s\ngot:    %s\n%s\n' "$1" "$2" "$status" "$output"
    failures=1
  fi
}

mkdir -p "$tree/tests" "$tree/sim/step" "$tree/models/base" "$tree/planner/schemas"
printf '#include "models/base/b.hpp"\nconst char* text = "micro_batch_size";\n' >"$tree/sim/step/a.cpp"
printf '// micro_batch_size, in a comment\n#include <CLI/App.hpp>\n' >"$tree/models/base/b.hpp"
printf '/* micro_batch_size */ int x = 1'"'"'000; // "\n' >"$tree/models/base/c.cpp"
printf '{}\n' >"$tree/planner/schemas/a.json"

key='key,files,cpp,%s,0,micro_batch_size,a test'
# shellcheck disable=SC2059  # the format is this test's own
row() { printf "$key" "$1"; }

table "$(row 1)"
says 0 'files    1, goal   0'
table "$(row 2)"
says 1 'lower the ceiling of 2 to 1'
says 0 '' --update
says 0 'files    1, goal   0'
table 'CLI11,units,cpp,1,0,include <CLI/,a test' 'schemas,files,planner/schemas/*.json,1,0,{,a test' \
  'rooms,rooms,cpp,2,0,include,a test'
says 0 'rooms    2, goal   0'

# One file more: reported, and raised by nobody. Where there is git, only what is new is named.
more() { printf 'int micro_batch_size;\n' >"$tree/models/base/c.cpp"; }
table "$(row 1)"
if command -v git >/dev/null; then
  git -C "$tree" init -q
  git -C "$tree" add .
  git -C "$tree" -c user.name=test -c user.email=test@localhost commit -q -m 'first'
  more
  [[ $("$checker" "$tree") != *'  sim/step/a.cpp'* ]] || failures=1
fi
more
says 1 'key: files are 2, at most 1'
says 1 '  models/base/c.cpp'
says 1 'at most 1' --update
[[ $(<"$tree/tests/fanout.csv") == *',1,0,'* ]] || failures=1
exit "$failures"
