#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""simulate() with changed keys works out only what differs, and says what the program says."""

import json
import os
import random
import tempfile
import unittest

import foretrain
from common import DENSE, SMALL

KEYS = {
    "parallel.tensor": [1, 2, 4, 8, 3],
    "parallel.pipeline": [1, 2, 4],
    "parallel.virtual_stages": [1, 5],
    "parallel.schedule": ["1f1b", "interleaved"],
    "training.micro_batch": [1, 2, 4],
    "memory.recompute": ["none", "full", "selective"],
    "cluster.hosts": [64, 128],
    "cluster.host": ["dgx-h100", "dgx-b200"],
    "operations.price": ["2 USD/h", "3.5 USD/h"],
}


def whole(path, settings):
    """The JSON of the command, without the quick way."""
    return json.loads(foretrain.simulate(path, set=settings, flops="full").json)


class Quick(unittest.TestCase):
    def check(self, path, settings):
        try:
            expected = whole(path, settings)
        except foretrain.ScenarioError as error:
            with self.assertRaises(foretrain.ScenarioError) as caught:
                foretrain.simulate(path, set=settings)
            self.assertEqual(str(caught.exception), str(error))
            return False
        result = foretrain.simulate(path, set=settings)
        for name in ("step", "memory", "mfu", "cost", "flops", "feasible", "provenance"):
            found = getattr(result, name)
            found = found.to_dict() if isinstance(found, foretrain.Record) else found
            self.assertEqual(found, expected[name], (settings, name))
        self.assertEqual(result.to_dict(), expected)
        return result.feasible

    def test_members_are_what_the_program_says(self):
        draw = random.Random(27)
        feasible = 0
        for _ in range(60):
            keys = draw.sample(sorted(KEYS), draw.randint(1, 4))
            feasible += self.check(DENSE, {key: draw.choice(KEYS[key]) for key in keys})
        self.assertGreater(feasible, 5)

    def test_the_same_keys_with_many_values(self):
        for tensor in (1, 2, 4, 8, 16):
            for micro in (1, 2, 8):
                self.check(DENSE, {"parallel.tensor": tensor, "training.micro_batch": micro})

    def test_lists_groups_and_keys_within_them(self):
        self.check(DENSE, {"communication.overlap": {"gradients": False}})
        self.check(DENSE, {"cluster.fabric": {"kind": "fat-tree"}, "cluster.fabric.preset": "ib-ndr"})

    def test_what_is_quick_needs_no_command(self):
        foretrain.simulate(DENSE, set={"parallel.tensor": 2})
        result = foretrain.simulate(DENSE, set={"parallel.tensor": 4})
        self.assertGreater(result.step.time_s, 0)
        self.assertIsNotNone(result._quick)
        self.assertTrue(result.warnings is not None)
        self.assertIsNone(result._quick)

    def test_a_changed_file_is_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.yaml")
            with open(SMALL, encoding="utf-8") as file:
                text = file.read()
            times = []
            for tensor in (1, 2):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text + f"# {tensor}\n")
                settings = {"training.global_batch": 64 * tensor}
                times.append(foretrain.simulate(path, set=settings).step.time_s)
                self.check(path, settings)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace("model: llama3-8b", "model: llama2-7b"))
            changed = foretrain.simulate(path, set={"training.global_batch": 64}).step.time_s
            self.assertNotEqual(changed, times[0])
            os.unlink(path)
            with self.assertRaises(foretrain.ScenarioError):
                foretrain.simulate(path, set={"training.global_batch": 64})

    def test_a_relative_path_follows_the_folder(self):
        before = os.getcwd()
        try:
            os.chdir(os.path.dirname(SMALL))
            here = foretrain.simulate(os.path.basename(SMALL)).step.time_s
            os.chdir("/")
            with self.assertRaises(foretrain.ScenarioError):
                foretrain.simulate(os.path.basename(SMALL))
        finally:
            os.chdir(before)
        self.assertEqual(here, foretrain.simulate(SMALL).step.time_s)


if __name__ == "__main__":
    unittest.main()
