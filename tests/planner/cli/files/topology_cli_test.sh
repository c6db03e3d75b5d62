#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Imports machines from other tools' files, and runs scenarios on them.
# usage: topology_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"
fixtures=$root/tests/topologies/fixtures

# A scenario without a machine; others extend it or it extends one.
cat >run.yaml <<'YAML'
schema: 1
name: imported
model: llama3-8b
cluster: {host: dgx-h100, hosts: 2, fabric: {kind: rail-optimized, preset: ib-ndr}}
training: {sequence: 4096, micro_batch: 1, global_batch: 512, precision: bf16}
parallel: {tensor: 4, zero: 1}
memory: {recompute: full}
stack: megatron-core
YAML

# --- hosts: what was read, ignored and assumed; the file is a catalog entry that simulates -------
mkdir -p mine/hosts
host_runs() {
  local name=$1
  run 0 show hosts "$name" --catalog mine
  run 0 simulate run.yaml --catalog mine --set cluster.host="$name" "${@:2}"
  has out "$name"
}
run 0 import nccl-topo "$fixtures/nccl_hgx_h200.xml" --name my-h200 --out mine/hosts/my-h200.yaml
has err "read     8 GPUs 0x10de:0x2335, nvswitch with 18 lanes each"
has err "ignored  eth0 (cannot reach GPU memory"
has err "assumed  2952 GiB of host memory, as gcp-a3-ultra"
is_empty out
host_runs my-h200 --set cluster.fabric.preset=roce-400
run 0 import nccl-topo "$fixtures/nccl_dgx1.xml" --name my-dgx-1 -o mine/hosts/my-dgx-1.yaml
grep -F pairs: mine/hosts/my-dgx-1.yaml >found
grep -F pairs: "$root/topologies/catalog/hosts/dgx-1.yaml" | diff - found || fail "another mesh"
run 0 show hosts my-dgx-1 --catalog mine
run 0 import nvidia-smi "$fixtures/nvidia_smi_dgx_h100.txt" --like dgx-h100 --name my-h100 \
  -o mine/hosts/my-h100.yaml
has err "ignored  mlx5_8 (shares no PCIe switch with a GPU"
host_runs my-h100
run 0 import nvidia-smi "$fixtures/nvidia_smi_a100_mesh.txt" --like dgx-a100 --name my-a100 \
  -o mine/hosts/my-a100.yaml
host_runs my-a100 --set cluster.hosts=4 --set cluster.fabric.preset=ib-hdr
run 0 import nvidia-smi - --like pcie-h100 <"$fixtures/nvidia_smi_pcie.txt"
has out "kind: pcie"

# What the file does not say must be named.
run 2 import nvidia-smi "$fixtures/nvidia_smi_dgx_h100.txt"
has err "--device: the file does not say what its GPUs are"
run 2 import nvidia-smi "$fixtures/nvidia_smi_a100_mesh.txt" --device a100-sxm4-80gb
has err "with --like one of these hosts"
run 2 import nccl-topo "$fixtures/nccl_hgx_h200.xml" --like dgx-h100
has err "'dgx-h100' has h100-sxm5-80gb, not h200"
run 2 import nccl-topo "$fixtures/nccl_hgx_h200.xml" --like dgx-h10
has err "did you mean 'dgx-h100'"
run 2 import nccl-topo "$fixtures/nccl_hgx_h200.xml" --name ../x
has err "not a name for an entry"
run 2 import nccl-topo "$fixtures/slurm_units.conf"
has err "slurm_units.conf:7: is no XML"
run 2 import nccl-topo nothing.xml
has err "nothing.xml"

# --- fabrics ------------------------------------------------------------------------------------
run 0 import slurm "$fixtures/slurm_units.conf" --host dgx-h100 --base run.yaml -o units.yaml
has err "found    rail-optimized: 128 hosts, 32 leaves, 16 spines, 32 hosts per leaf"
has err "assumed  no oversubscription"
run 0 show units.yaml
has out "units.yaml"
run 0 simulate units.yaml
run 0 show fabric units.yaml
# Without --base the result is what a scenario without a cluster extends.
run 0 import slurm "$fixtures/slurm_two_levels.conf" --host dgx-h100 -o cluster.yaml
{ echo "extends: cluster.yaml"; grep -v '^cluster:' run.yaml; } >on_it.yaml
run 0 simulate on_it.yaml --set training.global_batch=480 --json
is_json out
has out '"hosts": 60'
run 2 import slurm "$fixtures/slurm_units.conf"
has err "--host: the file does not say what its hosts are"
run 2 import slurm "$fixtures/slurm_irregular.conf" --host pcie-h100
has err "slurm_irregular.conf:4: switch 'd' has 6 nodes where most have 16"
has err "--nearest takes it"
is_empty out
run 0 import slurm "$fixtures/slurm_irregular.conf" --host pcie-h100 --nearest --base run.yaml \
  -o nearest.yaml
has err "assumed  the nearest regular fabric"
run 0 simulate nearest.yaml --set training.global_batch=504
run 2 import slurm "$fixtures/slurm_units.conf" --host dgx-h100 --kind torus
has err "does not consist of tiers"

for tool in ibnetdiscover iblinkinfo; do
  run 0 import "$tool" "$fixtures/${tool}_rails.txt" --host pcie-a100-80gb --base run.yaml \
    -o rails.yaml --force
  has err "found    rail-optimized: 8 hosts, 4 leaves, 2 spines, 4 hosts per leaf"
  run 0 simulate rails.yaml --engine event
  run 0 show fabric rails.yaml
  has out "rail-optimized"
done
# A lost cable: no regular fabric, so taken cable by cable; both engines and show read it.
run 0 import ibnetdiscover "$fixtures/ibnetdiscover_lost_cable.txt" --host pcie-a100-80gb \
  --base run.yaml -o lost.yaml
has err "assumed  switch 'MF0;leaf2:MQM8700/U1' has 3 cables up"
has err "routes are shortest paths by hops, not the subnet manager's tables"
has err "found    irregular: 8 hosts, 6 switches, 15 cables between them"
has lost.yaml "# switch 4: MF0;leaf2:MQM8700/U1"
run 0 simulate lost.yaml
run 0 simulate lost.yaml --engine event
run 0 show fabric lost.yaml
tr -s ' \n' ' ' <out >unwrapped
has unwrapped "routes are shortest paths, not the subnet manager's tables"
run 2 simulate lost.yaml --set cluster.hosts=9
has err "joins 8 hosts, not 9"
run 2 simulate lost.yaml --set cluster.fabric.oversubscription=2
has err "has no effect with kind: irregular"
run 0 import ibnetdiscover "$fixtures/ibnetdiscover_lost_cable.txt" --host pcie-a100-80gb --nearest
has err "assumed  the nearest regular fabric"
run 2 import ibnetdiscover "$fixtures/ibnetdiscover_rails.txt" --host dgx-a100
has err "hosts have 2 NICs here, and dgx-a100 has 8"

((failures == 0)) || exit 1
