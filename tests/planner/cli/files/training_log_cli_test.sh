#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Imports training logs on the command line.
# usage: training_log_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"
log=$root/tests/calibration/training_logs/megatron.log

run 0 import log "$log"
has out "2.5 S A STEP"
has out "2 records, of steps 1 to 2"
has out "2.00 GiB allocated at most"
has out "2  a checkpoint was written  megatron.log:13"
is_narrow out
has out "1 skipped, 1 out-of-memory"
lacks out "/checkpoints"

run 0 import log "$log" --json
is_json out
python3 - <<'PYTHON' || fail "schema log/1 has other values"
import json
said = json.load(open("out"))
plan = {"gpus": 16, "tensor": 4, "pipeline": 2, "data": 2, "micro_batch": 1, "global_batch": 64,
        "sequence": 8192, "precision": "bf16", "zero": 0, "context": None, "expert": None}
assert said["schema"] == "log/1" and said["iterations"] == 2, said
assert said["step_time_s"]["median"] == 2.5, said["step_time_s"]
assert {key: said["plan"][key] for key in plan} == plan, said["plan"]
assert said["record"]["measured"]["iteration_s"] == 2.5, said["record"]
PYTHON

# The record is what `validate --runs` reads; without names of files where that is asked for.
run 0 import log "$log" --out mine.yaml
has mine.yaml '"own-megatron-lm-megatron"'
run 0 import log "$log" --anonymise --out shared.yaml
lacks shared.yaml "megatron.log"
has shared.yaml '"own-megatron-lm-16gpus"'
echo "# edited" >>mine.yaml
run 2 import log "$log" --out mine.yaml
has err "mine.yaml is there already"

run 2 import log "$log" absent.log
has err "absent.log"
printf 'no log\n' >words.log
run 2 import log words.log
has err "words.log: no training log of a known format"
printf 'a\1\2\0b' >bytes.log
run 2 import log bytes.log
has err "bytes.log:1"

# From a pipe, as of a compressed log.
run 0 import log <(cat "$log")
has out "2 records"
run 0 import log <(gzip -c "$log")
has out "2 records"

run 0 import log --help
is_narrow out

((failures == 0)) || exit 1
