#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every function gives the bytes that the program prints."""

import os
import re
import shutil
import tempfile
import unittest

import foretrain
from common import DENSE, SMALL, SOURCE, program


class Bytes(unittest.TestCase):
    def same(self, result, *words):
        code, output, _ = program(*words, "--json")
        self.assertEqual(result.json, output)
        self.assertEqual(result.exit_code, code)

    def test_simulate(self):
        self.same(foretrain.simulate(DENSE), "simulate", DENSE)

    def test_simulate_with_settings(self):
        self.same(
            foretrain.simulate(DENSE, set={"parallel.tensor": 8, "training.precision": "fp8"}),
            "simulate", DENSE, "--set", "parallel.tensor=8", "--set", "training.precision=fp8",
        )

    def test_simulate_with_another_engine(self):
        self.same(
            foretrain.simulate(DENSE, engine="path", flops="causal"),
            "simulate", DENSE, "--engine", "path", "--flops", "causal",
        )

    def test_a_plan_that_does_not_fit_is_a_result(self):
        settings = {"parallel.tensor": 1, "parallel.pipeline": 1, "parallel.virtual_stages": 1,
                    "parallel.sequence": False, "parallel.schedule": "1f1b"}
        result = foretrain.simulate(DENSE, set=settings)
        words = [f"--set={k}={str(v).lower()}" for k, v in settings.items()]
        self.same(result, "simulate", DENSE, *words)
        self.assertFalse(result.feasible)
        self.assertEqual(result.exit_code, 3)
        self.assertTrue(any(line.startswith("infeasible") for line in result.messages))

    def test_event_engine_again_and_again(self):
        base = os.path.join(SOURCE, "scenarios", "effects", "base.yaml")
        first = foretrain.simulate(base, engine="event")
        self.assertEqual(first.json, foretrain.simulate(base, engine="event").json)
        self.same(first, "simulate", base, "--engine", "event")

    def test_fit(self):
        self.same(foretrain.fit(DENSE, stage=1), "fit", DENSE, "--stage", "1")

    def test_plan(self):
        self.same(foretrain.plan(SMALL), "plan", SMALL)

    def test_solve(self):
        self.same(foretrain.solve(SMALL, "headroom"), "solve", SMALL, "headroom")

    def test_compare(self):
        self.same(foretrain.compare(DENSE, SMALL), "compare", DENSE, SMALL)
        self.same(
            foretrain.compare(DENSE, set={"B:parallel.tensor": 8}),
            "compare", DENSE, "--set", "B:parallel.tensor=8",
        )

    def test_sides_with_their_own_settings(self):
        one = foretrain.Scenario(DENSE)
        other = one.with_settings({"parallel.tensor": 8})
        self.same(
            foretrain.compare(one, other), "compare", DENSE, DENSE, "--set", "B:parallel.tensor=8"
        )

    def test_collective(self):
        self.same(
            foretrain.collective(op="all_gather", hosts=2, sizes="1MiB:64MiB"),
            "collective", "--op", "all_gather", "--hosts", "2", "--sizes", "1MiB:64MiB",
        )

    def test_goodput(self):
        settings = {"operations.mean_time_between_interruptions": "4 h", "operations.restart": "10 min",
                    "operations.checkpoint.every": "30 min"}
        words = [f"--set={key}={value}" for key, value in settings.items()]
        self.same(foretrain.goodput(DENSE, set=settings), "goodput", DENSE, *words)

    def test_explain_and_show(self):
        self.same(foretrain.explain(DENSE, "mfu"), "explain", DENSE, "mfu")
        self.same(foretrain.show("devices", "b200"), "show", "devices", "b200")

    def test_sweep(self):
        vary = {"parallel.tensor": [2, 4, 8], "training.micro_batch": [1, 2]}
        _, output, _ = program(
            "sweep", DENSE, "--vary", "parallel.tensor=2,4,8", "--vary", "training.micro_batch=1,2",
            "-j", "2", "--json",
        )
        # A sweep says which build of the program made it, and its points are named by that.
        builds = re.compile(r"\b[0-9a-f]{40,64}\b")
        result = foretrain.sweep(DENSE, vary=vary, workers=2)
        self.assertEqual(builds.sub("BUILD", result.json), builds.sub("BUILD", output))
        self.assertGreater(output.count("parallel.tensor"), 0)

    def test_import_and_export(self):
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "pretrain.sh")
            foretrain.export_megatron(SMALL, out=script)
            code, output, _ = program("export", "megatron", SMALL)
            self.assertEqual(code, 0)
            with open(script, encoding="utf-8") as file:
                self.assertEqual(file.read(), output)
            imported = foretrain.import_megatron(script)
            self.same(imported, "import", "megatron", script)
            text = foretrain.import_megatron(script, json=False)
            self.assertEqual(text, program("import", "megatron", script)[1])
            self.assertTrue(text.messages)
            scenario = foretrain.Scenario.from_yaml(text)
            self.assertGreater(foretrain.simulate(scenario).step.time_s, 0)

    def test_arguments_that_look_like_options(self):
        words = ["--num-layers", "32", "--hidden-size", "4096", "--num-attention-heads", "32",
                 "--seq-length", "4096", "--max-position-embeddings", "4096",
                 "--micro-batch-size", "1", "--global-batch-size", "64"]
        code, output, _ = program("import", "megatron", "--gpus", "8", "--json", "--", *words)
        self.assertEqual(code, 0)
        self.assertEqual(foretrain.import_megatron(words, gpus=8).json, output)

    def test_options_with_and_without_a_value(self):
        chart = foretrain.simulate(SMALL, gantt=True)
        self.assertEqual(chart, program("simulate", SMALL, "--gantt")[1])
        with tempfile.TemporaryDirectory() as folder:
            base = shutil.copy(SMALL, folder)
            best = os.path.join(folder, "best.yaml")
            foretrain.plan(base, emit=("1", best))
            self.assertGreater(foretrain.simulate(best).step.time_s, 0)

    def test_every_command_of_the_program_is_a_function(self):
        _, text, _ = program("--help")
        groups = text.split("\nStart: ")[1].split("\nExamples:")[0]
        commands = [line for line in groups.splitlines() if line.startswith("  ")]
        names = {line.split()[0] for line in commands}
        known = {function.words[0] for function in foretrain._functions.values()}
        self.assertEqual(names - known, {"gui", "completion", "man", "doctor"})


if __name__ == "__main__":
    unittest.main()
