#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What only Python has: attributes, exceptions, threads, Ctrl-C, pictures, pandas, stubs."""

import ast
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import foretrain
from common import DENSE, SMALL, program


class Results(unittest.TestCase):
    def test_attributes_are_the_keys_of_the_json(self):
        result = foretrain.simulate(DENSE, engine="path")
        tree = json.loads(result.json)
        self.assertEqual(result.to_dict(), tree)
        self.assertEqual(result.step.time_s, tree["step"]["time_s"])
        self.assertEqual(result.memory.stages[1].peak_bytes, tree["memory"]["stages"][1]["peak_bytes"])
        self.assertEqual(result["mfu"], tree["mfu"])
        self.assertIn("breakdown", dir(result.step))
        with self.assertRaisesRegex(AttributeError, "time_s"):
            result.step.tyme_s
        result.to_dict()["step"]["time_s"] = 0
        self.assertEqual(result.step.time_s, tree["step"]["time_s"])

    def test_a_dict_is_a_scenario(self):
        scenario = {
            "schema": 1, "name": "mine", "model": "llama3-8b",
            "cluster": {"host": "dgx-h100", "hosts": 1, "fabric": {"kind": "rail-optimized", "preset": "ib-ndr"}},
            "training": {"sequence": 4096, "micro_batch": 1, "global_batch": 64},
            "parallel": {"tensor": 4},
        }
        text = program("simulate", "-", "--json", text=json.dumps(scenario))[1]
        self.assertEqual(foretrain.simulate(scenario).json, text)
        pair = foretrain.compare(scenario, {**scenario, "parallel": {"tensor": 2}})
        self.assertEqual(pair.schema, "comparison/1")

    def test_settings_win_in_order(self):
        base = foretrain.Scenario(DENSE, set={"parallel.tensor": 2})
        self.assertEqual(
            foretrain.simulate(base, set={"parallel.tensor": 8}).step.time_s,
            foretrain.simulate(DENSE, set={"parallel.tensor": 8}).step.time_s,
        )

    def test_errors_have_file_line_and_key(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "bad.yaml")
            with open(DENSE, encoding="utf-8") as good, open(path, "w", encoding="utf-8") as bad:
                bad.write(good.read().replace("tensor: 4", "tensor: four"))
            with self.assertRaises(foretrain.ScenarioError) as caught:
                foretrain.simulate(path)
            error = caught.exception
            self.assertEqual(error.file, path)
            self.assertEqual(error.key, "parallel.tensor")
            with open(path, encoding="utf-8") as bad:
                line = bad.read().splitlines()[error.line - 1]
            self.assertIn("tensor: four", line)
            self.assertIn(str(error), program("simulate", path)[2])

    def test_errors_of_settings_and_dicts(self):
        with self.assertRaises(foretrain.ScenarioError) as caught:
            foretrain.simulate(DENSE, set={"parallel.tensr": 4})
        self.assertEqual(caught.exception.file, "--set")
        with self.assertRaises(foretrain.ScenarioError) as caught:
            foretrain.simulate({"schema": 1, "model": "no-such-model"})
        self.assertTrue(any(d.file == "<dict>" for d in caught.exception.diagnostics))

    def test_wrong_usage(self):
        with self.assertRaisesRegex(foretrain.UsageError, "--engine"):
            foretrain.simulate(DENSE, engine="fast")
        with self.assertRaisesRegex(TypeError, "did you mean engine"):
            foretrain.simulate(DENSE, engin="path")
        with self.assertRaises(TypeError):
            foretrain.simulate(42)
        with self.assertRaises(foretrain.UsageError):
            foretrain.fit(DENSE, stage=99)

    def test_files_of_others_are_not_replaced(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write("my notes\n")
            with self.assertRaisesRegex(foretrain.UsageError, "is there already"):
                foretrain.simulate(DENSE, out=path)
            foretrain.simulate(DENSE, out=path, force=True)
            with self.assertRaisesRegex(foretrain.UsageError, "is there already"):
                foretrain.fit(DENSE, svg=os.path.join(folder, "mine.txt.svg"), out=__file__)

    def test_threads_get_their_own_answers(self):
        found = {}

        def ask(tensor):
            quick = foretrain.simulate(DENSE, set={"parallel.tensor": tensor})
            slow = foretrain.simulate(DENSE, set={"parallel.tensor": tensor}, engine="path")
            found[tensor] = (quick.json, slow.json)

        threads = [threading.Thread(target=ask, args=(tensor,)) for tensor in (1, 2, 4, 8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for tensor, (quick, slow) in found.items():
            settings = {"parallel.tensor": tensor}
            self.assertEqual(quick, foretrain.simulate(DENSE, set=settings).json)
            self.assertEqual(slow, foretrain.simulate(DENSE, set=settings, engine="path").json)
        self.assertEqual(len(found), 4)

    def test_other_threads_run_meanwhile(self):
        ticks = []
        stop = threading.Event()

        def tick():
            while not stop.wait(0.001):
                ticks.append(time.monotonic())

        thread = threading.Thread(target=tick)
        thread.start()
        start = time.monotonic()
        foretrain.plan(SMALL)
        end = time.monotonic()
        stop.set()
        thread.join()
        self.assertTrue(any(start < moment < end for moment in ticks))

    def test_ctrl_c_ends_a_command(self):
        code = (
            "import foretrain, sys\n"
            "print('ready', flush=True)\n"
            "try:\n"
            f"    foretrain.sweep({DENSE!r}, vary={{'training.global_batch': '64..65536+64',\n"
            "                     'training.micro_batch': '1..64', 'parallel.tensor': [1, 2, 4, 8]})\n"
            "except KeyboardInterrupt:\n"
            f"    print(foretrain.simulate({SMALL!r}, engine='path').feasible)\n"
        )
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=120)
        self.assertEqual(output, "True\n")
        self.assertEqual(process.returncode, 0)

    def test_notebooks_get_the_charts_of_the_report(self):
        page = foretrain.simulate(DENSE, set={"parallel.tensor": 8})._repr_html_()
        self.assertTrue(page.startswith("<iframe sandbox"))
        self.assertIn("report-page/3", page)
        self.assertIn("<svg", foretrain.fit(DENSE)._repr_html_())
        self.assertIn("<table>", foretrain.solve(SMALL, "headroom")._repr_html_())

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_pandas(self):
        stages = foretrain.simulate(DENSE).to_pandas("memory.stages")
        self.assertEqual(len(stages), 4)
        self.assertIn("peak_bytes", stages.columns)
        plans = foretrain.plan(SMALL)
        self.assertEqual(len(plans.to_pandas()), len(plans.plans))

    def test_stubs_name_every_function_and_option(self):
        stub = os.path.join(os.path.dirname(foretrain.__file__), "__init__.pyi")
        with open(stub, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        found = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        for function in foretrain._functions.values():
            name = foretrain._python_name(function.name)
            names = {argument.arg for argument in found[name].args.kwonlyargs}
            self.assertLessEqual(set(function.options) - names, {"as", "from", "global"})

    def test_module_as_a_program(self):
        done = subprocess.run(
            [sys.executable, "-m", "foretrain", "simulate", DENSE, "--json"],
            capture_output=True, text=True, check=True,
        )
        self.assertEqual(done.stdout, program("simulate", DENSE, "--json")[1])


if __name__ == "__main__":
    unittest.main()
