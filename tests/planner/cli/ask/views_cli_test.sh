#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Drives `foretrain compare` and the views of a step as people and scripts do.
# usage: views_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"
tight=(--set B:parallel.tensor=2 --set B:parallel.pipeline=4 --set B:parallel.data=128
  --set B:memory.recompute=none)

# Two files, and one file against itself.
run 0 compare --help
has out "Examples:"
run 0 compare "$scenario" "$root/scenarios/llama2-70b-1024xa100.yaml"
is_empty err
is_narrow out
for part in "B / A" "step time" "tokens/s" "What changed in the step" "Settings that differ" \
  "cluster.host" "dgx-a100" "Memory of the heaviest stage" "--all lists every value"; do
  has out "$part"
done
run 0 compare "$scenario" "$root/scenarios/llama2-70b-1024xa100.yaml" --all
is_narrow out
has out "device_profile."
run 0 compare "$scenario" --set B:parallel.tensor=4 --set B:parallel.data=32 --set C:memory.recompute=none
is_narrow out
has out "--set parallel.tensor=4 --set parallel.data=32"  # whatever the path, to be copied
has out "from A to C"
small=$root/scenarios/effects/ecmp-collision.yaml
run 0 compare "$small" --set B:simulation.routing=adaptive --engine event --json
is_json out
python3 - <<'EVENT' || fail 'on the fabric, a collision costs nothing'
import json
tree = json.load(open("out"))
assert [side["engine"] for side in tree["scenarios"]] == ["event", "event"]
data = [part["times_s"] for part in tree["step"] if part["part"] == "data_s"][0]
assert data[0] > 1.9 * data[1]
EVENT
run 0 compare - --set B:memory.recompute=none <"$scenario"
has out "<stdin>"
run 0 compare "$scenario" --set A:training.micro_batch=2 --set training.tokens="1 T" --set B:parallel.zero=0
has out "training.micro_batch"
lacks out "training.tokens "

# A side that cannot run is an answer with status 3.
run 3 compare "$scenario" "${tight[@]}"
is_empty err
is_narrow out
has out "OUT OF MEMORY"
has out "what helps"
run 3 compare "$scenario" "${tight[@]}" --json
is_json out
has err "infeasible: B: "

# Machine formats.
run 0 compare "$scenario" --set B:memory.recompute=none --json
is_json out
has out '"schema": "comparison/1"'
cp out first
run 0 compare "$scenario" --set B:memory.recompute=none --json --out result.json
is_empty out
cmp -s result.json first || fail "--out differs from standard output"
run 0 compare "$scenario" --set B:memory.recompute=none --csv
has out "figure,step.time_s,"
awk -F, '{ if (NR == 1) n = NF; if (NF != n) exit 1 }' out || fail "CSV rows differ in length"
run 0 compare "$scenario" --set B:memory.recompute=none --markdown
has out "| step time |"

# Usage errors.
run 2 compare "$scenario"
is_empty out
has err "compare needs two scenarios"
run 2 compare "$scenario" "$scenario" --set C:parallel.tensor=4
has err "C:"
run 2 compare "$scenario" --set B:parallel.tensr=4
has err "did you mean"
run 2 compare "$scenario" no-such-file.yaml
has err "no-such-file.yaml"
run 2 compare "$scenario" "$scenario" --json --csv

# Where the MFU goes.
run 0 explain "$scenario" step
is_empty err
is_narrow out
for part in "Where the MFU goes" "MFU after" "(p - 1) / m = 7 / 64" "less with --set"; do
  has out "$part"
done
run 0 explain "$scenario" step --json
is_json out
has out '"schema": "step-losses/1"'
run 0 explain "$scenario" step.time_s
has out "Computed from"
run 3 explain "$scenario" step --set training.global_batch=1000
has out "not a multiple of micro_batch"

# The critical path through the task graph, its chart and its trace.
run 0 simulate "$scenario" --engine path --json
is_json out
has out '"engine": "path"'
run 0 simulate "$scenario" --engine path --gantt
is_empty err
is_narrow out
for part in "one optimizer step" ", path)" "micro-batches" "busy" "F=forward" ".=idle"; do
  has out "$part"
