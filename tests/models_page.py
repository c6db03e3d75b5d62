#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/models.md: every model of the catalog on a few machines, forecast by the command line.

models_page.py BINARY ROOT            checks some rows, and that every model has one
models_page.py BINARY ROOT --update   writes the page
"""
import json
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

CHECKED = 12  # one model in so many is forecast again
SHARDED = ["--set", "parallel.zero=3"]
COLUMNS = [  # title, options of `foretrain init`, options of `foretrain simulate`
    ("QLoRA, 1 RTX 4090", ["--device", "rtx4090", "--gpus", "1", "--qlora", "16"], []),
    ("LoRA, 1 H100", ["--host", "dgx-h100", "--gpus", "1", "--lora", "16"], []),
    ("FSDP, 8 H100", ["--host", "dgx-h100", "--gpus", "8", "--all-weights"], SHARDED),
    ("FSDP, 8 B200", ["--host", "dgx-b200", "--gpus", "8", "--all-weights"], SHARDED),
    ("Megatron, 64 H100", ["--host", "dgx-h100", "--hosts", "8"], []),
    ("Megatron, 72 GB300", ["--host", "dgx-gb300", "--gpus", "72"], []),
]
HEAD = """# Models and machines

What fits where, and how fast: tokens per second and GPU of every model of the catalog, as `foretrain init` chooses the job and `foretrain simulate` forecasts it; sequences of 4,096 tokens, or as long as the model's positions.
Adapters of rank 16 (QLoRA, LoRA) and all weights on shards (FSDP) are trained by the Hugging Face Trainer with full recomputation; pre-training is the fastest plan of Megatron-Core that fits. A number in brackets is the GiB that one GPU would need, beyond what it has; a ? stands beside a plan that may not fit: as forecast it does not, at the lower end of its memory band it does; - is no plan that fits, or a model that is not modelled so: the command says why.
One machine of one's own: `foretrain init run.yaml --model qwen3-8b --device rtx4090 --gpus 1 --qlora 16`, then `foretrain simulate run.yaml`. Further models: `--model config.json` (Hugging Face), `foretrain show models`.

`tests/models_page.py` writes this page.

"""


def run(binary, *arguments, text=None):
    return subprocess.run([binary, *arguments], input=text, capture_output=True, text=True)


def cell(binary, model, options, settings):
    first = run(binary, "init", "-", "--model", model, *options)
    if first.returncode != 0:
        return "-"
    forecast = run(binary, "simulate", "-", "--json", *settings, text=first.stdout)
    if not forecast.stdout:
        return "-"
    answer = json.loads(forecast.stdout)
    if answer["feasible"]:
        memory = answer["memory"]
        risk = " ?" if memory["peak_bytes"] > memory["usable_bytes"] else ""
        return f"{answer['tokens_per_s_per_gpu']:,.0f}{risk}"
    rules = {reason["rule"] for reason in answer["reasons"]}
    if rules != {"out-of-memory"}:
        return "-"
    return f"({answer['memory']['peak_bytes'] / 2**30:,.0f})"


def row(binary, entry):
    name, size = entry
    cells = [cell(binary, name, *options) for _, *options in COLUMNS]
    return f"| {name} | {size} | " + " | ".join(cells) + " |"


def models(binary):
    """Names with their parameters ("8.19 B"), smallest first."""
    units = {"M": 1e6, "B": 1e9, "T": 1e12}
    catalog = json.loads(run(binary, "show", "models", "--json").stdout)
    found = []
    for entry in catalog["entries"]:
        number, unit = re.match(r"([\d.]+) ([MBT]) parameters", entry["summary"]).groups()
        found.append((float(number) * units[unit], entry["name"], f"{number} {unit}"))
    return [(name, size) for _, name, size in sorted(found)]


def main():
    binary, root = sys.argv[1], pathlib.Path(sys.argv[2])
    page = root / "docs/models.md"
    entries = models(binary)
    if "--update" in sys.argv:
        with ThreadPoolExecutor(2) as pool:
            rows = list(pool.map(lambda entry: row(binary, entry), entries))
        titles = ["model", "parameters"] + [title for title, *_ in COLUMNS]
        rule = ["---", "--:"] + ["--:"] * len(COLUMNS)
        table = "\n".join(["| " + " | ".join(titles) + " |", "|" + "|".join(rule) + "|"] + rows)
        page.write_text(HEAD + table + "\n")
        return 0
    written = page.read_text()
    lost = [name for name, _ in entries if f"| {name} |" not in written]
    wrong = [new for new in (row(binary, entry) for entry in entries[::CHECKED])
             if new not in written]
    for line in lost + wrong:
        print("docs/models.md is out of date:", line)
    if lost or wrong:
        print("tests/models_page.py BINARY ROOT --update writes it anew")
    return 1 if lost or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
