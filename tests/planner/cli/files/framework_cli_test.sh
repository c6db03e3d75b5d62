#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Imports of training frameworks and exports for them, as a user runs them; what is exported is
# opened by its real consumers: bash, and Python's json, tomllib and yaml.
# usage: framework_cli_test.sh PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../cli_common.sh"
fixtures=$root/tests/scenarios/imports/megatron

# --- import -------------------------------------------------------------------------------------
run 0 import megatron "$fixtures/llama3-8b-torchrun.sh" --out run.yaml
is_empty out
has err 'read     '
has err 'assumed  4 hosts dgx-h100'
has run.yaml 'model: llama3-8b'
has run.yaml '# Ignored, changes neither memory nor time: lr, save'
run 0 simulate run.yaml
has out 'FITS'
run 0 import megatron "$fixtures/bloom-176b.slurm" --host dgx-a100 --json
is_json out
has out '"parameters": 176247271424'
has out '"gpus": 384'
run 0 import megatron --gpus 16 -- --num-layers 24 --hidden-size 1024 --num-attention-heads 16 \
  --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 4 --global-batch-size 64 --bf16
has out 'hosts: 2'

# The road that most people take: TrainingArguments with DeepSpeed's JSON, or with accelerate's YAML.
cat >args.yaml <<'END'
model_name_or_path: meta-llama/Llama-2-7b-hf
per_device_train_batch_size: 2
gradient_accumulation_steps: 4
bf16: true
gradient_checkpointing: true
max_length: 4096
END
cat >zero3.json <<'END'
{"zero_optimization": {"stage": 3, "reduce_bucket_size": "auto"}, "bf16": {"enabled": "auto"},
 "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto",
 "train_batch_size": "auto", "gradient_clipping": "auto"}
END
cat >accelerate.yaml <<'END'
distributed_type: FSDP
mixed_precision: bf16
num_processes: 8
use_cpu: false
fsdp_config: {fsdp_version: 2, fsdp_activation_checkpointing: true, fsdp_offload_params: false}
END
for beside in zero3.json accelerate.yaml; do
  run 0 import transformers args.yaml "$beside" --gpus 8 --out road.yaml --force
  has road.yaml 'zero: 3'
  has road.yaml 'global_batch: 64'
  has road.yaml 'granularity: full'
  run 0 simulate road.yaml
  has out 'FITS'
done
{ cat args.yaml && echo 'deepspeed: zero3.json'; } >named.yaml
run 0 import transformers named.yaml --gpus 8
has out 'zero: 3'
run 0 import transformers accelerate.yaml --model llama2-7b --sequence 2048 --micro-batch 1 \
  --accumulation 2
has out 'global_batch: 16'
echo '{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}}' >other.json
run 2 import transformers args.yaml other.json --gpus 8
has err 'other.json:1'
has err 'per_device_train_batch_size of args.yaml:2'
run 2 import megatron nowhere.sh
has err "there is no file 'nowhere.sh'"
run 2 import megatron -- --num-layers 24 --magic 3
has err '--magic: is not known here'
run 0 import megatron --gpus 16 --leave-out-unknown -- --num-layers 24 --hidden-size 1024 \
  --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 4 \
  --global-batch-size 64 --bf16 --magic 3
has err 'left out  (not known here, may change memory or time) magic'
printf '{"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto",
  "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 3}}' >auto.json
run 2 import deepspeed auto.json --model llama2-7b --sequence 4096 --gpus 16
has err 'give that with --micro-batch N'
run 0 import deepspeed auto.json --model llama2-7b --sequence 4096 --gpus 16 --micro-batch 2 \
  --accumulation 4 --precision bf16
has out 'global_batch: 128'
run 2 import megatron "$fixtures/mixtral-8x7b.yaml" --host dgx-h1000
has err "did you mean 'dgx-h100'"
printf 'print("not a configuration"' >broken.toml
run 2 import torchtitan broken.toml
has err 'broken.toml:1:'
run 2 import nanotron broken.toml
run 2 import deepspeed broken.toml

# --- fit, simulate and explain without a scenario ------------------------------------------------
arguments='--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096
  --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 --bf16
  --use-distributed-optimizer --tensor-model-parallel-size 4 --sequence-parallel
  --no-create-attention-mask-in-dataloader --attention-dropout 0 --hidden-dropout 0'
run 0 fit --megatron "$arguments" --gpus 32
has out 'FITS'
run 0 fit --megatron "$fixtures/llama3-8b-torchrun.sh"
config=$root/tests/scenarios/huggingface/llama3-8b.json
run 0 fit --hf "$config" --gpus 64 --set parallel.tensor=8 --set parallel.sequence=true
has err 'replicas with ZeRO-1'
run 2 fit
has err 'fit takes one of SCENARIO, --megatron and --hf'
run 2 fit "$scenario" --hf "$config"
run 2 fit "$scenario" --gpus 8
has err "--gpus is for --megatron and --hf"

run 0 simulate --megatron "$arguments" --gpus 32
has out ': FITS (foretrain'
has out 'Where the step goes'
has err 'assumed  4 hosts dgx-h100'
run 0 simulate --megatron "$arguments" --gpus 32 --json
is_json out
cp out by-arguments
# shellcheck disable=SC2086  # words of a command line
run 0 import megatron --gpus 32 --out run.yaml --force -- $arguments
run 0 simulate run.yaml --json
python3 - by-arguments out <<'SAME' || fail 'an import on the way forecasts otherwise than a file'
import json, sys
direct, by_file = (json.load(open(name)) for name in sys.argv[1:])
assert direct["step"] == by_file["step"] and direct["memory"] == by_file["memory"]
SAME
run 0 simulate --hf "$config" --gpus 64 --set parallel.tensor=8 --set parallel.sequence=true \
  --engine event
