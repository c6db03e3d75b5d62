#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Holds `foretrain calibrate run|import|fit --measured|check|compare` together, from logs to a
# scenario that is forecast with the profile made of them.
# usage: calibrate_cli_test.sh FORETRAIN SOURCE_FOLDER
set -uo pipefail
foretrain=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fixtures=$source/tests/calibration/fixtures
failures=0

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  failures=$((failures + 1))
}
# expect STATUS TEXT COMMAND...: exit status, and a text in what it prints.
expect() {
  local status=$1 text=$2 output result
  shift 2
  output=$("$@" 2>&1)
  result=$?
  ((result == status)) || fail "$* exits with $result, not $status: ${output:0:600}"
  [[ $output == *"$text"* ]] || fail "$* does not say '$text': ${output:0:600}"
}

# --- hidden devices ---------------------------------------------------------------------------
expect 2 "b200: its file is like no other device" "$foretrain" validate --hide-device b200
expect 2 "there is no device 'b20' with a profile" "$foretrain" validate --hide-device b20=b200
expect 2 "'gb300' has its constants from 'b200'" "$foretrain" validate --hide-device b200=gb300
expect 2 "--hide-device takes --runs" "$foretrain" validate --hide-device gb200 --only time
"$foretrain" validate --hide-device gb200 --json >"$work/hidden.json" || fail "hiding gb200"
python3 - "$work/hidden.json" <<'PYTHON' || fail "forecasts of a hidden GB200"
import json, sys
lines = json.load(open(sys.argv[1]))["hidden"]
assert lines and all(line["device"] == "gb200" and line["relative"] == "b200" for line in lines)
assert all(line["hidden_with"] == ["gb300"] for line in lines), lines
large = [l for l in lines if l["quantity"] == "collective_time_us" and l["group"] == "from 1 MiB"]
assert large and large[0]["count"] >= 70 and large[0]["mape"] < 0.12 and large[0]["in_band"] > 0.8, large
PYTHON

# --- import -----------------------------------------------------------------------------------
expect 0 '50 collectives' "$foretrain" calibrate import "$fixtures/nccl_tests_gh200_cxi.txt"
expect 0 'left out: gemm: the result came out wrong' \
  "$foretrain" calibrate import "$fixtures/gpubench_form.jsonl" --out "$work/records"
[[ -s $work/records/kernels.csv && -s $work/records/import.json ]] || fail 'no records are written'
expect 2 'none of the formats' "$foretrain" calibrate import "$source/LICENSE"
expect 2 "there is no" "$foretrain" calibrate fit --measured "$fixtures/gpubench_form.jsonl" \
  --device h100 --out "$work/x.yaml"
expect 2 "but --device is 'a100-sxm4-80gb'" "$foretrain" calibrate fit \
  --measured "$fixtures/gpubench_form.jsonl" --device a100-sxm4-80gb --out "$work/x.yaml"
[[ ! -e $work/x.yaml ]] || fail 'a refused fit writes a profile'

# --- fit, from published records of one device ------------------------------------------------
head -1 "$source/calibration/measured/nccl_sweeps.csv" >"$work/sweeps.csv"
grep -E '^[^,]*,[^,]*,[^,]*,H100-SXM-80GB,[^,]*,8,' "$source/calibration/measured/nccl_sweeps.csv" |
  grep -v ',null,null,' >>"$work/sweeps.csv"
head -1 "$source/calibration/measured/kernels.csv" >"$work/kernels.csv"
grep -E ',gemm,H100-SXM-80GB,bfloat16,' "$source/calibration/measured/kernels.csv" >>"$work/kernels.csv"
expect 0 'CONSTANTS MEASURED' "$foretrain" calibrate fit --measured "$work/sweeps.csv" "$work/kernels.csv" \
  --device h100-sxm5-80gb --fabric ib-ndr --hold-out 5 --out "$work/my-h100.yaml"
for file in my-h100 my-h100-fabric my-h100-site; do
  [[ -s $work/$file.yaml ]] || fail "$file.yaml is not written"
done

# --- a folder stands for the records in it ----------------------------------------------------
mkdir "$work/folder" "$work/empty"
cp "$work/kernels.csv" "$work/folder"
cp "$work/sweeps.csv" "$work/folder/nccl_sweeps.csv"
expect 0 'CONSTANTS MEASURED' "$foretrain" calibrate fit --measured "$work/folder" \
  --device h100-sxm5-80gb --fabric ib-ndr --hold-out 5 --out "$work/folder/my-h100.yaml"
