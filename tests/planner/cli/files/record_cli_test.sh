#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measured runs where scenarios stand, on the command line.
# usage: record_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"
runs=$root/calibration/measured/runs.yaml

# One of a file is a scenario: its forecast stands beside what was measured.
run 0 simulate "$runs#sc21-t1-1.7b"
has out "Measured, and forecast"
grep -Eq '^ *step time +[0-9.]+ m?s +[0-9.]+ m?s +[-+][0-9.]+ %' out || fail "no measured step time"
has out "foretrain plan"
run 0 simulate "$runs#sc21-t1-1.7b" --json
is_json out
python3 - <<'PYTHON' || fail "other measurements"
import json
said = json.load(open("out"))
(step,) = said["measured"]
assert step["key"] == "step_time" and step["forecast"] == said["step"]["time_s"], step
assert abs(step["difference"] - (step["forecast"] / step["measured"] - 1)) < 1e-9, step
PYTHON

# What it does not say is told; what is set goes over it.
run 0 fit "$runs#fsdp-paper-gpt175b-b1"
has err "assumed  no run of its framework was measured"
run 0 show "$runs#sc21-t1-1.7b" --set training.global_batch=1024
has out "1024"
run 2 simulate "$runs#sc21-t1-1.7b" --set parallel.tensr=2
has err "did you mean 'parallel.tensor'?"
run 0 simulate "$runs#sc21-t1-1.7b" --set parallel.zero=1
has out "before --set"

# Other commands read it as well.
for command in fit explain plan; do
  run 0 $command "$runs#sc21-t1-1.7b"
done
run 0 compare "$runs#sc21-t1-1.7b" "$runs#sc21-t1-3.6b"

# Which run is asked for.
run 2 simulate "$runs"
has err "runs; name one, as"
has err "Their ids: "
run 2 simulate "$runs#sc21-t1-1.7"
has err "has no run 'sc21-t1-1.7'; did you mean 'sc21-t1-1.7b'?"
run 2 simulate "$scenario#x"
has err "holds no measured runs"

# The record of a log is one, once what logs do not say is filled in.
run 0 import log "$root/tests/calibration/training_logs/megatron.log" --json
mv out log.json
run 2 simulate - <log.json
has err "is no scenario: "
cat >mine.yaml <<'YAML'
runs:
- id: mine-1
  stack: megatron-core
  gpu: H100
  gpus: 16
  gpus_per_node: 8
  model: {layers: 32, hidden: 4096, heads: 32, kv_heads: 8, ffn_hidden: 14336, vocab: 128256, seq: 8192, gated_mlp: true}
  parallel: {tp: 2, pp: 1, dp: 8, sp: true, zero: 1}
  micro_batch: 1
  global_batch: 64
  precision: bf16
  recompute: none
  measured: {tokens_per_s_per_gpu: 9000, memory_gb: 50}
  memory_kind: max_memory_allocated
  memory_unit: GiB
YAML
run 0 simulate mine.yaml
has out "tokens/s"
has out "allocated memory"
run 0 simulate - <mine.yaml
has out "allocated memory"

# As a file of its own it is the same.
run 0 simulate mine.yaml --json
mv out record.json
run 0 import record mine.yaml --out run.yaml
has run.yaml "tokens_per_second: "
run 0 simulate run.yaml --json
python3 - <<'PYTHON' || fail "the imported scenario is another"
import json
a, b = json.load(open("record.json")), json.load(open("out"))
assert a["step"] == b["step"] and a["memory"] == b["memory"] and a["measured"] == b["measured"]
PYTHON
run 2 import record "$scenario"
has err "a list of measured runs is missing"

# What is wrong has its place.
sed 's/  micro_batch: 1/  micro_bach: 1/' mine.yaml >typo.yaml
run 2 simulate typo.yaml
has err "typo.yaml:9:3: runs[].micro_bach: unknown key of a record; did you mean 'micro_batch'?"
sed '/  micro_batch: 1/d' mine.yaml >lacks.yaml
run 2 simulate lacks.yaml
has err "lacks.yaml:2:3: runs[]: 'mine-1' is no scenario: the micro-batch is not stated: micro_batch"

((failures == 0)) || exit 1
