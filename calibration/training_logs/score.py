#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""score.py FORETRAIN FOLDER [-v]: reads the logs of FOLDER/index.yaml with `foretrain import log`
and compares what it says with the answers there. Prints the share of right ones by field; with -v
every wrong one. Exits 1 where a share is below 95 %. Answers of an index: see training-logs.md."""
import json
import pathlib
import re
import subprocess
import sys

import yaml

# Field of ours: the answers that may tell it, with a factor to our unit.
MEDIAN = [("step_time_s_median", 1), ("iter_time_s_median", 1), ("last_step_time_s_median", 1),
          ("step_time_s_from_tgs", 1), ("step_time_s_from_stamps_median", 1),
          ("step_time_s_from_curr_samples", 1), ("step_time_s_from_elapsed_median", 1)]
RECORDS = ["iteration_lines", "step_lines", "iter_lines", "timer_lines", "step_blocks", "batch_blocks", "logged_steps",
           "train_loss_lines", "lines", "records"]
DISTINCT = ["distinct_iterations", "distinct_steps"]
MEMORY = [("peak_max_allocated_MB", 2**20), ("peak_MaxMemAllocated_GB", 2**30), ("peak_memory_GiB", 2**30),
          ("peak_active_GiB", 2**30), ("reserved_GiB", 2**30), ("peak_memory_MiB", 2**20), ("peak_memory_bytes", 1),
          ("peak_reserved_bytes_printed", 1), ("peak_memory_MB", 1e6), ("peak_reserved_mem_GB", 1e9)]
MEMORY_GB = {"litgpt": 1e9, "XTuner": 2**30}
PLAN = {"tensor": ["tp"], "pipeline": ["pp"], "data": ["dp"], "gpus": ["world_size"],
        "micro_batch": ["micro_batch", "micro_batch_size"], "accumulation": ["gas", "gradient_accumulation_steps"],
        "global_batch": ["global_batch", "global_batch_size"], "layers": ["num_layers", "n_layer"],
        "hidden": ["hidden_size", "n_embd"],
        "sequence": ["seq_len", "max_seq_length", "max_sequence_length", "block_size"], "precision": ["dtype"]}
OTHER = ("Kineto", "Nsight Systems")  # traces
NAMES = {"olmo": "olmo", "composerllmfoundry": "composer", "mlperfmllog": "mlperf", "wb": "wandb"}
PRECISIONS = {"bfloat16": "bf16", "float16": "fp16"}


def plain(name):
    text = re.sub(r"[^a-z0-9]", "", name.lower())
    return NAMES.get(text, text)


def close(found, true, share):
    return found is not None and abs(float(found) - float(true)) <= share * abs(float(true)) + 1e-12


def checks(entry, said):
    """(field, found, true, right) for each answer of a file."""
    answers = entry["answers"]
    step = said["step_time_s"] or {}
    # LitGPT's lines are micro-batches: their times and number are not those of steps.
    micro = entry["framework"] == "litgpt"
    timed = next(((answers[k] * f) for k, f in MEDIAN if isinstance(answers.get(k), (int, float))
                  and not (micro and k.startswith("iter_time"))), None)
    if timed is not None:
        yield "median", step.get("median"), timed, close(step.get("median"), timed, 0.01)
    counts = [answers[k] for k in RECORDS + DISTINCT if k in answers and not (micro and k == "iter_lines")]
    if counts:
        yield "iterations", said["iterations"], counts, said["iterations"] in counts
    memory = next((answers[k] * f for k, f in MEMORY if k in answers), None)
    if "peak_memory_GB" in answers:
        memory = answers["peak_memory_GB"] * MEMORY_GB[entry["framework"]]
    if memory is not None:
        yield "memory", said["memory_max_bytes"], memory, close(said["memory_max_bytes"], memory, 0.001)
    for name in [k for k in answers if re.match(r"(tokens_per_s_per_(gpu|device)|tgs|tps_per_gpu|tps_per_device)(_median)?(_all)?$", k)
                 and answers[k] is not None]:
        yield "tokens", said["tokens_per_s_per_gpu"], answers[name], close(said["tokens_per_s_per_gpu"], answers[name], 0.01)
    for field, keys in PLAN.items():
        true = next((answers[k] for k in keys if answers.get(k) is not None), None)
        if true is None:
            continue
        true = true[-1] if isinstance(true, list) else true
        true = PRECISIONS.get(true, true)
        yield "plan", f"{field} {said['plan'][field]}", true, str(said["plan"][field]) == str(true) or (
            field != "precision" and close(said["plan"][field], float(true), 0))
    if entry["framework"] != "OOM":
        yield "format", said["format"], entry["framework"], plain(said["format"] or "") == plain(entry["framework"])
    if entry.get("n_gpus") and said["plan"]["gpus"]:  # where the log does not say, null is right
        yield "gpus", said["plan"]["gpus"], entry["n_gpus"], said["plan"]["gpus"] == entry["n_gpus"]
    if entry["framework"] == "OOM":
        yield "events", said["event_counts"], "out-of-memory", said["event_counts"]["out-of-memory"] > 0


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    right, total, files, whole = {}, {}, 0, 0
    for entry in yaml.safe_load((folder / "index.yaml").read_text())["files"]:
        if entry["framework"] in OTHER:
            continue
        run = subprocess.run([program, "import", "log", folder / entry["file"], "--json"], capture_output=True, text=True)
        files += 1
        if run.returncode != 0:
            expected = [c for c in checks(entry, {"step_time_s": None, "iterations": None, "memory_max_bytes": None, "format": None,
                                                  "tokens_per_s_per_gpu": None, "event_counts": {"out-of-memory": 0},
                                                  "plan": dict.fromkeys(PLAN)})]
            print(f"refused: {entry['file']}: {run.stderr.strip()[:120]}" if "-v" in sys.argv else "", end="\n" if "-v" in sys.argv else "")
        else:
            expected = list(checks(entry, json.loads(run.stdout)))
        for field, found, true, ok in expected:
            total[field] = total.get(field, 0) + 1
            right[field] = right.get(field, 0) + ok
            if not ok and "-v" in sys.argv:
                print(f"{entry['file'][6:46]:40} {field}: {found}, should be {true}")
        whole += all(c[3] for c in expected)
    for field in sorted(total):
        print(f"{field:12} {right[field]:4} of {total[field]:4}  {100 * right[field] / total[field]:5.1f} %")
    print(f"{'whole files':12} {whole:4} of {files:4}  {100 * whole / files:5.1f} %")
    return 0 if all(right[f] >= 0.95 * total[f] for f in total) else 1


sys.exit(main())
