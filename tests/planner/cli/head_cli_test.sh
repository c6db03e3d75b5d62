#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The first lines of every answer: what they say, that they are all of --brief, and that the command
# which they name next works.
# usage: head_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/cli_common.sh"
scenario=$root/scenarios/llama3-8b-8xh100.yaml

# follow COMMAND...: the next command of an answer, run as a reader would who copies it.
follow() {
  "$program" "$@" --brief --json > head.json 2> /dev/null || true
  python3 - <<'PYTHON' > next.sh || fail "no head/1: $*"
import json
head = json.load(open("head.json"))
assert head["schema"] == "head/1" and head["sentence"] and head["words"], head
assert 1 <= len(head["figures"]) <= 4, head["figures"]
print(head["next"])
PYTHON
  sed -i "s#^foretrain #\"$program\" #" next.sh
  bash next.sh > followed 2> followed_err || fail "$*: its next command failed: $(cat next.sh followed_err)"
}

for command in simulate fit plan goodput "solve sequence"; do
  # shellcheck disable=SC2086  # "solve sequence" is two words
  set -- ${command%% *} "$scenario" ${command#"${command%% *}"}
  run 0 "$@" --brief
  is_narrow out
  has out "Next: foretrain "
  (($(wc -l < out) <= 14)) || fail "$* --brief is longer than an answer: $(cat out)"
  follow "$@"
done

# The reader copies the lines as they stand.
run 0 plan "$scenario" --brief
sed -n '/^Next: /,$p' out | sed "s#^Next: foretrain #\"$program\" #" > copied.sh
bash copied.sh > copied || fail "the command in the text cannot be copied: $(cat copied.sh)"

# A plan that does not fit is offered one that does.
"$program" simulate "$scenario" --set training.micro_batch=16 --brief > out || true
has out "OUT OF MEMORY"
follow simulate "$scenario" --set training.micro_batch=16
has followed "FITS"

# What another tool's configuration stands for is offered to commands that read it.
for command in simulate fit; do
  follow $command --gpus 8 --hf "$root/tests/scenarios/huggingface/llama3-8b.json" --set parallel.zero=2
  follow $command --gpus 8 --hf "$root/tests/scenarios/huggingface/llama3-8b.json"
done

# One screen, however large the plan; --full has the rest. (A long path takes lines of its own.)
for file in "$root"/scenarios/*.yaml; do
  (cd -- "$root/scenarios" && "$program" simulate "${file##*/}") > out 2> /dev/null || true
  (($(wc -l < out) <= 50)) || fail "$file takes more than a screen: $(wc -l < out) lines"
  is_narrow out
done
run 0 simulate "$scenario" --full
has out "Where the constants come from"
has out "in detail"
run 2 simulate "$scenario" --full --brief
# What has no head is refused, not ignored.
run 2 simulate "$scenario" --brief --csv
has err "--brief excludes --csv"
run 2 fit "$scenario" --brief --serve
run 2 cluster "$root/scenarios/clusters/lab.yaml" --brief --hosts 4,8

# A comparison says who is ahead, or that nobody can tell.
run 0 compare "$scenario" --set B:training.micro_batch=2 --brief
has out "sure"
for asked in "--only time" --accuracy --ablations "--only time --peers"; do
  # shellcheck disable=SC2086  # an option and its value are two words
  run 0 validate $asked --brief
  is_narrow out
  has out "Next: foretrain validate"
done
mkdir kept
sed '/^# yaml-language-server/d' "$scenario" > kept/run.yaml
# What moved is accepted by the command that is named.
for verdict in FAIL PASS; do
  "$program" check kept --brief > out || true
  is_narrow out
  has out "baselines: $verdict"
  sed -n 's#^Next: foretrain #"$program" #p' out > copied.sh
  program=$program bash copied.sh > copied 2> copied_err || fail "check: $(cat copied.sh copied_err)"
done
for quantity in "" step mfu step.time_s step.breakdown step.band parallel.tensor memory.peak_bytes; do
  # shellcheck disable=SC2086  # nothing, or one word
  follow explain "$scenario" $quantity
done
follow explain "$scenario" --claim "2 B tokens on 8 H100 in 7 days"
follow explain --gpus 8 --hf "$root/tests/scenarios/huggingface/llama3-8b.json" step
follow cluster fit "$root/scenarios/clusters/example-log.csv" --host dgx-h100
follow calibrate suggest "$scenario" --hosts 4
follow sweep "$scenario" --vary parallel.zero=1,2,3
follow collective --hosts 2 --sizes 1MiB,1GiB
follow collective --scenario "$scenario" --sizes 1GiB
follow validate --only time --source kort
run 0 sensitivity "$scenario" --brief
run 0 cluster "$root/scenarios/clusters/lab.yaml" --brief
"$program" --help > out
has out "Start: your own job:"

exit $((failures > 0))
