#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --device: a GPU in place of a host, in every command that is asked about a machine; adapters beside
# a model's configuration.
# usage: device_option_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"
cp "$root/tests/scenarios/huggingface/qwen3-8b.json" config.json

# A model and a GPU are enough.
run 0 fit --hf config.json --gpus 1 --device rtx4090 --qlora 16
has out "43.6 M parameters: lora of rank 16"
has out "1 x GeForce RTX 4090 24GB in 1 x Server with eight GeForce RTX"
has out "Next: foretrain simulate --hf config.json --gpus 1 --device rtx4090 --qlora 16"
has err "QLoRA of rank 16 beside all linear layers"
run 0 fit --hf config.json --gpus 1 --device rtx4090 --lora 16
has out "May not fit"
run 0 fit --hf config.json --gpus 1 --device l40s --lora 16
run 0 simulate --hf config.json --gpus 2 --device l40s --lora 16
has out "extrapolated"
run 2 fit --hf config.json --gpus 1 --device l40s --lora 16 --qlora 16
has err "excludes"
run 2 fit --hf config.json --gpus 1 --device l40s --lora 0
run 2 fit --megatron "--num-layers 2" --lora 16
has err "--lora, --qlora and --all-weights stand beside --hf"
run 3 fit --hf config.json --gpus 1 --device rtx4090
has err "fine-tuning of all weights"
has out "One change at a time"
has out "fine_tuning.frozen_format=nf4-double"
run 0 simulate --hf config.json --gpus 8 --device h100-sxm5-80gb --all-weights --set parallel.zero=3
has err "hf-trainer"
run 3 fit --hf config.json --gpus 8 --device l40s --all-weights
has out "--all-weights"
run 0 init tune.yaml --model llama3.2-1b --device rtx4090 --gpus 1 --qlora 16 </dev/null
has tune.yaml "frozen_format: nf4"
run 0 simulate tune.yaml
run 0 export axolotl tune.yaml
has out "adapter: qlora"
run 2 init no.yaml --model llama3.2-1b --device rtx4090 --gpus 1 --lora 16 --tokens "1 B" </dev/null
has err "alone"
run 2 fit "$scenario" --lora 16

# A drawn-up scenario, its search, and the same on another GPU: as many of them unless told.
run 0 init run.yaml --model llama3.2-1b --device l40s --gpus 2 </dev/null
has run.yaml "host: l40s"
has run.yaml "gpus_per_host: 2"
run 0 plan run.yaml --device A6000 --gpus 1,2
has out "--set cluster.host=rtx-a6000"
run 0 fit run.yaml --device rtx-6000-ada
has out "2 x RTX 6000 Ada 48GB"
has out "run.yaml --device rtx-6000-ada"
run 0 simulate run.yaml --device h100-sxm5-80gb
has out "2 x H100 SXM5 80GB in 1 x NVIDIA DGX H100"
run 2 fit run.yaml --gpus 4
has err "its GPUs with --device and --gpus"
run 2 fit - --device l40s <run.yaml
has err "give a file, or --gpus"
# Hosts of one GPU.
run 0 plan run.yaml --device dgx-spark --gpus 2
has out "--set cluster.host=gb10"
run 0 init spark.yaml --model llama3.2-1b --device gb10 --gpus 1 </dev/null
run 0 init hopper.yaml --model llama3.2-1b --device gh200 --gpus 1 </dev/null

# Imports of frameworks.
printf 'model_name_or_path: Qwen/Qwen3-8B\nbf16: true\nper_device_train_batch_size: 1\nlora_r: 8\n' >args.yaml
run 0 import transformers args.yaml --device l4 --gpus 4
has out "host: l4"

# What is wrong is told with what is right.
run 2 init no.yaml --model llama3.2-1b --device rtx409 --gpus 1 </dev/null
has err "there is no device 'rtx409'; did you mean 'rtx4090'?"
run 2 init no.yaml --model llama3.2-1b --device l40s --host dgx-h100 --gpus 1 </dev/null
has err "--device excludes --host"
run 2 init no.yaml --model llama3.2-1b --device v100-32gb --gpus 1 </dev/null
has err "several hosts have v100-32gb; give one of them as host: dgx-1, dgx-2"
run 2 init no.yaml --model llama3.2-1b --device mi300x --gpus 1 </dev/null
has err "is not modelled. Missing:"
for command in "init no.yaml --model llama3.2-1b" "fit --hf config.json" "plan run.yaml"; do
  # shellcheck disable=SC2086  # words
  run 2 $command --device l40s --gpus 9 </dev/null
  has err "9 GPUs are not as many of every l40s, which has 8; give 8 or 16"
done

# Formats that a device has not are refused by name, with those that it trains in.
run 0 fit --hf "$root/tests/scenarios/huggingface/qwen3-0.6b.json" --gpus 1 --device t4 --qlora 8
has err "in fp16, one sequence"
run 3 simulate run.yaml --device t4
has out "he tensor cores of t4 do not multiply bf16"
has out "fp16"
run 3 simulate run.yaml --device rtx-a6000 --set training.precision=fp8
has out "he tensor cores of rtx-a6000 do not multiply fp8"
run 0 simulate run.yaml --device l40s --set training.precision=fp8

# A format that the relative was not measured in needs all constants of its products.
cat >half.yaml <<'YAML'
schema: 1
name: half
title: Half
like: a100-sxm4-80gb
peak: {fp16: 312 TFLOP/s, bf16: 312 TFLOP/s, fp8: 624 TFLOP/s}
server: {like: pcie-a100-80gb}
profile: {gemm: {fp8: {efficiency: 0.8, sustained: 0.7}}}
sources:
  - {covers: [peak, server, profile], cite: made up, date: 2026-11-27}
YAML
run 2 simulate run.yaml --device half --catalog half.yaml --set training.precision=fp8
has err "profile.gemm.fp8.ramp_k: required key is missing; write for example ramp_k: 170"
sed -i 's/sustained: 0.7/ramp_k: 400, tile_128: 1, sustained: 0.7, launch: 2 us/' half.yaml
run 0 simulate run.yaml --device half --catalog half.yaml --set training.precision=fp8

# Rings of more than two GPUs over PCIe differ between hosts: a warning, and the band's upper end.
run 0 simulate run.yaml --device l40s --gpus 2 --json
lacks out "meet over PCIe"
run 0 init four.yaml --model llama3-8b --device l40s --gpus 4 </dev/null
run 0 simulate four.yaml --json
has out "4 GPUs of l40s meet over PCIe, where hosts differ"
run 0 explain four.yaml step.band
has out "how its GPUs share PCIe is not known"

# Nothing was measured of it, so its band is wider than the measured relative's.
run 0 simulate run.yaml --device l40s --json
cp out unmeasured.json
run 0 simulate run.yaml --device a100-sxm4-80gb --json
cp out measured.json
python3 - <<'PYTHON' || fail "the band of a device that was not measured"
import json
def band(name):
    step = json.load(open(name))["step"]
    return (step["high_s"] - step["low_s"]) / step["time_s"]
assert band("unmeasured.json") > 1.1 * band("measured.json")
PYTHON

((failures == 0)) || { echo "$failures failures" >&2; exit 1; }
echo "ok"
