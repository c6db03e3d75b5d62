#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Drives `foretrain plan` as people and scripts do.
# usage: plan_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"
small=$root/scenarios/llama3-8b-8xh100.yaml

run 0 plan --help
has out "Examples:"

# Text.
run 0 plan "$small"
is_empty err
is_narrow out
for part in "Space" "combinations" "Rejected" "interleaved-has-virtual-stages" "Best 10 by time" \
  "Plan 1" "= step" "Why plan 1 beats plan 2" "cost"; do
  has out "$part"
done
lacks out "per second"
cp out first
run 0 plan "$small" --threads 1
cmp -s out first || fail "one thread differs from two"
run 0 plan - --out same <"$small"
is_empty out
# What was read from standard input cannot be named by a next command.
awk '/^Next: / { skip = 1 } skip { if (!/\\$/) skip = 0; next } 1' first >first_without_next
same_text same first_without_next || fail "standard input differs from the file"
run 0 plan "$small" --timing
has err "per second"

# Machine formats.
run 0 plan "$small" --json
is_empty err
is_json out
for key in evaluated feasible rejected plans pareto; do has out "\"$key\""; done
python3 - out <<'CHECK' || fail "the JSON does not add up"
import json, sys
plan = json.load(open(sys.argv[1]))
assert plan["schema"] == "plan/1" and plan["complete"]
assert plan["evaluated"] == plan["combinations"]
assert plan["feasible"] + sum(plan["rejected"].values()) == plan["evaluated"]
assert len(plan["plans"]) == 10
for p in plan["plans"]:
    assert p["tensor"] * p["context"] * p["pipeline"] * p["data"] == 8
    assert abs(sum(p["breakdown"].values()) - p["step_s"]) < 1e-9 * p["step_s"]
CHECK
run 0 plan "$small" --csv --top 3
[[ $(wc -l <out) == 4 ]] || fail "CSV has not one row per plan"
run 2 plan "$small" --json --csv

# Several machines.
run 0 plan "$small" --gpus 8,16,32 --by cost
is_narrow out
for part in "by cost" "Pareto front" "gpus"; do has out "$part"; done
run 0 plan "$small" --vary cluster.hosts=1,2 --vary training.global_batch=128,256 --by gpus --json
is_json out
# Data ranks that the scenario writes down follow the machine.
run 0 plan "$root/scenarios/llama2-70b-1024xh100.yaml" --gpus 512,1024 --fix parallel.tensor=8 \
  --fix parallel.pipeline=8 --top 1
has out "Pareto front"

# A plan as a scenario.
cp "$small" base.yaml
run 0 plan base.yaml --set training.tokens=200B --emit 2 best.yaml
has best.yaml "extends: base.yaml"
run 0 simulate best.yaml --json
is_json out
has out '"tokens": 200000000000'
run 2 plan base.yaml --emit 11 other.yaml
run 2 plan base.yaml --emit one other.yaml
mkdir -p below
run 2 plan base.yaml --emit 1 below/best.yaml
has err "own folder"
run 2 plan - --emit 1 piped.yaml <base.yaml
has err "standard input"

# Nothing fits.
run 3 plan "$small" --fix parallel.tensor=1 --fix parallel.pipeline=1 --fix parallel.context=1 \
  --fix parallel.zero=0 --fix memory.recompute=none
is_narrow out
for part in "NOTHING FITS" "are missing" "--set"; do has out "$part"; done
run 3 plan "$small" --max-step 0.001 --json
is_json out
has err "infeasible:"
has out '"nearest": {'
run 3 plan "$small" --fix parallel.tensor=7
has out "No combination is a legal plan"

# Limits.
seventy=$root/scenarios/llama2-70b-1024xh100.yaml
run 0 plan "$seventy" --deadline 2027-06-01 --start 2027-01-01 --headroom "4 GiB" --top 2 \
  --power-cap "1.4 MW"