constants() { grep -vE '^  (files|source):|sha256|nccl_sweeps|sweeps.csv' "$1"; }
diff <(constants "$work/folder/my-h100.yaml") <(constants "$work/my-h100.yaml") >/dev/null ||
  fail 'a folder gives other constants than its files'
expect 0 'Fitted on these records' "$foretrain" calibrate check "$work/folder" \
  --profile "$work/my-h100.yaml" --profile "$work/my-h100-fabric.yaml"
expect 2 'is none of kernels.csv, nccl_sweeps.csv' "$foretrain" calibrate fit \
  --measured "$work/empty" --device h100-sxm5-80gb

# --- the profiles in a scenario, by path ------------------------------------------------------
cp "$source/scenarios/llama2-70b-1024xh100.yaml" "$work/run.yaml"
expect 0 'MFU' "$foretrain" simulate "$work/run.yaml" --set device_profile=./my-h100.yaml \
  --set site=./my-h100-site.yaml --set cluster.fabric.preset=./my-h100-fabric.yaml
expect 2 'is a profile of' "$foretrain" simulate "$work/run.yaml" \
  --set device_profile=a100-sxm4-80gb
expect 2 'leads out of the scenario' "$foretrain" simulate "$work/run.yaml" \
  --set site=../site.yaml
expect 2 'is not a file' "$foretrain" simulate "$work/run.yaml" --set site=./missing.yaml

# --- check and compare ------------------------------------------------------------------------
expect 0 'Fitted on these records' "$foretrain" calibrate check "$work/sweeps.csv" "$work/kernels.csv" \
  --profile "$work/my-h100.yaml" --profile "$work/my-h100-fabric.yaml"
expect 0 'gemm.bf16.efficiency' "$foretrain" calibrate compare "$work/my-h100.yaml"
expect 0 'across.share' "$foretrain" calibrate compare site/selene site/dgx-h100-ndr
expect 2 'nothing in common' "$foretrain" calibrate compare site/selene device/h200

# --- constants: every one with its meaning, prior and records ------------------------------------
expect 0 'nccl-tests on healthy clusters' "$foretrain" calibrate constants --kind site --markdown
expect 0 'set by hand' "$foretrain" calibrate constants --kind stack
expect 0 '"free":' "$foretrain" calibrate constants --kind fabric --json
expect 0 'site/vtrain,wait,' "$foretrain" calibrate constants --kind site --csv
expect 0 'Used beyond what was measured' "$foretrain" calibrate constants --kind device --markdown
expect 0 '"kept_out":' "$foretrain" calibrate constants --kind stack --json
expect 0 ',measured_on,used_beyond,record,kept_out' "$foretrain" calibrate constants --kind site --csv
expect 2 "'kernel' is not one of" "$foretrain" calibrate constants --kind kernel
expect 2 '--json excludes --csv' "$foretrain" calibrate constants --csv --json

# --- run, with programs that stand in for the harness -----------------------------------------
expect 2 'foretrain-gpubench is not in' "$foretrain" calibrate run --programs "$work" --out "$work/raw"
cat >"$work/foretrain-gpubench" <<'PROGRAM'
#!/bin/sh
[ "$1" = --budget ] && [ "$2" = 36s ] && [ "$3" = --out ] || exit 9
echo 'gpubench: GEMMs' >&2
printf '{"record":"device"}\n' >"$4"
PROGRAM
cat >"$work/foretrain-ncclbench" <<'PROGRAM'
#!/bin/sh
echo 'ncclbench: a collective needs two ranks' >&2
exit 2
PROGRAM
chmod +x "$work/foretrain-gpubench" "$work/foretrain-ncclbench"
expect 0 'gpubench: GEMMs' "$foretrain" calibrate run --programs "$work" --gpus 1 \
  --budget '60 s' --out "$work/raw"
grep -q '"exit_code":0' "$work/raw/run.jsonl" || fail 'run.jsonl does not tell how it ended'
expect 2 'holds measurements already' "$foretrain" calibrate run --programs "$work" \
  --budget '60 s' --out "$work/raw"
expect 1 'exit code 2' "$foretrain" calibrate run --programs "$work" --budget '60 s' \
  --out "$work/raw" --force
printf '#!/bin/sh\necho "gpubench: there is no NVIDIA GPU here" >&2\nexit 2\n' \
  >"$work/foretrain-gpubench"
expect 2 'there is no NVIDIA GPU here' "$foretrain" calibrate run --programs "$work" \
  --budget '60 s' --out "$work/raw" --force
expect 0 'srun -N 4 --ntasks-per-node=8' "$foretrain" calibrate run --print --nodes 4
expect 2 '--budget' "$foretrain" calibrate run --budget '5 parsecs'
exit $((failures > 0))
