#!/bin/bash
NPROC_PER_NODE=4 swift sft --model Qwen/Qwen3-8B --max_length 2048 \
    --gradient_accumulation_steps $(expr 16 / 4) --deepspeed zero2
