#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Collectives on fabrics beside what was published: fabric_cases.py PROGRAM prints the table of
topologies/README.md. Fabric presets are fitted on sweeps of some of these sources, the effect of
hashed routes on none."""
import json
import statistics
import subprocess
import sys

NDR = ["--host", "dgx-h100", "--fabric", "ib-ndr", "--sizes", "8GiB"]
ROCE = ["--scenario", "scenarios/llama3.1-405b-16384xh100.yaml", "--hosts", "128",
        "--topology", "leaf-spine", "--algorithm", "ring", "--sizes", "4GiB", "--routing", "ecmp"]
NCCL_309 = "nccl-tests issue 309"
# what, bus bandwidth in GB/s as published, source, arguments
RATES = [
    ("all-reduce, 2 hosts", 466.7, NCCL_309, NDR + ["--hosts", "2"]),
    ("all-reduce, 2 hosts, ring forced", 392.5, NCCL_309,
     NDR + ["--hosts", "2", "--algorithm", "ring"]),
    ("all-reduce, 4 hosts", 324.3, NCCL_309, NDR + ["--hosts", "4"]),
    ("all-reduce, 4 hosts, DGX SuperPOD", 366.0, "NVIDIA GTC 2024 S62129", NDR + ["--hosts", "4"]),
    ("all-reduce, 8 hosts", 320.6, NCCL_309, NDR + ["--hosts", "8"]),
    ("all-reduce, 128 hosts, DGX SuperPOD", 368.0, "NVIDIA GTC 2024 S62129",
     NDR + ["--hosts", "128"]),
    ("all-reduce, 32 hosts, EFA", 321.3, "aws-gpu-communication-benchmark",
     ["--host", "aws-p5", "--fabric", "efa-p5", "--sizes", "8GiB", "--hosts", "32"]),
    ("all-to-all, 32 hosts, EFA", 40.9, "aws-gpu-communication-benchmark",
     ["--host", "aws-p5", "--fabric", "efa-p5", "--sizes", "2GiB", "--hosts", "32",
      "--op", "all_to_all"]),
]
# what, published factor, source, queue pairs before and after
FACTORS = [
    ("all-reduce over ECMP, 2 to 16 queue pairs per pair of GPUs", 1.4,
     "Meta 2024 (up to, E-ECMP with more queue pairs)", 2, 16),
    ("the same, 4 to 16", 1.4, "the same", 4, 16),
]
SEEDS = range(1, 9)


def bus_bandwidth(program, arguments):
    out = subprocess.run([program, "collective", "--json", *arguments], check=True,
                         capture_output=True, text=True).stdout
    return json.loads(out)["rows"][-1]["busbw_bytes_per_s"] / 1e9


def over_seeds(program, pairs):
    return statistics.median(
        bus_bandwidth(program, ROCE + ["--set", f"simulation.connections={pairs}",
                                       "--seed", str(seed)]) for seed in SEEDS)


def row(what, published, said, source, digits):
    print(f"| {what} | {published:.{digits}f} | {said:.{digits}f} | "
          f"{100 * (said / published - 1):+.0f} % | {source} |")


def main(program):
    print("| what | published | here | error | source |\n|---|---|---|---|---|")
    for what, published, source, arguments in RATES:
        row(what, published, bus_bandwidth(program, arguments), source, 0)
    for what, published, source, before, after in FACTORS:
        row(what, published, over_seeds(program, after) / over_seeds(program, before), source, 2)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: fabric_cases.py PROGRAM")
    main(sys.argv[1])
