#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the checker: what a statement is, rows above their ceiling, and that --update lowers only.
set -euo pipefail
checker=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)/check_size.py
tree=$(mktemp -d)
trap 'rm -rf -- "$tree"' EXIT
failures=0

# table ROW...: the table of the tree.
table() { printf '%s\n' 'room,statements' "$@" >"$tree/tests/size.csv"; }

# says STATUS LINE [OPTION]: the checker ends so and says the line among others.
says() {
  local output status=0
  output=$("$checker" ${3:+"$3"} "$tree") || status=$?
  if ((status != $1)) || [[ $output != *"$2"* ]]; then
    printf 'wanted: %s\n%s\ngot:    %s\n%s\n' "$1" "$2" "$status" "$output"
    failures=1
  fi
}

# holds ROW...: the table is that one.
holds() {
  local wanted
  wanted=$(printf '%s\n' 'room,statements' "$@")
  if [[ $(<"$tree/tests/size.csv") != "$wanted" ]]; then
    printf 'wanted: %s\ngot:    %s\n' "$wanted" "$(<"$tree/tests/size.csv")"
    failures=1
  fi
}

mkdir -p "$tree/tests" "$tree/sim/step" "$tree/models/base"
# Five: the block, its three statements, and the table; neither comments, quotes nor rows.
cat >"$tree/sim/step/a.cpp" <<'CPP'
// A comment; and { more }.
int run(int a) {
  const char* text = "a; b; {";
  char mark = ';'; /* ; */
  return a;
}
constexpr Row rows[] = {{"a", 1'000}, {"b", 2}};
CPP
printf 'int x;\n' >"$tree/models/base/b.hpp"

table 'all,6' 'models,1' 'models/base,1' 'sim,5' 'sim/step,5'
says 0 '                  2        7           6        6     +0'
table 'all,9' 'models,1' 'models/base,1' 'sim,4' 'sim/step,8' 'sim/gone,3'
says 1 'sim: 5 statements, at most 4; take out 1'
says 1 'sim: 5 statements, at most 4' --update
holds 'all,6' 'models,1' 'models/base,1' 'sim,4' 'sim/step,5'
table 'all,6' 'models,1' 'sim,5' 'sim/step,5'
says 1 'models/base has no row; add one of 1'
says 1 'models/base has no row' --update
holds 'all,6' 'models,1' 'sim,5' 'sim/step,5'
exit "$failures"
