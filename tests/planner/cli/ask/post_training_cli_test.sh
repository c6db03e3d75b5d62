#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Drives `foretrain simulate` and `foretrain diagnose` of post-training as people and scripts do.
# usage: post_training_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"
grpo=$root/scenarios/post-training/llama3.1-8b-grpo-16xh100.yaml
apart=(--set post_training.placement=separate --set post_training.generation_gpus=8)

run 0 simulate "$grpo"
is_empty err
is_narrow out
for part in "generation" "log-probabilities" "weight synchronisation" "Tail" "Rates" "Cost"; do
  has out "$part"
done

# Parts add up to the step, and costs follow from it.
run 0 simulate "$grpo" --json
is_json out
has out '"schema": "post-training/1"'
python3 - out <<'CHECK' || fail "parts do not add up"
import json, sys
answer = json.load(open(sys.argv[1]))
step = answer["step"]["time_s"]
assert abs(sum(answer["parts"].values()) / step - 1) < 1e-9
assert answer["step"]["low_s"] < step < answer["step"]["high_s"]
assert abs(answer["samples_per_s"] * step - 2048) < 1e-6
assert abs(answer["cost"]["usd_per_step"] - 2.5 / 3600 * 16 * step) < 1e-6
CHECK

# With GPUs of their own, one step off policy, both sides work at the same time.
run 0 simulate "$grpo" "${apart[@]}" --json
cp out turns
run 0 simulate "$grpo" "${apart[@]}" --set post_training.staleness=1 --json
python3 - turns out <<'CHECK' || fail "one step off policy is not the longer side"
import json, sys
turns, beside = (json.load(open(name)) for name in sys.argv[1:])
assert beside["step"]["time_s"] < turns["step"]["time_s"]
assert beside["gpus"] == turns["gpus"] == 16
assert min(beside["generation_idle_s"], beside["training_idle_s"]) < 1e-9
CHECK

run 0 simulate "$grpo" --markdown
has out "| generation"
run 0 simulate "$grpo" --html page.html
has page.html "<html"
run 0 simulate "$grpo" --brief
has out "A step of 2,048 answers takes"

# What cannot be is told by name.
run 3 simulate "$grpo" --set post_training.answer.tokens=300000 --set post_training.answer.most=900000
has out "The longest answer"
run 2 simulate "$grpo" "${apart[@]/=8/=12}"
has err "a multiple of 8 below 16"
run 2 simulate "$grpo" --set post_training.staleness=1
has err "placement: separate"
run 2 simulate "$grpo" --set post_training.algoritm=grpo
has err "did you mean 'post_training.algorithm'"
run 3 simulate "$grpo" --set training.sequence=2048
has out "a row of training holds 2048"
run 3 simulate "$grpo" --set training.global_batch=4096
has out "An update of 4096 answers is more than a step has"
run 2 simulate "$grpo" --set post_training.prompts=1000000 --set post_training.answers=100
has err "more than 10000000 answers a step"
run 2 serve "$grpo"
has err "answers are no requests of users"
run 2 plan "$grpo" --gpus 16
has err "set cluster.hosts"
for option in "--vary nonsense.key=1,2" "--fix parallel.tensor=2" "--deadline 2026-12-24" --all-schedules \
  "--headroom 4GiB" "--by cost" --waterfalls --csv "--emit 1 best.yaml"; do
  for file in "$grpo" "$root/scenarios/serving/llama3.1-70b-8xh100.yaml"; do
    # shellcheck disable=SC2086  # words of an option
    run 2 plan "$file" $option
    has err "${option%% *} is for scenarios of training, and this is one of "
  done
done
run 2 simulate "$grpo" --gantt
has err "--gantt is for scenarios of training, and this is one of post-training: "

# A plan is no slower than what one key changes by hand, on either side.
run 0 plan "$grpo" --json --top 1
cp out plans.json
for setting in parallel.tensor=2 parallel.tensor=4 parallel.pipeline=2 post_training.partial_rollouts=true \
  serving.parallel.tensor=2; do
  run 0 simulate "$grpo" --json --set "$setting"
  python3 - plans.json <<'FASTER' || fail "the best plan is slower than $setting"
