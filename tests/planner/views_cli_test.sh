#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Drives `foretrain compare` and the views of a step as people and scripts do.
# usage: views_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/cli_common.sh"
tight=(--set B:parallel.tensor=2 --set B:parallel.pipeline=4 --set B:parallel.data=128
  --set B:memory.recompute=none)

# Two files, and one file against itself.
run 0 compare --help
has out "Examples:"
run 0 compare "$scenario" "$root/scenarios/llama2-70b-1024xa100.yaml"
is_empty err
is_narrow out
for part in "B / A" "step time" "tokens/s" "What changed in the step" "Settings that differ" \
  "cluster.host" "dgx-a100" "Memory of the heaviest stage" "--all lists them"; do
  has out "$part"
done
run 0 compare "$scenario" "$root/scenarios/llama2-70b-1024xa100.yaml" --all
is_narrow out
has out "device_profile."
run 0 compare "$scenario" --set B:parallel.tensor=4 --set B:parallel.data=32 --set C:memory.recompute=none
is_narrow out
has out "--set parallel.tensor=4 --set parallel.data=32"
has out "from A to C"
run 0 compare - --set B:memory.recompute=none <"$scenario"
has out "<stdin>"
run 0 compare "$scenario" --set A:training.micro_batch=2 --set training.tokens="1 T" --set B:parallel.zero=0
has out "training.micro_batch"
lacks out "training.tokens "

# A side that cannot run is an answer with status 3.
run 3 compare "$scenario" "${tight[@]}"
is_empty err
is_narrow out
has out "OUT OF MEMORY"
has out "what helps"
run 3 compare "$scenario" "${tight[@]}" --json
is_json out
has err "infeasible: B: "

# Machine formats.
run 0 compare "$scenario" --set B:memory.recompute=none --json
is_json out
has out '"schema": "comparison/1"'
cp out first
run 0 compare "$scenario" --set B:memory.recompute=none --json --out result.json
is_empty out
cmp -s result.json first || fail "--out differs from standard output"
run 0 compare "$scenario" --set B:memory.recompute=none --csv
has out "figure,step.time_s,"
awk -F, '{ if (NR == 1) n = NF; if (NF != n) exit 1 }' out || fail "CSV rows differ in length"
run 0 compare "$scenario" --set B:memory.recompute=none --markdown
has out "| step time |"

# Usage errors.
run 2 compare "$scenario"
is_empty out
has err "compare needs two scenarios"
run 2 compare "$scenario" "$scenario" --set C:parallel.tensor=4
has err "C:"
run 2 compare "$scenario" --set B:parallel.tensr=4
has err "did you mean"
run 2 compare "$scenario" no-such-file.yaml
has err "no-such-file.yaml"
run 2 compare "$scenario" "$scenario" --json --csv

# Where the MFU goes.
run 0 explain "$scenario" step
is_empty err
is_narrow out
for part in "where the MFU goes" "MFU after" "(p - 1) / m = 7 / 64" "less with --set"; do
  has out "$part"
done
run 0 explain "$scenario" step --json
is_json out
has out '"schema": "step-losses/1"'
run 0 explain "$scenario" step.time_s
has out "Computed from"
run 0 explain "$scenario" step --set training.global_batch=1000
has out "plan cannot run"

((failures == 0)) || { echo "$failures failures" >&2; exit 1; }
echo "ok"
