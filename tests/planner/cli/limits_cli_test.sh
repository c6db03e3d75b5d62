#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/limits.md against the program: every line of its tables has a command here that shows it, or
# stands among those that no command can show.
# usage: limits_cli_test.sh FORETRAIN_PROGRAM REPOSITORY_ROOT
# shellcheck source=tests/planner/cli/cli_common.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/cli_common.sh"
page=$root/docs/limits.md
small=$root/scenarios/llama3-8b-8xh100.yaml
dense=$root/scenarios/llama3.1-70b-1024xh100.yaml
large=$root/scenarios/llama3.1-405b-16384xh100.yaml
operated=$root/scenarios/llama3.1-405b-16384xh100-operations.yaml
served=$root/scenarios/serving/llama3.1-70b-8xh100.yaml
tuned=$root/scenarios/llama3.1-8b-sft-8xh100.yaml
images=$root/scenarios/qwen3-vl-4b-sft-8xh100.yaml
: >shown

# shows PHRASE CODE WORD ARGUMENTS...: the page has the phrase, and the command says the word.
shows() {
  grep -qF -- "$1" "$page" || fail "docs/limits.md does not say: $1"
  grep -nF -- "$1" "$page" | cut -d: -f1 >>shown
  local status=0
  "$program" "${@:4}" >out 2>err </dev/null || status=$?
  ((status == $2)) || fail "status $status instead of $2: foretrain ${*:4}"
  tr -s ' \n' ' ' <out >flat
  tr -s ' \n' ' ' <err >>flat
  grep -qiF -- "$3" flat || fail "no '$3' from foretrain ${*:4}"
}
# stated PHRASE: how accurate something is, or what was never measured; no command shows it.
stated() {
  grep -qF -- "$1" "$page" || fail "docs/limits.md does not say: $1"
  grep -nF -- "$1" "$page" | cut -d: -f1 >>shown
}

# --- step time ----------------------------------------------------------------------------------
shows 'offloaded parameters below ZeRO-3' 3 'offloaded parameters below ZeRO-3 are not modelled' \
  simulate "$small" --set memory.offload=optimizer+parameters
shows 'Muon over ZeRO-2 and 3' 3 'is not modelled' \
  simulate "$small" --set training.optimizer=muon --set parallel.zero=3
shows 'unfused attention over context ranks' 3 'unfused attention over a ring of context ranks is not' \
  simulate "$small" --set memory.attention=unfused --set parallel.context=2
shows "collectives other than NCCL's" 3 'not modelled' simulate "$small" --set communication.backend=mpi
stated 'shared experts that overlap with dispatch'
stated 'within a few percent on the frameworks that were fitted'
shows 'scans of state-space mixers' 0 'chunked scans are extrapolated' \
  simulate "$small" --set model=nemotron-h-8b --set memory.recompute=none --full
shows 'computed where `training.images` states images' 0 'a vision tower of' simulate "$images" --full
stated 'come out 7 to 20 % too long'
shows 'the time to page them over PCIe is warned of and not in the step' 4 'that the step time does not include' \
  simulate "$tuned" --set memory.offload=paged --set cluster.gpus_per_host=1 --set parallel.zero=0 \
  --set training.sequence=4096 --full

# --- graphs, engines, networks --------------------------------------------------------------------
shows 'watts over a step are drawn' 0 'FITS' simulate "$small" --power power.csv
grep -q ',' power.csv || fail "no watts over the step"
shows 'refuse torch.nn.DataParallel' 2 'torch.nn.DataParallel' \
  export transformers "$tuned" --set parallel.processes=per-host
stated '`--engine event` simulates one step on its fabric'
shows 'NICs of several ports are modelled' 0 'ports in use' \
  show fabric "$dense" --set cluster.fabric.nic_ports=2
stated 'kernels, copies and training steps were measured with it on one H200'
printf '#!/bin/bash\nargs() { echo --num-layers 24; }\ntorchrun pretrain_gpt.py $(args)\n' >launch.sh
shows 'shell functions are not read' 2 'holds no launch' import megatron launch.sh
shows "not a subnet manager's tables" 0 'written for 128 GPUs at most' export simgrid "$dense"
shows 'a plan that cannot run is refused' 3 'infeasible' \
  export megatron "$small" --set training.micro_batch=64 --set memory.recompute=none

# --- sizes --------------------------------------------------------------------------------------
shows '4,000,000 passes' 2 'at most 4000000 can be laid out' \
  simulate "$large" --gantt gantt.svg --set training.global_batch=16777216
shows '20,000,000 tasks over all replicas' 3 'at most 20000000 tasks can be' \
  simulate "$large" --engine event --set simulation.unfold=true --set training.global_batch=131072
stated '60,000,000 links crossed'
shows '200,000 interruptions' 3 'a run has more than 200,000 events' \
  simulate "$operated" --set training.tokens='1000 T' \
  --set operations.mean_time_between_interruptions='60 min' --full
shows '100,000,000 combinations' 2 'at most 100,000,000 in 50,000 can be searched' \
  plan "$small" --vary training.micro_batch="$(seq -s, 1 1000)" \
  --vary training.global_batch="$(seq -s, 1 1000)" --vary parallel.data="$(seq -s, 1 200)"
shows '20,000,000 requests' 2 'more than 20,000,000 requests' serve "$served" --set serving.duration='20000 h'
stated '500,000 jobs that wait at a time'
shows 'an all-to-all' 2 'no algorithm' \
  collective --op all_to_all --host dgx-h100 --hosts 8192 --sizes 1GiB
head -c 1100000 /dev/zero | tr '\0' '#' >big.yaml
shows 'a scenario, configuration or catalog file' 2 'larger than 1048576 bytes' simulate big.yaml

# Every line of the tables on limits and on sizes is among them.
python3 - "$page" <<'PYTHON' || fail "a line of docs/limits.md is held by nothing"
import re, sys
shown = {int(line) for line in open("shown")}
section, bad = "", []
for number, line in enumerate(open(sys.argv[1]), 1):
    if line.startswith("## "):
        section = line.strip("# \n")
    row = line.startswith("|") and not re.match(r"\|[-| ]*\|$", line) and not re.match(r"\| (part|what) \|", line)
    if row and section in ("The program as a whole", "Sizes") and number not in shown:
        bad.append(line.split("|")[1].strip())
print("\n".join(bad))
sys.exit(bool(bad))
PYTHON

((failures == 0)) || exit 1
