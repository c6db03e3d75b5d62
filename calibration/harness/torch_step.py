#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times whole training steps and attention kernels with PyTorch and writes measured records.

One GPU, or `torchrun --nproc-per-node N torch_step.py ...` for DDP or FSDP. Records go to standard
output (or --out) in the format of calibration/measured/runs.yaml, so that
`foretrain validate --runs FILE` compares its forecasts with them; kernels go to --kernels as JSON
Lines. Without PyTorch or a GPU it says so and exits with 2.
"""
import argparse
import gc
import json
import os
import statistics
import sys
import time

SIZES = {  # layers, hidden, heads, key-value heads, ffn, vocabulary; GPT-3 paper and Llama papers
    "gpt-125m": (12, 768, 12, 12, 3072, 50304),
    "gpt-350m": (24, 1024, 16, 16, 4096, 50304),
    "gpt-1.3b": (24, 2048, 16, 16, 8192, 50304),
    "gpt-2.7b": (32, 2560, 32, 32, 10240, 50304),
    "gpt-6.7b": (32, 4096, 32, 32, 16384, 50304),
    "llama-1b": (16, 2048, 32, 8, 8192, 128256),
    "llama-3b": (28, 3072, 24, 8, 8192, 128256),
    "llama-7b": (32, 4096, 32, 32, 11008, 32000),
}


def say(text):
    print(f"torch_step: {text}", file=sys.stderr, flush=True)


def check_lists(parser, options, legal, numbers):
    """Ends with an error where a list has a value that is not legal, or no whole number."""
    for flag, values in legal.items():
        for value in getattr(options, flag).split(","):
            if value not in values:
                parser.error(f"--{flag}: '{value}' is not one of {', '.join(sorted(values))}")
    for flag in numbers:
        for value in getattr(options, flag).split(","):
            if not value.isdigit() or int(value) < 1:
                parser.error(f"--{flag.replace('_', '-')}: '{value}' is not a whole number >= 1")


def read_arguments(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--models", default="gpt-125m,gpt-350m,gpt-1.3b,llama-1b,llama-3b")
    parser.add_argument("--sequences", default="1024,2048,4096,8192")
    parser.add_argument("--micro-batches", default="1,2,4,8,16")
    parser.add_argument("--recompute", default="none,full")
    parser.add_argument("--attention", default="flash,unfused")
    parser.add_argument("--parallel", choices=["none", "ddp", "fsdp"], default="none",
                        help="how ranks share the work, under torchrun")
    parser.add_argument("--steps", type=int, default=8, help="timed steps of each run")
    parser.add_argument("--budget", type=float, default=300.0, help="seconds for all runs")
    parser.add_argument("--stack", default="fsdp2", help="stack profile that the records name")
    parser.add_argument("--gpu", help="device as measured records call it; default: by its name")
    parser.add_argument("--out", help="file for records; default: standard output")
    parser.add_argument("--kernels", help="file for attention and optimizer kernels")
    options = parser.parse_args(arguments)
    check_lists(parser, options,
                {"models": SIZES, "recompute": ("none", "full"), "attention": ("flash", "unfused")},
                ("sequences", "micro_batches"))
    return options


def configurations(options):
    """Every combination, so ordered that a budget cuts the dear ones of each model last."""
    runs = []
    for model in options.models.split(","):
        for sequence in map(int, options.sequences.split(",")):
            for micro in map(int, options.micro_batches.split(",")):
                for recompute in options.recompute.split(","):
                    for attention in options.attention.split(","):
                        runs.append((model, sequence, micro, recompute, attention))
    # Round robin over the models, from few tokens to many.
    runs.sort(key=lambda run: (run[1] * run[2], run[3], run[4], run[0]))
    return runs


def record(run, gpu, place, measured, memory, options, versions):
    """One measured record as a dictionary with the fields of runs.yaml."""
    model, sequence, micro, recompute, attention = run
    layers, hidden, heads, kv_heads, ffn, vocabulary = SIZES[model]
    rank_count, per_host = place
    llama = model.startswith("llama")
    zero = {"none": None, "ddp": None, "fsdp": "fsdp2"}[options.parallel]
    return {
        "id": f"harness-{model}-s{sequence}-b{micro}-{recompute}-{attention}-{rank_count}g",
        "confidence": "A", "targets": ["time", "memory"], "missing": [],
        "source": f"torch_step.py, {versions}", "origin": "harness", "task": "pretrain",
        "stack": options.stack,
        "model": {"name": model, "layers": layers, "hidden": hidden, "heads": heads,
                  "kv_heads": kv_heads, "ffn_hidden": ffn, "vocab": vocabulary, "seq": sequence,
                  "gated_mlp": llama, "tied_embeddings": False, "moe": None,
                  "arch": "llama" if llama else "gpt", "head_dim": hidden // heads},
        "gpu": gpu, "gpus": rank_count, "gpus_per_node": per_host, "network": None,
        "parallel": {"tp": 1, "sp": False, "pp": 1, "vpp": None, "dp": rank_count, "cp": 1,
                     "ep": 1, "zero": zero},
        "micro_batch": micro, "global_batch": micro * rank_count, "grad_accum": 1,
        "precision": "bf16", "recompute": recompute,
        "attention_kernel": "flash" if attention == "flash" else "unfused",
        "compile": False,
        "measured": measured, "oom": memory is None and measured["iteration_s"] is None,
        "memory_unit": "GiB", "memory_kind": "torch max_allocated",
        "flops_convention": "none_tokens_only",
        "notes": "random tokens, dropout 0, AdamW (fused), fp32 weights under bf16 autocast",
    }


def build_model(torch, run):
    """GPT (layer norm, learned positions, GELU) or Llama (RMS norm, rotary, gated SiLU)."""
    from torch import nn
    from torch.nn import functional
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.checkpoint import checkpoint

    name, sequence, _, recompute, attention_kind = run
    layers, hidden, heads, kv_heads, ffn, vocabulary = SIZES[name]
    llama = name.startswith("llama")
    head = hidden // heads
    backend = SDPBackend.FLASH_ATTENTION if attention_kind == "flash" else SDPBackend.MATH

    class RmsNorm(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(hidden))

        def forward(self, x):
            scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-5)
            return (x.float() * scale).type_as(x) * self.weight

    def norm():
        return RmsNorm() if llama else nn.LayerNorm(hidden)

    def rotate(x, cosine, sine):
        half = x.shape[-1] // 2
        turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
        return x * cosine + turned * sine

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = norm(), norm()
            self.qkv = nn.Linear(hidden, (heads + 2 * kv_heads) * head, bias=not llama)
            self.out = nn.Linear(hidden, hidden, bias=not llama)
            self.up = nn.Linear(hidden, ffn * (2 if llama else 1), bias=not llama)
            self.down = nn.Linear(ffn, hidden, bias=not llama)

        def attend(self, x, cosine, sine):
            batch, length, _ = x.shape
            q, k, v = self.qkv(x).split([heads * head, kv_heads * head, kv_heads * head], dim=-1)
            q = q.view(batch, length, heads, head).transpose(1, 2)
            k = k.view(batch, length, kv_heads, head).transpose(1, 2)
            v = v.view(batch, length, kv_heads, head).transpose(1, 2)
            if llama:
                q, k = rotate(q, cosine, sine), rotate(k, cosine, sine)
            if kv_heads != heads:
                k = k.repeat_interleave(heads // kv_heads, dim=1)
                v = v.repeat_interleave(heads // kv_heads, dim=1)
            q, k = q.type_as(v), k.type_as(v)
            with sdpa_kernel(backend):
                y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(y.transpose(1, 2).reshape(batch, length, hidden))

        def feed(self, x):
            if not llama:
                return self.down(functional.gelu(self.up(x)))
            gate, up = self.up(x).chunk(2, dim=-1)
            return self.down(functional.silu(gate) * up)

        def forward(self, x, cosine, sine):
            x = x + self.attend(self.norm1(x), cosine, sine)
            return x + self.feed(self.norm2(x))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(vocabulary, hidden)
            self.positions = None if llama else nn.Embedding(sequence, hidden)
            self.layers = nn.ModuleList(Layer() for _ in range(layers))
            self.norm = norm()
            self.head = nn.Linear(hidden, vocabulary, bias=False)
            places = torch.arange(sequence).float()[:, None]
            rates = 10000.0 ** (-torch.arange(0, head, 2).float() / head)
            angles = torch.cat((places * rates, places * rates), dim=-1)
            self.register_buffer("cosine", angles.cos(), persistent=False)
            self.register_buffer("sine", angles.sin(), persistent=False)

        def forward(self, tokens, targets):
            x = self.embedding(tokens)
            if self.positions is not None:
                x = x + self.positions.weight[: tokens.shape[1]]
            for layer in self.layers:
                if recompute == "full":
                    x = checkpoint(layer, x, self.cosine, self.sine, use_reentrant=False)
                else:
                    x = layer(x, self.cosine, self.sine)
            scores = self.head(self.norm(x))
            return functional.cross_entropy(scores.flatten(0, 1).float(), targets.flatten())

    return Model()


def share(torch, model, options, device):
    if options.parallel == "ddp":
        return torch.nn.parallel.DistributedDataParallel(model, device_ids=[device.index])
    if options.parallel == "fsdp":
        from torch.distributed.fsdp import fully_shard
        for layer in model.layers:
            fully_shard(layer)
        fully_shard(model)
    return model


def run_steps(torch, run, options, device):
    """Median seconds of a step and peak GiB (allocated, reserved)."""
    name, sequence, micro, _, _ = run
    vocabulary = SIZES[name][5]
    torch.manual_seed(1)
    with torch.device(device):  # a model of billions of weights takes seconds to fill on a host
        model = build_model(torch, run)
    model = share(torch, model, options, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(vocabulary, (micro, sequence + 1), device=device)
    seconds = []
    for step in range(options.steps + 3):
        torch.cuda.synchronize(device)
        if step == 3:  # optimizer states and caches are there by now
            torch.cuda.reset_peak_memory_stats(device)
        begin = time.perf_counter()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize(device)
        if step >= 3:
            seconds.append(time.perf_counter() - begin)
    if not bool(torch.isfinite(loss)):
        raise RuntimeError(f"{run}: the loss is {float(loss)}")
    gib = 1024.0**3
    return (statistics.median(seconds), torch.cuda.max_memory_allocated(device) / gib,
            torch.cuda.max_memory_reserved(device) / gib)


def time_kernel(torch, work, repeats=20):
    for _ in range(3):
        work()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    microseconds = []
    for _ in range(repeats):
        begin.record()
        work()
        end.record()
        end.synchronize()
        microseconds.append(begin.elapsed_time(end) * 1e3)
    return statistics.median(microseconds)


def bench_attention(torch, device, gpu, out):
    from torch.nn import functional
    from torch.nn.attention import SDPBackend, sdpa_kernel
    for heads, size in ((32, 128), (16, 128), (8, 128), (4, 128), (16, 64), (12, 64)):
        for length in (512, 1024, 2048, 4096, 8192, 16384):
            batch = max(1, 16384 // length)
            shape = (batch, heads, length, size)
            q, k, v = (torch.randn(shape, device=device, dtype=torch.bfloat16, requires_grad=True)
                       for _ in range(3))
            gradient = torch.randn(shape, device=device, dtype=torch.bfloat16)
            with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
                y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
                forward = time_kernel(torch, lambda: functional.scaled_dot_product_attention(
                    q, k, v, is_causal=True))
                backward = time_kernel(torch, lambda: torch.autograd.grad(
                    y, (q, k, v), gradient, retain_graph=True))
            out.write(json.dumps({
                "record": "attention", "gpu": gpu, "dtype": "bf16", "causal": True,
                "batch": batch, "heads": heads, "length": length, "head_dim": size,
                "forward_us": forward, "backward_us": backward}) + "\n")


def bench_optimizer(torch, device, gpu, out):
    for count in (1 << 20, 1 << 24, 1 << 27):
        weight = torch.nn.Parameter(torch.randn(count, device=device))
        weight.grad = torch.randn(count, device=device)
        optimizer = torch.optim.AdamW([weight], lr=1e-4, fused=True)
        out.write(json.dumps({
            "record": "optimizer", "gpu": gpu, "kernel": "adamw-fused", "dtype": "fp32",
            "parameters": count, "time_us": time_kernel(torch, optimizer.step)}) + "\n")


def measure_all(torch, options, device, place, out):
    versions = (f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, "
                f"{time.strftime('%Y-%m-%d', time.gmtime())}")
    gpu = options.gpu or torch.cuda.get_device_name(device)
    begin = time.monotonic()
    first = int(os.environ.get("RANK", "0")) == 0
    for run in configurations(options):
        used = torch.tensor([time.monotonic() - begin], device=device)
        if options.parallel != "none":  # all ranks stop together
            torch.distributed.broadcast(used, 0)
        if float(used) > options.budget:
            say("the budget is used up; what is left was not measured")
            return
        memory = None
        measured = {"iteration_s": None, "memory_gb": None}
        try:
            seconds, allocated, reserved = run_steps(torch, run, options, device)
            memory = allocated
            measured = {"iteration_s": seconds, "memory_gb": allocated,
                        "memory_reserved_gb": reserved}
        except torch.cuda.OutOfMemoryError:
            if options.parallel != "none":
                raise  # the other ranks wait in a collective: nothing sound can follow
        gc.collect()
        torch.cuda.empty_cache()
        if first:
            entry = record(run, gpu, place, measured, memory, options, versions)
            out.write("- " + json.dumps(entry) + "\n")
            out.flush()
            say(f"{entry['id']}: " + (f"{measured['iteration_s'] * 1e3:.1f} ms"
                                      if memory else "out of memory"))


def main():
    options = read_arguments()
    try:
        import torch
    except ModuleNotFoundError:
        say("PyTorch is not installed")
        return 2
    if not torch.cuda.is_available():
        say("PyTorch sees no NVIDIA GPU here")
        return 2
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world > 1 and options.parallel == "none":
        say("several ranks need --parallel ddp or fsdp")
        return 2
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    torch.cuda.set_device(device)
    if options.parallel != "none":
        torch.distributed.init_process_group("nccl", device_id=device)
    out = open(options.out, "w", encoding="utf-8") if options.out else sys.stdout
    out.write("schema: 1\nruns:\n")
    place = (world, int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
    measure_all(torch, options, device, place, out)
    if options.kernels and int(os.environ.get("RANK", "0")) == 0:
        with open(options.kernels, "w", encoding="utf-8") as kernels:
            gpu = options.gpu or torch.cuda.get_device_name(device)
            bench_attention(torch, device, gpu, kernels)
            bench_optimizer(torch, device, gpu, kernels)
    if options.parallel != "none":
        torch.distributed.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
