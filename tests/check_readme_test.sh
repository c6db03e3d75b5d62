#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests what check_readme.sh makes of commands that are shown with a part of their output, and of
# pictures. usage: check_readme_test.sh PROGRAM
set -euo pipefail
program=$(realpath -- "$1")
tests=$(realpath -- "$(dirname -- "${BASH_SOURCE[0]}")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
page=$work/page.md picture=$work/memory.svg
check() { "$tests/check_readme.sh" "$@" >"$work/out" 2>&1; }
fail() {
  echo "$1" >&2
  cat -- "$work/out" "$page" >&2
  exit 1
}

cat >"$page" <<PAGE
<!-- shown: foretrain explain scenarios/llama3-8b-8xh100.yaml --claim "2 T tokens on 1024 H100 in 7 days" | 2 lines from Claim: -->
<!-- end -->
<!-- drawn: foretrain fit scenarios/llama3-8b-8xh100.yaml --svg $picture -->
<!-- end -->
PAGE
! check "$program" "$page" || fail 'an empty block and a missing picture pass'
check --update "$program" "$page" || fail 'the page cannot be filled'
check "$program" "$page" || fail 'a page that was filled is stale'
grep -q '^foretrain explain scenarios/llama3-8b-8xh100.yaml .$' "$page" || fail 'a long command is not folded'
grep -q '^2.00 T tokens on 1,024 H100 SXM5 80GB in 7.00 days is plausible' "$page" || fail 'the output is not there'
[[ $(grep -c '^Claim\|^2.00 T\|^of 18.9' "$page") == 2 ]] || fail 'more or fewer lines than asked for'
grep -q '<svg' "$picture" || fail 'no picture'

sed -i 's/^Claim: [A-Z]*/Claim: SURELY/' "$page"
! check "$program" "$page" || fail 'another verdict passes'
check --update "$program" "$page"
sed -i 's/optimizer/optimiser/' "$picture"
! check "$program" "$page" || fail 'another picture passes'
grep -q 'is not what' "$work/out" || fail 'the picture is not named'
check --update "$program" "$page"
sed -i 's/2 lines from Claim/2 lines from Nowhere/' "$page"
! check "$program" "$page" || fail 'lines that are not there pass'
grep -q "prints no 2 lines from 'Nowhere:'" "$work/out" || fail 'the missing lines are not named'
echo ok
