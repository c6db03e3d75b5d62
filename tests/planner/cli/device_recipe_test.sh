#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the device of CONTRIBUTING.md from its text and forecasts with it: a device of which only
# the datasheet is known.
# usage: device_recipe_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/cli_common.sh"

# Blocks of YAML after a line such as `DIR/devices/my-gpu.yaml`:, without their indent.
python3 - "$root/CONTRIBUTING.md" <<'PYTHON'
import pathlib, re, sys, textwrap
text = pathlib.Path(sys.argv[1]).read_text()
for name, block in re.findall(r"`DIR/(\S+\.yaml)`:\n\n *```yaml\n(.*?) *```\n", text, re.S):
    file = pathlib.Path("mine") / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(textwrap.dedent(block))
PYTHON
[[ -f mine/devices/my-gpu.yaml && -f mine/hosts/my-server.yaml ]] || fail "the recipe has no blocks"
mine=(--catalog mine --set cluster.host=my-server)
like=(--set cluster.host=dgx-b200)
value() { python3 -c 'import json, sys; print(eval("json.load(open(sys.argv[1]))" + sys.argv[2]))' "$@"; }

run 0 simulate "$scenario" "${mine[@]}"
has out "extrapolated"
run 0 simulate "$scenario" "${mine[@]}" --json
cp out mine.json
has out "nothing measured; as b200, in proportion to the datasheets"
run 0 simulate "$scenario" "${like[@]}" --json
cp out like.json
lacks out "nothing measured"
python3 - <<'PYTHON' || fail "the forecast of the recipe's device"
import json
mine, like = (json.load(open(name)) for name in ("mine.json", "like.json"))
def band(p):
    step = p["step"]
    return (step["high_s"] - step["low_s"]) / step["time_s"]
assert band(mine) > 1.05 * band(like), (band(mine), band(like))
assert mine["step"]["time_s"] < like["step"]["time_s"], "a faster device is faster"
assert any(w["id"] == "outside-calibration" and "my-gpu" in w["message"] and "extrapolated" in w["message"]
           for w in mine["warnings"]), mine["warnings"]
PYTHON

# Each value says where it comes from, own, inherited or in proportion.
run 0 show "$scenario" "${mine[@]}" --json
cp out values.json
python3 - <<'PYTHON' || fail "origins of the values"
import json
values = {v["path"]: v for v in json.load(open("values.json"))["values"]}
def origin(path): return values[path]["origin"]
assert origin("cluster.host.device.memory.capacity").startswith("mine/devices/my-gpu.yaml:")
assert origin("cluster.host.device.architecture").startswith("topologies/catalog/devices/b200.yaml:")
assert origin("cluster.host.cpu.cores").startswith("topologies/catalog/hosts/dgx-b200.yaml:")
assert origin("device_profile.gemm.bf16.efficiency").startswith("calibration/profiles/device/b200.yaml:")
rate = origin("device_profile.attention.rate")
assert rate.startswith("derived: calibration/profiles/device/b200.yaml:") and "x 1.155 (peak and power" in rate, rate
assert "(memory.capacity of" in origin("cluster.host.device.memory.usable")
assert values["cluster.host.device.links.scale_up.bandwidth"]["value"] == "1000 GB/s"
assert not any(path.startswith("cluster.host.scale_up.link.") for path in values), "the device's link counts"
PYTHON
run 0 show devices my-gpu --catalog mine
has out "Inherited"
has out "blackwell"

# A measured constant in the same file stands over the proportion.
cat >>mine/devices/my-gpu.yaml <<'YAML'
  - covers: [profile]
    cite: "our own runs"
    date: 2026-11-22
profile:
  attention: {rate: 1000 TFLOP/s}
YAML
run 0 show "$scenario" "${mine[@]}"
has out "1000 TFLOP/s"

# A relative without a profile has nothing to give.
sed 's/^like: .*/like: nobody/' mine/devices/my-gpu.yaml >mine/devices/bare.yaml
sed -i 's/^name: .*/name: bare/' mine/devices/bare.yaml
sed 's/^name: .*/name: bare-server/; s/^device: .*/device: bare/' mine/hosts/my-server.yaml \
  >mine/hosts/bare-server.yaml
sed 's/^name: .*/name: nobody/' "$root/topologies/catalog/devices/b200.yaml" >mine/devices/nobody.yaml
run 2 simulate "$scenario" --catalog mine --set cluster.host=bare-server
has err "of 'nobody' there is no device profile to take rates from"

((failures == 0)) || { echo "$failures failures" >&2; exit 1; }
echo "ok"
