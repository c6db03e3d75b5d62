#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Drives `foretrain solve`, `sensitivity` and `procure` as people and scripts do.
# usage: solve_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"
small=$root/scenarios/llama3-8b-8xh100.yaml
seventy=$root/scenarios/llama2-70b-1024xh100.yaml
ampere=$root/scenarios/llama2-70b-1024xa100.yaml

run 0 solve --help
has out "Questions:"

# Every question, in text and JSON.
priced=(--set "operations.price=2.5 USD/GPU-hour")
for question in model sequence headroom change batch; do
  run 0 solve "$small" "$question"
  is_empty err
  is_narrow out
  has out ": $question"
  run 0 solve "$small" "$question" --json
  is_json out
  has out "\"question\": \"$question\""
done
run 0 solve "$seventy" bandwidth --exposed "2 %"
is_narrow out
has out "Gbit/s per NIC"
run 0 solve "$seventy" gpus --deadline "30 days"
for part in "are the fewest" "within limits" "cluster.hosts="; do has out "$part"; done
run 0 solve "$seventy" gpus --deadline 2027-06-01 --start 2027-01-01 --json
is_json out
run 0 solve "$seventy" price --against "$ampere" "${priced[@]}"
has out "USD/GPU-hour a token of"
run 0 solve - headroom <"$small"
has out "can grow"
run 0 solve "$small" headroom --out answer
is_empty out
has answer "free at the peak"

# No answer.
run 3 solve "$seventy" gpus --deadline "1 h" --max-gpus 2048
has out "No machine"
run 3 solve "$small" headroom --set parallel.tensor=1 --set parallel.sequence=false \
  --set training.sequence=131072 --json
has err "infeasible:"

# Bad usage.
run 2 solve "$small" gpus --ttft "1 s"
has err "--ttft is for scenarios of serving, and this is one of training: "
run 2 solve "$small" gpu
has err "did you mean 'gpus'"
run 2 solve "$seventy" gpus
has err "--deadline"
run 2 solve "$seventy" gpus --deadline 2020-01-01
has err "in the past"
run 2 solve "$seventy" gpus --budget "2 M"
has err "currency"
run 2 solve "$seventy" price
has err "--against"
run 2 solve "$seventy" price --against "$ampere"
has err "operations.price"
run 2 solve "$seventy" model --deadline "3 days"
has err "no effect"
run 2 solve "$small" bandwidth
has err "one host"
run 2 solve "$small" bandwidth --max-memory-share 1
has err "no effect"
run 2 solve "$small" model --max-memory-share 2
has err "at most 1"
run 2 solve "$small" model --headroom "90 GiB"
has err "leaves nothing"
run 2 solve no-such-file.yaml model

# Sensitivity.
run 0 sensitivity "$seventy" --svg tornado.svg
is_empty err
is_narrow out
for part in "bandwidth between hosts" "kernel efficiency" "not moved"; do has out "$part"; done
has tornado.svg "</svg>"
run 0 sensitivity "$seventy" --by "25 %" --metric cost "${priced[@]}" --json
is_json out
has out '"schema": "sensitivity/1"'
run 2 sensitivity "$seventy" --metric cost
has err "operations.price"
run 2 sensitivity "$seventy" --by 10
has err "below 100 %"
run 2 sensitivity "$seventy" --metric speed
run 2 sensitivity "$seventy" --svg tornado.png

# Procurement.
run 0 procure --cluster "$seventy" "$ampere" --workload "$seventy" "$small" --search
is_empty err
is_narrow out
for part in "All workloads one after the other" "llama2-70b-1024xa100" "llama3-8b"; do
  has out "$part"
done
run 0 procure --cluster "$seventy" --cluster "$ampere" --workload "$seventy" --json
is_json out
has out '"schema": "procure/1"'
# Offers that are known unequally well: a band each, longer for the one that was not measured.
sed 's/^name: .*/name: china/; s/host: dgx-h100/host: hgx-h20/' "$small" >china.yaml
run 0 procure --cluster "$small" china.yaml --workload "$small" --json
python3 - <<'PYTHON' || fail "bands of offers"
import json
result = json.load(open("out"))
measured, china = result["clusters"]
assert measured["evidence"] in ("measured", "interpolated") and china["evidence"] == "extrapolated"
for offer in (measured, china):
    cell = offer["workloads"][0]
    assert 0.5 < offer["low"] < 1 < offer["high"] < 2
    assert abs(offer["low"] - cell["step_low_s"] / cell["step_s"]) < 1e-9
assert china["high"] - china["low"] > 1.1 * (measured["high"] - measured["low"])
ends = sorted((o["run_s"] * o["low"], o["run_s"] * o["high"]) for o in (measured, china))
assert result["overlap_with_first"] == [] and ends[0][1] < ends[1][0], (ends, result["overlap_with_first"])
for offer in (measured, china):
    assert offer["energy_low_kwh"] < offer["energy_high_kwh"]
PYTHON
run 0 procure --cluster "$small" china.yaml --workload "$small"
is_narrow out
has out "How sure: days"
has out "How sure: energy in kWh, cooling"
has out "extrapolated"
grep -q 'The first is ahead of each other one' out || fail "the bands are not compared"
run 0 procure --cluster "$seventy" "$ampere" --workload "$seventy" --by cost --csv
[[ $(wc -l <out) == 3 ]] || fail "CSV has not one row per cell"
run 3 procure --cluster "$small" --workload "$seventy"
run 2 procure --cluster "$seventy"
run 2 procure --cluster "$seventy" "$seventy" --workload "$seventy"
has err "two clusters have the name"

# Order within published figures.
run 0 validate --only time --source sc21 --figures
for part in "sc21-f11" "sc21-f17" "tau"; do has out "$part"; done

((failures == 0)) || { echo "$failures failures" >&2; exit 1; }
echo "ok"
