#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Legal questions of any size end: within 2 GB (docs/limits.md, "Sizes"), in an answer or in
# words, and at the first signal.
# usage: bounds_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT [SANITIZED]
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/cli_common.sh"
sanitized=${3:-}
year=$root/scenarios/llama2-70b-256xa100-year.yaml
large=$root/scenarios/llama3.1-405b-16384xh100.yaml

# within STATUS ARGUMENTS...: as `run`, and the process stays below 2 GB. A sanitizer's own memory
# says nothing.
within() {
  local expected=$1 status=0
  shift
  python3 - "${sanitized:+1}" "$program" "$@" >out 2>err <<'PEAK' || status=$?
import os, subprocess, sys
child = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
if not sys.argv[1] and usage.ru_maxrss > 2_000_000:
    print(f"bounds: {usage.ru_maxrss / 1e6:.1f} GB", file=sys.stderr)
    sys.exit(99)
sys.exit(os.waitstatus_to_exitcode(status))
PEAK
  ((status == expected)) || fail "status $status instead of $expected: foretrain $*"
}

# Steady state is periodic: a step of a billion sequences takes no more than one of some thousands.
for engine in path closed-form; do
  within 0 simulate "$scenario" --engine $engine --set training.global_batch=1000000000 --json
  mv out "$engine.json"
done
python3 - path.json closed-form.json <<'CLOSE' || fail "a folded path is far from the closed form"
import json, sys
path, closed = (json.load(open(name))["step"]["time_s"] for name in sys.argv[1:])
sys.exit(abs(path / closed - 1) > 0.01)
CLOSE
within 0 report "$scenario" --html huge.html --set training.global_batch=100000000
has err "no picture of the step"
within 2 simulate "$scenario" --engine path --gantt --set training.global_batch=100000000
has err "too large: a step of 6250000 micro-batches"
within 0 plan "$scenario" --set training.global_batch=1000000 --top 2
within 0 init huge.yaml --model llama3-70b --host hgx-h200 --hosts 20 --global-batch 1000000

# What cannot be folded is refused in words, before it is laid out.
within 2 plan "$scenario" --vary cluster.hosts=1..1000000+1
has err "1,000,000 machines; at most 1,000"
within 2 plan "$scenario" --vary parallel.tensor=1..1000000+1 --vary parallel.pipeline=1..1000000+1 \
  --vary parallel.context=1..20000+1 --time-limit 1
has err "combinations in"

# A simulated run of too many events: the closed form answers.
for setting in operations.fail_slow.per_1000_node_days=1e5 "training.tokens=1000000 T"; do
  within 0 goodput "$year" --set "$setting" --json
  python3 - out <<'LIFE' || fail "goodput of $setting"
import json, sys
study = json.load(open(sys.argv[1]))
sys.exit(not ("200,000 events" in study["not_simulated"] and study["simulated"] is None
              and 0 < study["run"]["goodput"] <= 1))
LIFE
  within 0 simulate "$year" --set "$setting" --json
  has out "run-not-simulated"
done

# Input that never comes in time: a step of years is an answer like another.
operations=$root/scenarios/llama3.1-405b-16384xh100-operations.yaml
within 0 fit "$operations" --set operations.data_loading.tokens_per_worker=1 --brief
for command in simulate goodput; do
  within 3 $command "$operations" --set operations.data_loading.tokens_per_worker=1 --brief
  has out "deadline"
done
within 2 simulate "$operations" --set "operations.data_loading.tokens_per_worker=1e-30 k"
has err "must be between 1 and 1 T"

# Deployments whose requests or steps have no end are refused before they are played.
chat=$root/scenarios/serving/llama3.1-70b-8xh100.yaml
within 2 serve "$chat" --set "serving.duration=1e9 d"
has err "must be at most"
within 2 serve "$chat" --set "serving.duration=1000 d"
has err "too large: more than 20,000,000 requests"
within 2 serve "$chat" --set "serving.requests.rate=900000 per s" --set "serving.duration=20 s" \
  --set "serving.warm_up=1 s"
has err "2,000,000 requests wait at once"

# Where the system gives no memory, the program says so, and has an exit code for it.
if [[ -z $sanitized ]]; then
  for kib in 50000 40000 36000 33000 30000 27000; do
    for words in "plan|$scenario|--threads|8" "goodput|$year" "serve|$chat" "simulate|$scenario|--engine|event"; do
      status=0
      IFS='|' read -ra arguments <<<"$words"
      (ulimit -v $kib && "$program" "${arguments[@]}" --brief >out 2>err) || status=$?
      ((status == 0 || status == 7 || status == 127)) || fail "status $status with $kib KiB: $words"
      if ((status == 7)); then has err "foretrain: out of memory:"; fi
    done
  done
fi

# No probability above 1, no time below 0, wherever a run is split.
for trials in 7 37 400; do
  within 0 goodput "$year" --trials $trials --set "operations.deadline=36500 d" --json
  python3 - out <<'SHARES' || fail "an impossible number with $trials trials"
import json, sys
study = json.load(open(sys.argv[1]))
wrong = []
def look(name, value):
    if isinstance(value, dict):
        for key, one in value.items(): look(f"{name}.{key}", one)
    elif isinstance(value, list):
        for one in value: look(name, one)
    elif isinstance(value, (int, float)):
        last = name.rsplit(".", 1)[-1]
        share = last.startswith("goodput") or last in ("meets_deadline", "scheduling", "runtime")
        if value < 0 or (share and value > 1): wrong.append((name, value))
for part in ("run", "simulated", "simulated_step_as_forecast", "intervals", "life"): look(part, study[part])
print(wrong, file=sys.stderr)
sys.exit(bool(wrong) or study["simulated"]["meets_deadline"] != 1)
SHARES
done

stopped 2 goodput "$year" --trials 1000000
has out "simulated runs"
# Routes of a quarter of a million GPUs take long before the first task; a million are laid out folded, not one by one.
gpus() {
  event=(simulate "$large" --engine event --set "cluster.hosts=$(($1 * 16))" --set "parallel.data=$1"
    --set "training.global_batch=$(($1 * 16))"
    --set "cluster.fabric={kind: fat-tree, preset: roce-400, switch_radix: 256}")
}
gpus 2048
stopped 1 "${event[@]}"
gpus 8192
stopped 1 "${event[@]}"
within 3 "${event[@]}" --unfold
has out "GPUs cross 128413952 links"

((failures == 0)) || { echo "$failures failures" >&2; exit 1; }
echo "ok"
