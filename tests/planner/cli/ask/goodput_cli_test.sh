#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Drives `foretrain goodput` as people and scripts do.
# usage: goodput_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"
lived=$root/scenarios/llama3.1-405b-16384xh100-operations.yaml

run 0 goodput --help
has out "Examples:"

run 0 goodput "$lived" --trials 20
is_empty err
is_narrow out
for part in "goodput" "Time to train" "Where the time goes" "Other checkpoint intervals" \
  "One simulated run"; do has out "$part"; done

# The same on any number of threads, another life with another seed.
run 0 goodput "$lived" --trials 20 --json --threads 1
is_json out
cp out one
run 0 goodput "$lived" --trials 20 --json --threads 2
cmp -s out one || fail "two threads give another result than one"
run 0 goodput "$lived" --trials 20 --json --seed 9
cmp -s out one && fail "another seed gives the same result"

run 0 goodput "$lived" --trials 20 --svg life.svg --out life.txt
is_empty out
is_xml life.svg
has life.txt "One simulated run"

# What is missing is told, and is no failure; no picture then.
run 0 goodput "$scenario" --svg none.svg
has out "goodput unknown"
has err "no picture"
[[ ! -e none.svg ]] || fail "a picture of unknown goodput"

run 3 goodput "$scenario" --set training.global_batch=1000
has out "NOT A LEGAL PLAN"
run 2 goodput "$lived" --set operations.price=2.5
has err "has no currency"
run 2 goodput "$lived" --set operations.deadline="-1 d"
has err "must be above 0"
run 2 goodput "$lived" --trials 0
run 2 goodput "$lived" --engine no-such-engine
run 2 goodput no-such-file.yaml

# A year of a small cluster with everything that can go wrong, in well under ten seconds.
before=$(cut -d' ' -f16 /proc/$$/stat) # CPU time of children, in ticks
run 0 goodput "$root/scenarios/llama2-70b-256xa100-year.yaml"
ticks=$(($(cut -d' ' -f16 /proc/$$/stat) - before))
((ticks < 10 * $(getconf CLK_TCK))) || fail "a year took $ticks ticks of CPU time"
for part in "stragglers" "waiting for hosts" "evaluation"; do has out "$part"; done

# Steps with parts out are those that the event engine plays; the closed form has to be told.
year=$root/scenarios/llama2-70b-256xa100-year.yaml
parts='operations.interruptions.components=[{name: nic, per: nic, every: 2000 h, degraded_for: 10 h}, {name: node, per: host, every: 9000 h}]'
run 0 goodput "$year" --set "$parts"
has out "operations.interruptions.components[].pace"
run 0 goodput "$year" --set "$parts" --engine event --trials 20
has out "8 NICs out"
run 0 goodput "$year" --set "$parts" --engine event --trials 20 --json
is_json out
step=$(jq '.states[] | select(.name == "1 NIC out").step_s' out)
sum=0
for nic in nic5.0 nic16.1 nic26.2; do
  run 0 simulate "$year" --engine event --json \
    --set "simulation.disturbances=[{kind: node-down, target: $nic}]"
  sum=$(jq --argjson sum "$sum" '$sum + .step.time_s' out)
done
jq -en --argjson step "$step" --argjson sum "$sum" '($step - $sum / 3) | fabs < 1e-9' > /dev/null ||
  fail "goodput plays other steps than simulate: $step, $sum / 3"

((failures == 0)) || { echo "$failures failures" >&2; exit 1; }
echo "ok"
