#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests check_words.py: retired words in each kind of text are found, with the place; comments of
# sources and the right terms are not.
set -euo pipefail
checker=$(realpath -- "$(dirname -- "${BASH_SOURCE[0]}")/check_words.py")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/planner/cli" "$root/docs" "$root/scenarios" "$root/calibration/measured"
printf '# a list\nslow members?\tstraggler\n(?<!there\\s)is no key\tis not a key\n' >"$root/list"
printf '// slow members are free here\n#include "slow member.hpp"\nauto a = "there is no key of a straggler";\n' \
  >"$root/planner/right.cpp"
printf -- '- id: a slow member, as its source says\n' >"$root/calibration/measured/runs.yaml"
"$checker" "$root" "$root/list" || { echo 'the right terms are refused' >&2; exit 1; }

printf 'auto a = f("x",\n  "this slow "\n  "members");\nauto q = u"slow "_s\n  "member";\nauto n = '"'\"'"';\nauto b = "slow\\nmember";\n' \
  >"$root/planner/cli/wrong.cpp"
printf 'fine\nthis is no\nkey, and Slow\nmembers\n' >"$root/docs/wrong.md"
printf 'x: 1  # a slow member\n' >"$root/scenarios/wrong.yaml"
if "$checker" "$root" "$root/list" >"$root/out" 2>"$root/err"; then
  echo 'retired words pass' >&2
  exit 1
fi
diff - "$root/out" <<'EXPECTED'
scenarios/wrong.yaml:1: 'slow member': use straggler
planner/cli/wrong.cpp:2: 'slow members': use straggler
planner/cli/wrong.cpp:4: 'slow member': use straggler
planner/cli/wrong.cpp:7: 'slow member': use straggler
docs/wrong.md:3: 'Slow members': use straggler
docs/wrong.md:2: 'is no key': use is not a key
EXPECTED
diff - "$root/err" <<<'6 retired words; tests/retired_words.txt has the terms to use'
printf 'no tab\n' >"$root/list"
if "$checker" "$root" "$root/list" >/dev/null 2>&1; then
  echo 'a list without terms passes' >&2
  exit 1
fi
echo ok
