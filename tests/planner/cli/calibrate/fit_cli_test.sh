#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Drives `foretrain fit` and `foretrain validate` as people and scripts do.
# usage: fit_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"
tight=(--set parallel.tensor=2 --set parallel.pipeline=4 --set parallel.data=128
  --set memory.recompute=none)

for command in fit validate; do
  run 0 "$command" --help
  has out "Examples:"
  is_empty err
done

# The verdict and its exit status.
run 0 fit "$scenario"
is_empty err
is_narrow out
for part in "FITS" "Band" "in detail" "Room"; do has out "$part"; done
run 3 fit "$scenario" "${tight[@]}" --timeline
is_narrow out
for part in "DOES NOT FIT" "missing" "Changes that fit" "over a step"; do has out "$part"; done
run 3 fit "$scenario" --set training.global_batch=1000
has out "NOT A LEGAL PLAN"
has out "batch-divides"

# Stages and ranks.
run 0 fit "$scenario" --stage 3
has out "Stage 3 in detail"
run 0 fit "$scenario" --rank 1023 --json
is_json out
has out '"selected_stage": 7'
run 2 fit "$scenario" --stage 8
is_empty out
has err "stages 0 to 7"
run 2 fit "$scenario" --rank 1024
has err "ranks 0 to 1023"
run 2 fit "$scenario" --stage 1 --rank 1
run 2 fit "$scenario" --stage one
run 2 fit no-such-file.yaml

# Machine format and picture.
run 0 fit "$scenario" --json
is_json out
cp out first
run 0 fit - --json <"$scenario"
is_json out
run 0 fit "$scenario" --json --out result.json
is_empty out
cmp -s result.json first || fail "--out differs from standard output"
run 3 fit "$scenario" "${tight[@]}" --json --svg memory.svg
is_json out
has err "infeasible: does not fit"
is_xml memory.svg
run 2 fit "$scenario" --svg no-such-folder/memory.svg
has err "cannot write"
run 3 fit "$scenario" --set training.global_batch=1000 --svg none.svg
has err "no picture"
[[ ! -e none.svg ]] || fail "a picture of an illegal plan"

# Held against measurements.
run 0 validate
is_narrow out
is_empty err
has out "megatron-ci"
cp out first
run 0 validate --memory "$root/calibration/measured/megatron_ci_memory.json"
has out "mem_allocated"
run 0 validate --runs
has out "simumax"
run 0 validate --memory --runs --json
is_json out
run 0 validate --runs --skipped
has out "Skipped"
run 0 validate --csv --out records.csv
has records.csv "id,source,quantity,measured"
run 0 validate --vtrain
has out "vtrain_multi"
run 0 validate --vtrain "$root/calibration/measured/vtrain_multi.csv" --json
is_json out
run 0 validate --only time --source kort --csv
has out "kort-t5-22b-full,kort,step_time_s,1.42"
run 2 validate --json --csv
run 2 validate --only speed
run 2 validate --source nobody
has err "no record of the sources"
printf 'a,b\n' >bad.csv
run 2 validate --vtrain bad.csv
has err "bad.csv:1:1: columns are missing"
run 2 validate --runs no-such-file.yaml
has err "no-such-file.yaml"
run 2 validate --memory "$scenario"
has err "llama2-70b-1024xh100.yaml"
run 2 validate --catalog no-such-folder

((failures == 0)) || { echo "$failures failures" >&2; exit 1; }
echo "ok"