import json, sys
best = json.load(open(sys.argv[1]))["plans"][0]["step_s"]
sys.exit(best > 1.003 * json.load(open("out"))["step"]["time_s"])
FASTER
done
mapfile -t best < <(python3 -c 'import json
for s in json.load(open("plans.json"))["plans"][0]["settings"]: print("--set"); print(s)')
run 0 simulate "$grpo" --json "${best[@]}"
python3 - plans.json <<'SAME' || fail "the settings of a plan give another step"
import json, sys
best = json.load(open(sys.argv[1]))["plans"][0]["step_s"]
sys.exit(abs(best / json.load(open("out"))["step"]["time_s"] - 1) > 1e-9)
SAME
run 0 plan "$grpo"
is_narrow out
has out "not the trainer's context and expert"

# Commands that know training alone say so.
for command in goodput sensitivity; do
  # shellcheck disable=SC2086  # words of a command
  run 2 $command "$grpo"
  has err "the scenario is of post-training"
done

# Those that forecast any scenario take it.
run 0 fit "$grpo"
has out "Engine that generates"
run 0 fit "$grpo" --json
is_json out
run 0 explain "$grpo" step
has out "step.time_s"
run 0 report "$grpo" --html report.html
run 0 compare "$grpo" --set B:post_training.answers=16
has out "time per sample"
run 0 sweep "$grpo" --vary cluster.hosts=1,2
has out "Most samples_per_s"
run 0 solve "$grpo" gpus --step "60 s"
has out "24 GPUs"
run 2 solve "$grpo" gpus --deadline "3 days"
has err "--deadline is for scenarios of training, and this is one of post-training"
has err "of post-training --step"

# The event engine plays new weights on their way: NICs bound what checkpoint-engine promises.
run 3 simulate "$grpo" --engine event
has out "gathered and handed over"
run 0 simulate "$grpo" --engine event "${apart[@]}"
is_narrow out
has out "replica 6 to replica 7"
run 0 simulate "$grpo" --engine event "${apart[@]}" --set post_training.sync=checkpoint-engine --json
is_json out
cp out weights.json
python3 - weights.json <<'CHECK' || fail "eight replicas are not filled one from the other over a NIC of 49 GB/s"
import json, sys
played = json.load(open(sys.argv[1]))
rows = played["transfers"]
assert len(rows) == 8 and played["schema"] == "transfers/1"
assert abs(rows[0]["bytes"] / rows[0]["alone_s"] / 65e9 - 1) < 1e-9
assert all(abs(row["played_s"] / row["alone_s"] - 1) < 1e-9 for row in rows[1:])
assert rows[0]["played_s"] > rows[0]["alone_s"]
assert abs(played["played_s"] - played["start_s"] - rows[0]["played_s"]) < 1e-9
assert abs(played["step_s"] - played["step_alone_s"] - played["played_s"] + played["alone_s"]) < 1e-6
CHECK
run 2 simulate "$grpo" --engine event "${apart[@]}" --csv
has err "--csv is for scenarios of training, and this is one of post-training: "
run 0 show "$grpo"
has out "post_training.answers"

# The best division of the GPUs, which simulate takes back with the same step.
run 0 plan "$grpo"
is_narrow out
has out "Next: foretrain simulate "
run 0 plan "$grpo" --json
cp out plans
mapfile -t flags < <(python3 -c "
import json
for setting in json.load(open('plans'))['plans'][0]['settings']: print('--set'); print(setting)")
run 0 simulate "$grpo" "${flags[@]}" --json
python3 - plans out <<'CHECK' || fail "the winner's step is another in simulate"
import json, sys
plans, step = (json.load(open(name)) for name in sys.argv[1:])
best = plans["plans"][0]
assert abs(best["step_s"] / step["step"]["time_s"] - 1) < 1e-12, (best, step["step"])
assert best["step_s"] <= plans["as_given_s"]
CHECK
run 3 plan "$grpo" --set post_training.answer.tokens=3000000 --set post_training.answer.most=9000000

# Logs of verl, NeMo-RL and slime: the part that takes longer than it should.
cat >verl.log <<'LOG'
step:1 - timing_s/gen:60.0 - timing_s/old_log_prob:90.0 - timing_s/ref:7.0 - timing_s/step:200.0
step:2 - timing_s/gen:45.0 - timing_s/old_log_prob:84.0 - timing_s/ref:6.0 - timing_s/step:190.0
step:3 - timing_s/gen:44.0 - timing_s/old_log_prob:86.0 - timing_s/ref:6.2 - timing_s/step:180.0
LOG
run 0 diagnose verl.log "$grpo"
is_narrow out
has out "SLOWER THAN FORECAST"
has out "Look first at log-probabilities: 85.0 s a step"
printf 'step:1 - response_length/mean:3500.0 - timing_s/gen:120.0\n' >long.log
run 0 diagnose long.log "$grpo"
has out "answers average 3,500"
run 0 diagnose verl.log "$grpo" --json
is_json out
has out '"schema": "post-training-diagnosis/1"'
printf 'Total step time: 80.0s\n  - policy_training: 22.0s (27%%)\n  - generation: 38.0s (47%%)\n' >nemo.log
run 0 diagnose nemo.log "$grpo"
has out "AS FORECAST"
printf "{'perf/step_time': 85.1, 'perf/rollout_time': 40.2}\n" >slime.log
run 0 diagnose slime.log "$grpo"
has out "generation"
printf 'nothing here\n' >empty.log
run 2 diagnose empty.log "$grpo"
has err "times no part of a step of post-training"
