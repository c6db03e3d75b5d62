#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Devices from a datasheet on the command line: one file that runs at once, and what is refused.
# usage: device_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"
sheet=(--memory 288GB --memory-bandwidth 8TB/s --nvlink 900GB/s --tdp 1400W)
new=(device new --like b200 --peak bf16=2.5e15 "${sheet[@]}")

# Next commands work as they are printed, whatever the folder and the file are called.
next_works() {
  local line
  while IFS= read -r line; do
    [[ $line == "  foretrain "* ]] || continue
    eval "\"\$program\" ${line#  foretrain }" >next.out 2>next.err </dev/null ||
      { cat next.err >&2; fail "does not run: $line"; }
    [[ $line != *" simulate "* ]] || cp next.out simulated
  done
}
run 0 "${new[@]}" --name my-gpu </dev/null
is_empty out
has err "assumed  fp8 at 5 PFLOP/s, as b200 in proportion to bf16"
has err "extrapolated from b200"
next_works <err
has simulated "kernels extrapolated"
has simulated "outside-calibration"
mkdir "my machines"
run 0 "${new[@]}" --out "my machines/other-gpu.yaml" </dev/null
next_works <err

# One file is all it takes: the device, its host, and what they have from relatives.
run 0 show hosts my-gpu --catalog my-gpu.yaml --json
has out '"8 x my-gpu, nvswitch 900 GB/s per GPU, 8 x 400 Gbit/s out"'
# One usable memory: the relative's share of the capacity, in the summary and in what is inherited.
run 0 show devices my-gpu --catalog my-gpu.yaml
has out "265.76 GiB usable"
has out "285.4 GB"
has out "b200:6 x 1.49 (memory.capacity of the datasheets)"
lacks out "178.35"
run 0 show hosts --catalog "my machines/other-gpu.yaml"
has out "other-gpu"
lacks out "my-gpu"
mkdir -p mine/devices
cp my-gpu.yaml mine/devices/
run 0 show hosts my-gpu --catalog mine

# The band is wider than that of the measured relative, and the step moves as the datasheets say.
at() { "$program" simulate "$scenario" --set "cluster.host=$1" "${@:2}" --json >"$1.json" || fail "$1"; }
at my-gpu --catalog my-gpu.yaml
at dgx-b200
python3 - <<'PYTHON' || fail "the forecast of a device from its datasheet"
import json
mine, like = (json.load(open(f"{name}.json")) for name in ("my-gpu", "dgx-b200"))
def band(p): return (p["step"]["high_s"] - p["step"]["low_s"]) / p["step"]["time_s"]
assert band(mine) > 1.05 * band(like), (band(mine), band(like))
assert mine["step"]["time_s"] < like["step"]["time_s"]
assert any("my-gpu are extrapolated" in w["message"] for w in mine["warnings"])
PYTHON

# What it says is what is read: a device with its relative's datasheet is its relative.
run 0 device new --like b200 --name same --peak bf16=2250TFLOP/s --memory 180GiB \
  --memory-bandwidth 7.7TB/s --nvlink 900GB/s --tdp 1kW </dev/null
at same --catalog same.yaml
python3 - <<'PYTHON' || fail "a round trip of a datasheet"
import json
same, like = (json.load(open(f"{name}.json")) for name in ("same", "dgx-b200"))
assert abs(same["step"]["time_s"] / like["step"]["time_s"] - 1) < 1e-9
PYTHON

# Racks, JSON, nothing lost.
run 0 "${new[@]}" --name my-rack --gpus 4 --nics 4 --domain 72 --json </dev/null
is_json out
has out '"trust": "extrapolated"'
run 0 show hosts my-rack --catalog my-rack.yaml
has out "4 x my-rack, nvswitch 900 GB/s per GPU in domains of 72, 4 x 400 Gbit/s out"
cp my-gpu.yaml before.yaml
run 2 "${new[@]}" --name my-gpu --tdp 1200W </dev/null
run 2 "${new[@]}" --name my-gpu </dev/null
has err "my-gpu.yaml is there already; --force replaces it"
cmp -s my-gpu.yaml before.yaml || fail "a refused command changed the file"
run 0 "${new[@]}" --name my-gpu --force </dev/null

