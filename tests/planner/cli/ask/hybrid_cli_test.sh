#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Hybrid models on the command line: forecasts, searches, refusals, the way to Megatron-LM and back.
# usage: hybrid_cli_test.sh PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"

cat >run.yaml <<'YAML'
schema: 1
name: nemotron-h
model: nemotron-h-8b
cluster: {host: dgx-h100, hosts: 8, fabric: {kind: rail-optimized, preset: ib-ndr}}
training: {sequence: 8192, micro_batch: 1, global_batch: 256, precision: bf16, optimizer: adamw}
parallel: {tensor: 4, sequence: true, pipeline: 2, zero: 1}
stack: megatron-core
YAML

run 0 simulate run.yaml --full
is_narrow out
has out 'Nemotron-H 8B: 8.10 B parameters'
has out 'state-space mixers'
has out 'chunked scans are extrapolated'
run 5 simulate run.yaml --strict
for engine in path event; do run 0 simulate run.yaml --engine $engine; done
run 0 simulate run.yaml --json
is_json out
has out 'outside-calibration'

# Context ranks exchange heads of mixers for the sequence, as long as there are enough.
run 0 simulate run.yaml --set parallel.context=2 --set parallel.data=4 --full
has out 'chunked scans are extrapolated'
run 3 simulate run.yaml --set parallel.tensor=16
has out 'Mamba groups are not divisible by parallel.tensor'

# A search tries context ranks, and its best plan runs.
run 0 plan run.yaml --set training.global_batch=128 --emit 1 best.yaml
run 0 simulate best.yaml

run 0 export megatron run.yaml --out run.sh
has run.sh 'pretrain_mamba.py'
has run.sh "--hybrid-override-pattern 'M-M-M-M*-"
run 0 import megatron run.sh --host dgx-h100 --gpus 64
has out 'model: nemotron-h-8b'
echo "--num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --hybrid-override-pattern M-*Z" >arguments.txt
run 2 import megatron arguments.txt --host dgx-h100 --gpus 64
has err 'has other letters than'

# A model in the scenario itself: its pattern is checked where it stands.
sed 's/^model: .*/model: {layers: 4, hidden: 512, layer_pattern: "M-*", mamba: {heads: 8, head_dim: 64, groups: 8, state_dim: 64}, attention: {heads: 8}, mlp: {hidden: 2048, gated: false}, embedding: {vocabulary: 32000, tied: false, position: none}, norm: {kind: rmsnorm}}/' run.yaml >own.yaml
run 2 simulate own.yaml
has err 'names 3 layers of 4'
sed -i 's/"M-\*"/"M-*-"/' own.yaml
run 0 simulate own.yaml --set parallel.pipeline=1

run 0 simulate --hf "$root"/tests/scenarios/huggingface/qwen3-next-80b-a3b.json --host dgx-b200 --gpus 64 --set parallel.expert=16
has out 'parameters'

((failures == 0)) || exit 1