for part in limits "headroom 4.0 GiB" "run 151 days" "power 1,400 kW"; do has out "$part"; done
# The cap is of whole hosts: as published, a rack's trays with their share of it; else a range.
run 3 plan "$seventy" --power-cap "1.2 MW" --top 1
tr '\n' ' ' <out | tr -s ' ' >words
has words "128 hosts with 1024 GPUs may draw 1,306 kW, 1,200 kW are allowed"
run 0 plan "$seventy" --power-cap "1.31 MW" --top 1
run 3 plan "$seventy" --power-cap "1.31 MW" --top 1 --set operations.power.pue=1.2
run 3 plan "$root/scenarios/llama3-70b-64xgb200.yaml" --power-cap "110 kW" --top 1
tr '\n' ' ' <out | tr -s ' ' >words
has words "16 hosts with 64 GPUs may draw 117 kW, 110 kW are allowed"
run 3 plan "$root/scenarios/llama3.1-405b-128xgb300.yaml" --power-cap "240 kW" --top 1
tr '\n' ' ' <out | tr -s ' ' >words
has words "may draw 249 kW, 240 kW are allowed"
cloud=(--set cluster.host=azure-nd-gb300-v6 --set cluster.fabric.preset=ib-ndr)
run 3 plan "$root/scenarios/llama3.1-405b-128xgb300.yaml" --power-cap "300 kW" --top 1 "${cloud[@]}"
tr '\n' ' ' <out | tr -s ' ' >words
has words "may draw 249 kW to 366 kW, 300 kW are allowed"
run 0 plan "$root/scenarios/llama3.1-405b-128xgb300.yaml" --power-cap "300 kW" --top 1 \
  "${cloud[@]}" --set "operations.power.host=3 kW"
run 3 plan "$seventy" --deadline "1 h" --json
has out '"limit": "deadline"'
run 3 plan "$seventy" --deadline "1 h"
for part in "NO PLAN MEETS THE DEADLINE" "breaks deadline" "less."; do has out "$part"; done
run 3 plan "$seventy" --set "operations.price=2.5 USD/GPU-hour" --budget "10 USD"
has out "breaks budget"
run 2 plan "$seventy" --deadline 2020-01-01
has err "in the past"
run 2 plan "$seventy" --budget "2 M"
has err "currency"
run 2 plan "$seventy" --budget "2 M USD"
has err "operations.price"
run 2 plan "$seventy" --set operations.price=2.5
has err "USD/GPU-hour"
run 2 plan "$seventy" --start 2027-01-01
has err "give both"
# Plans leave room by default, and say so; all of the memory is had on request.
run 0 plan "$seventy" --top 1
has out "memory 95.0 %"
has out "headroom"
run 0 plan "$seventy" --top 1 --max-memory-share 1 --json
has out '"memory_band": false'
run 2 plan "$seventy" --headroom "90 GiB"
has err "leaves nothing"
run 2 plan "$seventy" --fix parallel.data=3
has err "contradicts"
run 2 plan "$seventy" --vary training.global_batch=1024..512
has err "empty"
run 3 plan "$seventy" --fix memory.offload=optimizer+parameters
has out "offloaded parameters"

# Where a plan stands.
run 0 plan "$seventy" --rank-of as-given --waterfalls --top 3
is_narrow out
for part in "Rank of your plan" "Place" "Plan 3" "Where the steps go"; do has out "$part"; done
run 0 plan "$seventy" --rank-of "parallel.pipeline=4,parallel.data=32" --json
is_json out
has out '"rank": '
run 2 plan "$seventy" --rank-of "parallel.pipelin=4"
has err "did you mean"

# Bad usage.
run 2 plan "$small" --fix parallel.tensr=2
has err "did you mean 'parallel.tensor'"
run 2 plan "$small" --vary parallel.schedule=interleave
has err "did you mean 'interleaved'"
run 2 plan "$small" --by tim
has err "did you mean 'time'"
run 2 plan "$small" --fix parallel.tensor=1,2
has err "--vary"
run 2 plan "$small" --fix parallel.tensor=1 --vary parallel.tensor=1,2
has err "twice"
run 2 plan "$small" --all-schedules --fix parallel.schedule=1f1b
run 2 plan "$small" --gpus 13
has err "8 or 16"
run 2 plan "$small" --gpus 8 --fix cluster.hosts=1
for bad in "--top 0" "--threads 0" "--max-memory-share 0" "--max-memory-share 1.5" \
  "--max-step -1" "--time-box 0" "--max-step nan"; do
  # shellcheck disable=SC2086  # two words
  run 2 plan "$small" $bad
  is_empty out
done
run 2 plan no-such-file.yaml

# Ctrl-C: what is known is printed.
# Before there is anything to tell, that is told.
stopped 0 plan "$root/scenarios/llama3.1-405b-16384xh100.yaml" --json --all-schedules
is_json out
has out '"complete": false'
stopped 0.5 plan "$root/scenarios/llama3.1-405b-16384xh100.yaml" --json --all-schedules --vary parallel.zero=0,1,2,3 \
  --vary "training.global_batch=$(seq -s , 2048 2048 81920)"
is_json out
has out '"complete": false'

((failures == 0)) || { echo "$failures failures" >&2; exit 1; }
echo "ok"
