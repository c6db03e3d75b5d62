#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the parts of trainer_step.py that need no PyTorch and no GPU against what they promise."""
import importlib.util
import json
import pathlib
import subprocess
import sys
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "calibration/harness/trainer_step.py"
SPEC = importlib.util.spec_from_file_location("trainer_step", SCRIPT)
trainer_step = importlib.util.module_from_spec(SPEC)
sys.path.insert(0, str(SCRIPT.parent))
SPEC.loader.exec_module(trainer_step)


class TrainerStepTest(unittest.TestCase):
    def test_configurations_are_all_combinations_from_few_tokens_to_many(self):
        runs = trainer_step.configurations(trainer_step.read_arguments([]))
        self.assertEqual(len(set(runs)), 5 * 3 * 2 * 2 * 2)
        tokens = [run[2] * run[3] for run in runs]
        self.assertEqual(tokens, sorted(tokens))

    def test_a_record_says_what_was_trained_and_how_weights_rest(self):
        run = ("qwen3-4b", "lora", 4096, 2, "full")
        entry = trainer_step.record(run, "H200", {"iteration_s": 0.9, "memory_gb": 20.0}, "")
        self.assertEqual(entry["fine_tuning"]["rank"], 16)
        self.assertEqual(len(entry["fine_tuning"]["targets"]), 7)
        self.assertEqual(entry["stack"], "hf-trainer")
        self.assertEqual(entry["recompute"], "full")
        self.assertFalse(entry["oom"])
        self.assertEqual(json.loads(json.dumps(entry)), entry)
        full = trainer_step.record(("qwen3-4b", "full", 4096, 2, "none"), "H200",
                                   {"iteration_s": None, "memory_gb": None}, "")
        self.assertNotIn("fine_tuning", full)
        self.assertIn("pure", full["precision"])
        self.assertTrue(full["oom"])

    def test_wrong_options_are_told_and_exit_with_two(self):
        for arguments in (["--models", "gpt-9t"], ["--methods", "dpo"], ["--sequences", "1k"],
                          ["--checkpointing", "some"]):
            done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"'{arguments[1]}'", done.stderr)


if __name__ == "__main__":
    unittest.main()
