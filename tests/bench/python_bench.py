#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long forecasts with changed keys take from Python.

usage: PYTHONPATH=build/PRESET/python python_bench.py SCENARIO [CALLS]   (default: 100,000)
"""
import sys
import time

import foretrain


def settings_of(call):
    """Plans that differ from one call to the next, 256 in all."""
    return {
        "communication.overlap.gradients": (True, False)[call % 2],
        "training.micro_batch": (1, 2)[call // 2 % 2],
        "training.sequence": (2048, 4096, 6144, 8192)[call // 4 % 4],
        "training.global_batch": 512 + 256 * (call // 16 % 16),
    }


def main():
    scenario, calls = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    foretrain.simulate(scenario, set=settings_of(0))
    feasible = 0
    wall, processor = time.perf_counter(), time.process_time()
    for call in range(calls):
        step = foretrain.simulate(scenario, set=settings_of(call)).step
        feasible += step is not None and step.time_s > 0
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"{calls:,} calls, step.time_s read: {processor:.2f} s of the processor, {wall:.2f} s in all; "
          f"{processor / calls * 1e6:.1f} us each; {feasible:,} with a step time")


if __name__ == "__main__":
    main()
