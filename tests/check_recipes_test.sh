#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the checker: a recipe that names what is not there, or not all that is, must be reported.
set -euo pipefail
checker=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)/check_recipes.py
tree=$(mktemp -d)
trap 'rm -rf -- "$tree"' EXIT
failures=0

mkdir -p "$tree/gui/views"
printf 'tornado view_registry\n' >"$tree/gui/views/registry.cpp"
printf 'tornado\n' >"$tree/gui/views/tornado_view.cpp"

# says EXPECTED_LINE RECIPE [FILES]: with that recipe of a view the checker says the line among others; with
# an empty line, nothing about views.
says() {
  printf 'x\n## Recipes\n\n### A GUI view\n\n%s\n\n<!-- example: NAME=tornado; marks=tornado -->\n%s\n' \
    "${3-**Files:** 2 (goal 1).}" "$2" >"$tree/CONTRIBUTING.md"
  local output
  output=$("$checker" "$tree" | grep 'A GUI view' || true)
  if [[ -z $1 && -n $output ]] || [[ -n $1 && $output != *"$1"* ]]; then
    printf 'wanted: %s\ngot:    %s\n' "$1" "$output"
    failures=1
  fi
}

# shellcheck disable=SC2016  # back quotes are Markdown's
{
  says '' '`gui/views/NAME_view.cpp`, its line in `view_registry` of `gui/views/registry.cpp`'
  says 'registry.cpp holds tornado and is not in the recipe' '`gui/views/NAME_view.cpp`'
  says 'there is no gui/views/tornado_view.hpp' '`gui/views/NAME_view.hpp`'
  both='`gui/views/NAME_view.cpp`, `gui/views/registry.cpp`, as `docs/views.md` and `tests/gui/view_test.cpp` say'
  says 'names 2 files of the product, 1 before' "$both" '**Files:** 1 (goal 1).'
  says 'names 2 files of the product; lower its 3 to that' "$both" '**Files:** 3 (goal 1).'
  says "state its files, '**Files:** 2 (goal N).'" "$both" ''
  says 'gui/views/registry.cpp has no views' 'its line in `views` of `gui/views/registry.cpp`'
}
printf 'x\n## Recipes\n' >"$tree/CONTRIBUTING.md"
output=$("$checker" "$tree" || true)
[[ $output == *"there is no recipe 'A collective'"* ]] || failures=1
exit "$failures"
