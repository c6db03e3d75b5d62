#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Exports a scenario and gives the files to their readers: SimGrid, protoc, an XML parser.
# usage: export_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT PLATFORM_LOADER
here=$PWD
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"
loader=$here/$3
[[ $3 == /* ]] && loader=$3
cat >run.yaml <<'YAML'
schema: 1
name: exported
model: llama3-8b
cluster: {host: dgx-h100, hosts: 4, fabric: {kind: leaf-spine, preset: ib-ndr, switch_radix: 16}}
training: {sequence: 4096, micro_batch: 1, global_batch: 64, precision: bf16}
parallel: {tensor: 4, pipeline: 2, zero: 1}
memory: {recompute: full}
stack: megatron-core
YAML

# --- SimGrid: as many hosts as GPUs; over two NICs, two PCIe links and the tiers ------------------
run 0 export simgrid run.yaml -o platform.xml
is_empty out
is_xml platform.xml
"$loader" platform.xml >out 2>err || fail "SimGrid does not load the platform"
has out "hosts 32"
has out "slowest_gbps 400"
has out "route 6" # PCIe, NIC, leaf to spine and back, NIC, PCIe: 2 x 0.6 us + 4 x 0.47 us
has out "latency_us 3.08"
grep -q 'DOCTYPE platform' platform.xml || fail "no document type"
grep -q 'zone id="exported" routing="Full"' platform.xml || fail "no routes of ours"

# Beyond 128 GPUs SimGrid finds its own ways, and the file says so.
run 0 export simgrid run.yaml --set cluster.hosts=32 \
  --set cluster.fabric.switch_radix=64 -o large.xml
has large.xml "Foretrain's own are written for 128 GPUs at most"
"$loader" large.xml >out 2>err || fail "SimGrid does not load the large platform"
has out "hosts 256"
has out "route 6"

# --- Graphviz -----------------------------------------------------------------------------------
run 0 export dot run.yaml
mv out exported.dot
run 0 show fabric run.yaml --dot
cmp -s out exported.dot || fail "export dot and show fabric --dot differ"
if command -v dot >/dev/null; then
  dot -Tsvg exported.dot >graph.svg || fail "Graphviz does not read the graph"
fi

# --- NCCL's tuner -------------------------------------------------------------------------------
run 0 export nccl-tuner run.yaml
has out "allreduce,0,"
python3 - out <<'PYTHON' || fail "a row is not what the plug-in reads"
import sys
collectives = {"broadcast", "reduce", "allgather", "reducescatter", "allreduce"}
algorithms = {"tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"}
for line in open(sys.argv[1]):
    if line.startswith("#"):
        continue
    cells = line.rstrip("\n").split(",")
    assert len(cells) == 10 and len(line) < 256, line
    assert cells[0] in collectives and cells[3] in algorithms, line
    assert cells[4] in {"ll", "ll128", "simple"} and int(cells[1]) <= int(cells[2]), line
    assert int(cells[6]) >= 1 and int(cells[7]) >= 2, line
PYTHON

# --- Chakra -------------------------------------------------------------------------------------
if "$program" export chakra run.yaml -o 'trace.%d.et' >out 2>err; then
  has err "wrote    32 files, trace.0.et to trace.31.et"
  if command -v protoc >/dev/null; then
    python3 - "$root/planner/chakra" <<'PYTHON' || fail "protoc does not decode a trace"
import subprocess, sys
data, at, count, kinds = open("trace.31.et", "rb").read(), 0, 0, set()
while at < len(data):
    size = shift = 0
    while True:
        byte = data[at]
        size |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            break
    if count < 400:
        name = "GlobalMetadata" if count == 0 else "Node"
        text = subprocess.run(
            ["protoc", "--proto_path=" + sys.argv[1], "--decode=ChakraProtoMsg." + name,
             sys.argv[1] + "/et_def.proto"], input=data[at:at + size], capture_output=True,
            check=True).stdout.decode()
        kinds |= {line.split()[1] for line in text.splitlines() if line.startswith("type:")}
    at, count = at + size, count + 1
assert at == len(data) and count > 20 and "COMP_NODE" in kinds, (count, kinds)
PYTHON
  fi
  run 0 replay run.yaml --chakra 'trace.%d.et' --recorded --json
  is_json out
  has out '"communication": "recorded"'
  run 0 replay run.yaml --chakra 'trace.%d.et'
  has out "Busiest links"
  is_narrow out
  run 2 replay run.yaml --chakra 'nothing.%d.et'
  has err "nothing.0.et"
  head -c 500 trace.0.et >broken.0.et
  run 2 replay run.yaml --chakra 'broken.%d.et'
  has err "broken.0.et: message"
  run 3 replay run.yaml --chakra 'trace.%d.et' --set cluster.hosts=2
  has err "infeasible"
else
  has err "built without protobuf"
fi
run 2 export chakra run.yaml -o trace.et
has err "one %d"
run 2 export
run 2 replay run.yaml
run 0 export --help
has out "Examples:"

((failures == 0)) || exit 1