# A relative may be a device of one's own, and one that is extrapolated itself.
run 0 device new --like my-gpu --catalog my-gpu.yaml --name my-next --peak bf16=3e15 \
  "${sheet[@]}" </dev/null
next_works <err
has my-next.yaml "like: my-gpu"
run 0 device new --like gb300 --name my-gb --peak bf16=3e15 "${sheet[@]}" </dev/null
next_works <err

# What is wrong is told with what would be right, all of it at once.
refused() {  # WHAT ARGUMENTS...
  local what=$1
  shift
  run 2 device new --name odd "$@" </dev/null
  has err "$what"
  [[ ! -e odd.yaml ]] || fail "a device that was refused is written"
}
refused "--like: there is no device 'b20'; did you mean 'b200'?" --like b20 --peak bf16=2e15
refused "--memory: is needed: capacity, from the datasheet" --like b200
has err "--nvlink: is needed"
has err "--peak: is needed: the dense rate in bf16"
refused "--memory: capacity must be above zero" --like b200 --peak bf16=2e15 --memory 0GB
refused "fp8 at 2000 TFLOP/s is slower than fp16 at 2500 TFLOP/s" \
  --like b200 --peak bf16=2.5e15 --peak fp8=2e15 "${sheet[@]}"
refused "--peak: 2.5e-12 PFLOP/s is 1/9e+11 of the bf16 rate of b200" \
  --like b200 --peak bf16=2500 "${sheet[@]}"
refused "fp8 was not measured on a100-sxm4-80gb" --like a100-sxm4-80gb --peak bf16=4e14 \
  --peak fp8=8e14 --memory 80GB --memory-bandwidth 2TB/s --nvlink 300GB/s --tdp 400W
refused "--peak: 'bf61' is not one of fp32, tf32, fp16, bf16, fp8" --like b200 --peak bf61=2e15
refused "is not FORMAT=RATE" --like b200 --peak 2e15
refused "--memory-bandwidth: " --like b200 --memory-bandwidth "8 TB"
refused "--domain: 70 GPUs are not whole hosts of 4 GPUs" \
  --like b200 --peak bf16=2e15 "${sheet[@]}" --gpus 4 --domain 70
refused "there is no host 'dgx-b20'; did you mean 'dgx-b200'?" \
  --like b200 --peak bf16=2e15 "${sheet[@]}" --host-like dgx-b20
run 2 "${new[@]}" --name b200 </dev/null
has err "--name: there is a device 'b200' already"
run 2 "${new[@]}" --name my-gpu --out your-gpu.yaml </dev/null
has err "the file of the device 'my-gpu' is named my-gpu.yaml"
run 2 show hosts --catalog nowhere.yaml
has err "is not a folder, nor the file NAME.yaml of a device"

# A file by hand: rates fall with bits, and no source covers the host.
sed 's/fp8: 5 PFLOP/fp8: 1 PFLOP/; s/my-gpu/by-hand/' my-gpu.yaml >by-hand.yaml
run 2 show hosts by-hand --catalog by-hand.yaml
has err "by-hand.yaml:10:7: peak: fp8 at 1000 TFLOP/s is slower than fp16"
sed 's/, server\]/]/; s/my-gpu/by-hand/' my-gpu.yaml >by-hand.yaml
run 2 show hosts by-hand --catalog by-hand.yaml
has err "no source covers this value"
sed 's/  like: dgx-b200/  like: dgx-b20/; s/my-gpu/by-hand/' my-gpu.yaml >by-hand.yaml
run 2 show hosts by-hand --catalog by-hand.yaml
has err "there is no host 'dgx-b20'; did you mean 'dgx-b200'?"

# On a terminal, what the options leave open is asked for.
if command -v script >/dev/null; then
  printf 'b20\nb200\nbf16\nbf16=2.5e15 fp8=5e15\n288\n288 GB\n8 TB/s\n900 GB/s\n1400 W\nAsked\nasked\n' |
    script -qec "$(printf '%q device new' "$program")" /dev/null >out 2>err
  has out "did you mean 'b200'"
  has out "is not FORMAT=RATE"
  has out "is not lower-case letters"
  has asked.yaml "bf16: 2.5 PFLOP/s, fp8: 5 PFLOP/s"
  run 0 show hosts asked --catalog asked.yaml
fi

((failures == 0)) || { echo "$failures failures" >&2; exit 1; }
echo "ok"
