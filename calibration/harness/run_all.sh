#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures one GPU machine in one go, within ten minutes: kernels, collectives where there are two
# GPUs or more, and training steps where PyTorch is installed.
# usage: run_all.sh BUILD_FOLDER OUTPUT_FOLDER
set -euo pipefail
build=${1:?usage: run_all.sh BUILD_FOLDER OUTPUT_FOLDER}
out=${2:?usage: run_all.sh BUILD_FOLDER OUTPUT_FOLDER}
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
mkdir -p -- "$out"
nvidia-smi -q >"$out/nvidia-smi.txt"
nvidia-smi topo -m >"$out/topology.txt" || echo 'no topology' >&2
"$build/bin/foretrain-gpubench" --budget 240s --out "$out/gpubench.jsonl"
gpus=$(nvidia-smi --query-gpu=index --format=csv,noheader | wc -l)
if ((gpus > 1)); then
  "$build/bin/foretrain-ncclbench" --gpus "$gpus" --budget 120s --out "$out/ncclbench.jsonl"
fi
if python3 -c 'import torch' 2>/dev/null; then
  python3 "$here/torch_step.py" --budget 150 --out "$out/runs.yaml" --kernels "$out/kernels.jsonl"
  python3 "$here/trainer_step.py" --budget 90 --out "$out/trainer.yaml" ||
    echo 'run_all: the Trainer was not measured' >&2
else
  echo 'run_all: PyTorch is not installed, so no training steps were measured' >&2
fi
