#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times steps of the Trainer of Hugging Face, full and with LoRA, and writes measured records.

Models have published shapes, random weights and random tokens. One GPU. Records go to standard
output (or --out) in the format of calibration/measured/runs.yaml. Without PyTorch, transformers
and PEFT, or without a GPU, it says so and exits with 2.
"""
import argparse
import gc
import json
import sys
import time

from torch_step import check_lists

SIZES = {  # class of the model, layers, hidden, heads, key-value heads, width of a head, ffn,
           # vocabulary, tied embeddings: published configurations
    "llama-3.2-1b": ("llama", 16, 2048, 32, 8, 64, 8192, 128256, True),
    "llama-3.2-3b": ("llama", 28, 3072, 24, 8, 128, 8192, 128256, True),
    "qwen3-0.6b": ("qwen3", 28, 1024, 16, 8, 128, 3072, 151936, True),
    "qwen3-4b": ("qwen3", 36, 2560, 32, 8, 128, 9728, 151936, True),
    "mistral-7b": ("mistral", 32, 4096, 32, 8, 128, 14336, 32768, False),
}
METHODS = {  # precision and fine_tuning of the record
    "full": ("bf16 (pure, optimizer states bf16)", None),
    "mixed": ("bf16", None),
    "lora": ("bf16", {"adapter": "lora", "rank": 16, "dropout": 0.0,
                      "targets": ["query", "key", "value", "projection", "gate", "up", "fc2"]}),
}
WARM_UP = 3  # steps until optimizer states and caches are there


def say(text):
    print(f"trainer_step: {text}", file=sys.stderr, flush=True)


def read_arguments(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--models", default=",".join(SIZES))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--sequences", default="1024,4096")
    parser.add_argument("--micro-batches", default="1,4")
    parser.add_argument("--checkpointing", default="none,full")
    parser.add_argument("--steps", type=int, default=6, help="timed steps of each run")
    parser.add_argument("--budget", type=float, default=120.0, help="seconds for all runs")
    parser.add_argument("--gpu", help="device as measured records call it; default: by its name")
    parser.add_argument("--out", help="file for records; default: standard output")
    options = parser.parse_args(arguments)
    check_lists(parser, options,
                {"models": SIZES, "methods": METHODS, "checkpointing": ("none", "full")},
                ("sequences", "micro_batches"))
    return options


def configurations(options):
    """Every combination, few tokens first, models in turn, so that a budget cuts the dear ones."""
    runs = [(model, method, sequence, micro, recompute)
            for model in options.models.split(",") for method in options.methods.split(",")
            for sequence in map(int, options.sequences.split(","))
            for micro in map(int, options.micro_batches.split(","))
            for recompute in options.checkpointing.split(",")]
    runs.sort(key=lambda run: (run[2] * run[3], SIZES[run[0]][2] * SIZES[run[0]][1]))
    return runs


def record(run, gpu, measured, versions):
    """One measured record as a dictionary with the fields of runs.yaml."""
    name, method, sequence, micro, recompute = run
    _, layers, hidden, heads, kv_heads, head_dim, ffn, vocabulary, tied = SIZES[name]
    precision, fine_tuning = METHODS[method]
    entry = {
        "id": f"trainer-{name}-{method}-s{sequence}-b{micro}-{recompute}",
        "confidence": "A", "targets": ["time", "memory"], "missing": [],
        "source": f"trainer_step.py, {versions}", "origin": "harness", "task": "finetune",
        "stack": "hf-trainer",
        "model": {"name": name, "layers": layers, "hidden": hidden, "heads": heads,
                  "kv_heads": kv_heads, "head_dim": head_dim, "ffn_hidden": ffn,
                  "vocab": vocabulary, "seq": sequence, "gated_mlp": True,
                  "tied_embeddings": tied, "moe": None, "arch": "llama"},
        "gpu": gpu, "gpus": 1, "gpus_per_node": 1, "network": None,
        "parallel": {"tp": 1, "sp": False, "pp": 1, "vpp": None, "dp": 1, "cp": 1, "ep": 1,
                     "zero": 0},
        "micro_batch": micro, "global_batch": micro, "grad_accum": 1,
        "precision": precision, "recompute": recompute, "attention_kernel": "sdpa",
        "compile": False, "fused_kernels": ["optimizer"], "measured": measured, "oom": measured["iteration_s"] is None,
        "memory_unit": "GiB", "memory_kind": "torch max_allocated",
        "flops_convention": "none_tokens_only",
        "notes": "random weights and tokens, rows full, AdamW (fused), gradients clipped",
    }
    if fine_tuning:
        entry["fine_tuning"] = fine_tuning
    return entry


def build_model(torch, run, device):
    """The model as transformers has it, with adapters where the run has them."""
    from transformers import AutoConfig, AutoModelForCausalLM
    name, method, sequence, _, _ = run
    kind, layers, hidden, heads, kv_heads, head_dim, ffn, vocabulary, tied = SIZES[name]
    config = AutoConfig.for_model(
        kind, num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads,
        num_key_value_heads=kv_heads, head_dim=head_dim, intermediate_size=ffn,
        vocab_size=vocabulary, tie_word_embeddings=tied, use_cache=False,
        max_position_embeddings=max(sequence, 4096))
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(
            config, dtype=torch.float32 if method == "mixed" else torch.bfloat16,
            attn_implementation="sdpa")
    if method == "lora":
        from peft import LoraConfig, get_peft_model
        _, adapter = METHODS[method]
        model = get_peft_model(model, LoraConfig(
            r=adapter["rank"], lora_alpha=32, lora_dropout=adapter["dropout"],
            target_modules="all-linear", task_type="CAUSAL_LM"))
        model.enable_input_require_grads()
    return model


def run_steps(torch, run, options, device):
    """Mean seconds of a step and peak GiB (allocated, reserved), as the Trainer runs it."""
    import tempfile
    from transformers import Trainer, TrainerCallback, TrainingArguments
    name, _, sequence, micro, recompute = run
    torch.manual_seed(1)
    rows = torch.randint(SIZES[name][7], (micro * (options.steps + WARM_UP), sequence))
    data = [{"input_ids": row, "labels": row} for row in rows]
    clock = {}

    class Clock(TrainerCallback):
        def on_step_begin(self, args, state, control, **_):
            if state.global_step == WARM_UP:
                torch.cuda.synchronize(device)
                torch.cuda.reset_peak_memory_stats(device)
                clock["begin"] = time.perf_counter()

        def on_step_end(self, args, state, control, **_):
            if state.global_step == WARM_UP + options.steps:
                torch.cuda.synchronize(device)
                clock["end"] = time.perf_counter()

    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, per_device_train_batch_size=micro, bf16=True,
            max_steps=WARM_UP + options.steps, gradient_checkpointing=recompute == "full",
            gradient_checkpointing_kwargs={"use_reentrant": False}, optim="adamw_torch_fused",
            save_strategy="no", report_to=[], disable_tqdm=True, logging_steps=10**6)
        Trainer(model=build_model(torch, run, device), args=arguments, train_dataset=data,
                callbacks=[Clock()]).train()
    gib = 1024.0**3
    return ((clock["end"] - clock["begin"]) / options.steps,
            torch.cuda.max_memory_allocated(device) / gib,
            torch.cuda.max_memory_reserved(device) / gib)


def measure(torch, run, options, device):
    """What a record says was measured; nulls where the run went out of memory."""
    try:
        seconds, allocated, reserved = run_steps(torch, run, options, device)
        return {"iteration_s": seconds, "memory_gb": allocated, "memory_reserved_gb": reserved}
    except torch.cuda.OutOfMemoryError:
        return {"iteration_s": None, "memory_gb": None}
    finally:
        gc.collect()
        torch.cuda.empty_cache()


def measure_all(torch, options, device, versions, out):
    gpu = options.gpu or torch.cuda.get_device_name(device)
    begin = time.monotonic()
    out.write("schema: 1\nruns:\n")
    for run in configurations(options):
        if time.monotonic() - begin > options.budget:
            say("the budget is used up; what is left was not measured")
            return
        entry = record(run, gpu, measure(torch, run, options, device), versions)
        out.write("- " + json.dumps(entry) + "\n")
        out.flush()
        seconds = entry["measured"]["iteration_s"]
        say(f"{entry['id']}: " + (f"{seconds * 1e3:.1f} ms" if seconds else "out of memory"))


def main():
    options = read_arguments()
    try:
        import peft
        import torch
        import transformers
    except ModuleNotFoundError as error:
        say(f"{error.name} is not installed")
        return 2
    if not torch.cuda.is_available():
        say("PyTorch sees no NVIDIA GPU here")
        return 2
    device = torch.device("cuda", 0)
    torch.cuda.set_device(device)
    versions = (f"transformers {transformers.__version__}, PEFT {peft.__version__}, PyTorch "
                f"{torch.__version__}, {time.strftime('%Y-%m-%d', time.gmtime())}")
    if options.out:
        with open(options.out, "w", encoding="utf-8") as out:
            measure_all(torch, options, device, versions, out)
    else:
        measure_all(torch, options, device, versions, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
