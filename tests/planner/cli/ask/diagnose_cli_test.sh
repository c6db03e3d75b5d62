#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Diagnoses training logs on the command line.
# usage: diagnose_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"
log=$root/tests/calibration/training_logs/data-loading.log
scenario=$root/scenarios/llama3-8b-8xh100.yaml

run 0 diagnose "$log" "$scenario"
has out "24 % SLOWER THAN FORECAST, outside the band"
has out "Likeliest: Steps wait for their"
has out "Step: from forecast to measurement"
has out "Run: where its wall time goes"
has out "test: the batch-generator timer"
is_narrow out

run 0 diagnose "$log" "$scenario" --json --html page.html
is_json out
python3 - <<'PYTHON' || fail "schema diagnosis/1 has other values"
import json
said = json.load(open("out"))
assert said["schema"] == "diagnosis/1", said["schema"]
assert not said["as_forecast"] and said["hypotheses"][0]["cause"] == "data-loading", said["verdict"]
assert 0.98 < sum(one["likelihood"] for one in said["explanations"]) <= 1.0 + 1e-9
assert [one["finding"] for one in said["findings"]] == ["slower"], said["findings"]
for lines in said["waterfall"], said["wall_waterfall"]:
    parts = [line["time_s"] for line in lines]
    assert abs(sum(parts[:-1]) - parts[-1]) < 1e-6, parts
assert said["waterfall"][0]["label"] == "forecast"
parts = [line["time_s"] for line in said["waterfall"]]
assert abs(sum(parts[:-1]) - parts[-1]) < 1e-6, parts
assert abs(parts[-1] - said["measured"]["step_time_s"]) < 1e-9
assert said["measured"]["clock_low_mhz"] is None
assert said["differences"] == [], said["differences"]
PYTHON
has page.html "Steps wait for their data"
lacks page.html "<script"
run 0 diagnose "$log" "$scenario" --html page.html

# Another batch than the log's is followed: the finding is that of the scenario with it.
run 0 diagnose "$log" "$scenario" --set training.global_batch=64
has out "training.global_batch: the log says 128, the scenario 64"
has out "The forecast follows the log's batch"
has out "24 % SLOWER THAN FORECAST, outside the band"
# Of another model or layout nothing is compared, and no cause is named.
run 0 diagnose "$log" "$scenario" --set model=llama2-13b
has out "THE LOG IS OF ANOTHER RUN"
lacks out "Causes"
lacks out "FORECAST, outside"

# Without a scenario the plan of the log counts; what it leaves open is asked for by name.
run 2 diagnose "$log"
has err "the log does not say gpu"
has err "model.ffn_hidden"
run 0 diagnose "$log" --fill gpu=h100-sxm5-80gb --fill precision=bf16 --fill model.ffn_hidden=14336 \
  --fill model.vocab=128256 --fill parallel.pp=1 --fill model.gated_mlp=true --fill model.kv_heads=8
has out "Assumed where the log does not say"
run 2 diagnose "$log" --fill modle.layers=3
has err "modle.layers is not a key of a record"
run 2 diagnose "$log" --fill gpu
has err "KEY=VALUE"
run 2 diagnose "$log" "$scenario" --fill gpu=h100
has err "changed by --set"
run 2 diagnose "$log" --set training.global_batch=64
has err "given by --fill"

printf 'seq_length: 4096\nnum_layers: 12\nmicro_batch_size: 1\n' >arguments.log
run 2 diagnose arguments.log "$scenario"
has err "no step times"
run 2 diagnose "$log" "$scenario" --set training.micro_batch=3
has err "cannot be forecast"
run 2 diagnose absent.log
has err "absent.log"

run 0 diagnose --help
has out "Exit codes: 0 diagnosed"

((failures == 0)) || exit 1