done
lacks out $'\x1b'
run 0 simulate "$scenario" --gantt step.svg --trace step.json --json
is_json out
is_xml step.svg
is_json step.json
has step.svg "stage 7"
has step.svg "critical path"
run 0 simulate "$scenario" --power power.csv --json
is_json out
for part in peak_over_mean ramp_w_per_s waiting_w mean_w peak_w; do has out "\"$part\""; done
has power.csv "time_s,gpu_w,host_w,rack_w,site_w"
run 0 sweep "$scenario" --vary operations.power.floor=0.5,0.9 --metrics power.mean_w,power.swing_w --csv
has out "power.mean_w"
lacks out "ok,,,0.9,,"
run 0 simulate "$scenario" --power power.svg --json
is_xml power.svg
run 2 simulate "$scenario" --power power.txt
has err ".csv or .svg"
run 0 simulate "$scenario" --detail layer --trace layers.json.gz
gunzip -c layers.json.gz >layers.json || fail "not a gzip file"
is_json layers.json
has layers.json '"layer":9'
run 0 simulate "$scenario" --detail layer --trace again.json.gz
cmp -s layers.json.gz again.json.gz || fail "two traces differ"
run 0 compare "$scenario" --set B:parallel.tensor=4 --set B:parallel.data=32 --engine path
has out ", path)"
run 0 explain "$scenario" step --engine path
has out ", path)"
run 3 simulate "$scenario" "${tight[@]//B:/}" --gantt none.svg --json
has err "no chart"
[[ ! -e none.svg ]] || fail "a chart of a plan that cannot run"

# On a narrow terminal, and without colour.
if command -v script >/dev/null; then
  on_terminal=$(printf "stty cols 64; %q simulate %q --gantt" "$program" "$scenario")
  script -qec "$on_terminal" /dev/null >out 2>err </dev/null
  has out $'\x1b[48;5;'
  NO_COLOR=1 script -qec "$on_terminal" /dev/null >out 2>err </dev/null
  lacks out $'\x1b['
  tr -d '\r' <out >chart
  awk 'length($0) > 64 { print; wide = 1 } END { exit wide }' chart || fail "the chart is wide"
fi

run 2 simulate "$scenario" --engine closed-form --gantt
is_empty out
has err "--engine path"
run 0 simulate "$scenario" --engine event --gantt event.svg --trace event.json \
  --power event.csv --json
has event.csv "0.001000,"
has event.json '"engine":"event"'
run 2 simulate "$scenario" --gantt --json
has err "name a file"
run 2 simulate "$scenario" --gantt step.png
has err ".svg"
run 2 simulate "$scenario" --trace step.txt
has err ".json.gz"
run 2 simulate "$scenario" --detail layer
has err "--gantt"
run 2 simulate "$scenario" --gantt x.svg --detail layr
has err "did you mean 'layer'"
run 2 simulate "$scenario" --gantt no-such-folder/x.svg
has err "cannot write"

# Fabrics.
run 0 show fabric "$scenario" --svg fabric.svg
is_empty err
is_narrow out
has out "rail-optimized"
has out "25.6 TB/s"
is_xml fabric.svg
run 0 show fabric "$scenario" --down spine0 --down nic0.2 --json
is_json out
has out '"schema": "fabric/1"'
run 0 show fabric "$scenario" --dot
has out "leaf0 -- spine0"
run 3 show fabric "$scenario" --set cluster.fabric.kind=fat-tree --down leaf2
is_narrow out
has out "there is no way from gpu0 to"
run 2 show fabric "$scenario" --down spine16
is_empty out
has err "no node and no cable named 'spine16'"
run 2 show fabric
has err "needs a scenario"
run 2 show "$scenario" --dot
has err "belong to show fabric"

((failures == 0)) || { echo "$failures failures" >&2; exit 1; }
echo "ok"