has out 'Busiest links'
run 0 simulate --hf "$config" --gpus 8
has out 'MAY NOT FIT'
run 0 simulate --megatron "$arguments" --host dgx-a100
has out 'NVIDIA DGX A100'
run 2 simulate
has err 'simulate takes one of SCENARIO, --megatron and --hf'
run 2 simulate "$scenario" --megatron "$arguments"
run 2 simulate "$scenario" --host dgx-a100
has err "--host is for --megatron and --hf"
run 2 simulate --hf "$config" --set parallel.tensr=8
has err "did you mean 'parallel.tensor'"
run 2 simulate --hf nowhere.json
has err 'nowhere.json'

# A family that is not known is read as its nearest, or by a row of one's own; both say what they do.
mkdir -p my_model mine
sed 's/"model_type": "llama"/"model_type": "my_llama"/' "$config" >my_model/config.json
run 2 fit --hf my_model/config.json --gpus 64
has err "model_type: 'my_llama' is not understood; --as llama"
run 0 fit --hf my_model/config.json --as llama --gpus 64 --set parallel.tensor=8
has err "assumed  read as llama (--as), not as 'my_llama'"
has out 'my-model'
run 2 fit run.yaml --as llama
has err '--as stands beside --hf'
run 0 import hf my_model/config.json --as llama
has out 'name: my-model'
printf 'schema: 1\nfamilies:\n  - {type: my_llama, like: llama}\n' >mine/families.yaml
run 0 import hf my_model/config.json --catalog mine
has err '8030261248 parameters'

# Names of people and hubs.
run 0 init hub.yaml --model Qwen/Qwen2.5-7B-Instruct --device h100-sxm5-80gb --gpus 8
has err 'assumed  qwen2-7b, which has the shape of Qwen/Qwen2.5-7B-Instruct'
has hub.yaml 'model: qwen2-7b'
run 2 init hub2.yaml --model Qwen/Qwen3-9B --device h100-sxm5-80gb --gpus 8
has err "no catalog has the model 'Qwen3-9B'"
run 0 explain --megatron "$fixtures/llama3-8b-torchrun.sh" step
has out 'MFU'
run 0 explain --hf "$config" --gpus 64 --set parallel.tensor=8 --set parallel.sequence=true
has out 'Quantities of this forecast'
run 2 explain --hf "$config" --gpus 64 mfuu
run 2 explain "$scenario" step --hf "$config"
has err 'explain takes one of SCENARIO, --megatron and --hf'

# --- export -------------------------------------------------------------------------------------
# A plan that cannot run is no launch file.
run 3 export megatron "$root/scenarios/llama3-8b-8xh100.yaml" --set training.micro_batch=64 \
  --set memory.recompute=none -o never.sh
has err 'infeasible: '
[[ ! -e never.sh ]] || fail "a plan that does not fit was exported"
for file in "$root"/scenarios/*.yaml; do
  case $file in *-lora-* | *-sft-*) continue ;; esac # refused, as has no place among arguments
  run 0 export megatron "$file" --out launch.sh --force
  bash -n launch.sh || fail "bash does not read the script of $file"
  has launch.sh '# Not in this file: the machine'
  host=$(sed -n 's/.*Not in this file: the machine, [0-9]* x \([^ ]*\) on.*/\1/p' launch.sh)
  run 0 import megatron launch.sh --host "$host"
done
run 0 export sbatch "$scenario" --out run.slurm
bash -n run.slurm || fail 'bash does not read run.slurm'
has run.slurm '#SBATCH --nodes=128'
has run.slurm '# Time limit: all steps at the slow end'
run 0 export sbatch "$root/scenarios/llama3.1-405b-16384xh100-operations.yaml" --out run.slurm --force
has run.slurm '90th percentile of the run with its interruptions'
small=$root/scenarios/llama3-8b-8xh100.yaml
run 0 export deepspeed "$small" --set parallel.zero=3 --set parallel.tensor=1 \
  --set parallel.sequence=false -o ds.json
is_json ds.json
has err 'omitted   the model, llama3-8b'
run 0 export torchtitan "$small" --set parallel.zero=3 -o titan.toml
python3 -c 'import sys, tomllib
config = tomllib.load(open(sys.argv[1], "rb"))
assert config["parallelism"]["tensor_parallel_degree"] == 2, config
assert config["model"] == {"name": "llama3", "flavor": "8B"}, config' titan.toml ||
  fail 'tomllib does not read titan.toml'
run 0 export nanotron "$small" -o nano.yaml
python3 -c 'import sys, yaml
config = yaml.safe_load(open(sys.argv[1]))
assert config["parallelism"]["tp"] == 2, config
assert config["model"]["model_config"]["hidden_size"] == 4096, config' nano.yaml ||
  fail 'yaml does not read nano.yaml'
run 2 export torchtitan "$small"
has err 'torchtitan cannot represent: parallel.zero: 1'
run 2 export nanotron "$scenario"
has err 'memory.recompute.granularity: selective (nanotron has none and full)'
run 2 export megatron "$small" --set parallel.schedule=gpipe --set parallel.pipeline=2 \
  --set parallel.tensor=1 --set parallel.sequence=false
has err 'schedule gpipe'

((failures == 0)) || { echo "$failures checks failed" >&2 && exit 1; }
