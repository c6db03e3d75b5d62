#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the parts of torch_step.py that need neither PyTorch nor a GPU against what they promise."""
import importlib.util
import json
import pathlib
import subprocess
import sys
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "calibration/harness/torch_step.py"
SPEC = importlib.util.spec_from_file_location("torch_step", SCRIPT)
torch_step = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(torch_step)

NEEDED = ("id", "source", "gpu", "gpus", "model", "parallel", "micro_batch", "global_batch",
          "measured", "precision", "recompute")


class TorchStepTest(unittest.TestCase):
    def test_configurations_are_all_combinations_from_few_tokens_to_many(self):
        options = torch_step.read_arguments([])
        runs = torch_step.configurations(options)
        self.assertEqual(len(runs), 5 * 4 * 5 * 2 * 2)
        self.assertEqual(len(set(runs)), len(runs))
        tokens = [run[1] * run[2] for run in runs]
        self.assertEqual(tokens, sorted(tokens))

    def test_a_record_has_the_fields_of_measured_runs(self):
        options = torch_step.read_arguments(["--parallel", "fsdp"])
        run = ("llama-1b", 2048, 4, "full", "flash")
        entry = torch_step.record(run, "H100", (8, 8), {"iteration_s": 0.5, "memory_gb": 20.0},
                                  20.0, options, "PyTorch 2.9")
        for field in NEEDED:
            self.assertIn(field, entry)
        self.assertEqual(entry["global_batch"], 32)
        self.assertEqual(entry["parallel"]["zero"], "fsdp2")
        self.assertFalse(entry["oom"])
        self.assertEqual(json.loads(json.dumps(entry)), entry)

    def test_out_of_memory_is_a_result(self):
        options = torch_step.read_arguments([])
        entry = torch_step.record(("gpt-125m", 1024, 1, "none", "flash"), "A100", (1, 1),
                                  {"iteration_s": None, "memory_gb": None}, None, options, "")
        self.assertTrue(entry["oom"])

    def test_wrong_options_are_told_and_exit_with_two(self):
        for arguments in (["--models", "gpt-9t"], ["--sequences", "1k"], ["--recompute", "some"]):
            done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"'{arguments[1]}'", done.stderr)


if __name__ == "__main__":
    unittest.main()
