#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""relations_test.py PROGRAM ROOT: every fault that is put into the program's answers on purpose is
found by the relation that it breaks, and the answers as they are break none."""

import json
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import file_relations  # noqa: E402,F401
import relations  # noqa: E402
from cases import Case, shrunk  # noqa: E402
from program import Program  # noqa: E402

OPERATIONS = "scenarios/llama3.1-405b-16384xh100-operations.yaml"
SMALL = "scenarios/llama3-8b-8xh100.yaml"
SERVED = "scenarios/serving/llama3.1-70b-8xh100.yaml"
CLOSED = "scenarios/serving/gpt-oss-120b-1xh100.yaml"
LEARNT = "scenarios/post-training/llama3.1-8b-grpo-16xh100.yaml"
ALIKE = ("serving.requests.output=256",)
FEW = Case(SMALL, ("training.global_batch=32",))
NEVER = Case(OPERATIONS, ("operations.mean_time_between_interruptions=1 min",))


class Spoilt:
    """The program with one fault in what `command` says; of none: in what every command says."""

    def __init__(self, program, command, fault):
        self.program, self.command, self.fault = program, command, fault

    def __call__(self, *command):
        said = self.program(*command)
        return self.fault(said) if self.command in (None, command[0]) else said

    def __getattr__(self, name):
        return getattr(self.program, name)


def in_json(change):
    """A fault in a JSON output."""
    def fault(said):
        tree = said.json()
        if tree is None:
            return said
        change(tree)
        return replace(said, out=json.dumps(tree))
    return fault


def set_at(path, value):
    def change(tree):
        *groups, last = path.split(".")
        for name in groups:
            tree = tree.get(name) or {}
        if last in tree:
            tree[last] = value(tree[last]) if callable(value) else value
    return in_json(change)


def in_file(change):
    """A fault in the file that a command writes."""
    return lambda said: replace(said, file=change(said.file))


def slower_exchanges(text):
    """A trace whose collectives take a tenth longer."""
    tree = json.loads(text or '{"traceEvents": []}')
    for event in tree["traceEvents"]:
        if event.get("args", {}).get("kind") == "collective":
            event["dur"] *= 1.1
    return json.dumps(tree)


def ignored(said):
    """A forecast of no key at all."""
    return replace(said, out=json.dumps({"step": {"time_s": 1.0}})) if said.json() else said


def exits(code):
    return lambda said: replace(said, code=code)


def both(*faults):
    def fault(said):
        for one in faults:
            said = one(said)
        return said
    return fault


# What is put in, by which command it is said, on which case, and the relation that has to find it.
FAULTS = [
    ("a run that never ends counts as one that runs", NEVER, "simulate",
     both(set_at("feasible", True), exits(0)), "what_never_ends_has_no_days"),
    ("a run that never ends has a price", NEVER, "simulate", set_at("cost.usd", 1e6),
     "what_never_ends_has_no_days"),
    ("one command lets a plan run that another refuses", NEVER, "goodput", exits(0),
     "commands_agree_whether_it_runs"),
    ("a verdict and the exit code part", NEVER, "simulate",
     both(set_at("verdict", "safe"), exits(3)), "verdict_and_exit_code_agree"),
    ("energy lies below its own band", Case(SMALL), "simulate", set_at("cost.energy_low_kwh", lambda v: 9e9),
     "values_lie_in_their_bands"),
    ("a part of the step is counted twice", Case(SMALL), "simulate",
     set_at("step.breakdown.data_s", lambda v: v + 1.0), "parts_add_up"),
    ("power of a step and its energy part", Case(SMALL), "simulate", set_at("cost.power_w", lambda v: 2 * v),
     "what_is_spent_is_rate_times_time"),
    ("arrivals are reported as answers", Case(SERVED, ALIKE), "simulate",
     set_at("results.requests_per_s", lambda v: 2.1 * v), "what_is_answered_was_asked_for"),
    ("fit and simulate need different memory", Case(SMALL), "fit",
     set_at("peak_bytes", lambda v: 1.1 * v), "memory_has_one_answer"),
    ("a flag is exported twice", Case(SMALL), "export",
     lambda said: replace(said, out=said.out + " --bf16 --bf16\n"), "an_exported_flag_stands_once"),
    ("what comes next leads back", Case(SMALL), "simulate",
     set_at("next", "foretrain simulate " + SMALL), "what_comes_next_runs"),
    ("what comes next does not run", Case(SMALL), "simulate",
     set_at("next", "foretrain fit no-such-file.yaml"), "what_comes_next_runs"),
    ("a key changes nothing in silence", Case(SMALL, ("parallel.schedule=gpipe",)), "simulate",
     set_at("warnings", []), "a_key_moves_a_number_or_is_named"),
    ("a key of a deployment changes nothing in silence", Case(CLOSED, ("serving.duration=2 h",)), "simulate",
     set_at("warnings", []), "a_key_moves_a_number_or_is_named"),
    ("a key of post-training changes nothing in silence", Case(LEARNT, ("serving.goals.ttft=1 s",)), "simulate",
     set_at("warnings", []), "a_key_moves_a_number_or_is_named"),
    *((f"keys of a file of {work} change nothing in silence", Case(file), "simulate", ignored,
       "a_key_of_the_file_moves_a_number_or_is_named")
      for work, file in (("training", SMALL), ("serving", CLOSED), ("post-training", LEARNT))),
    ("an answer ends in dots", Case(SMALL), "fit",
     lambda said: replace(said, out=said.out + "  micro-batch up to   ...\n"), "no_answer_ends_in_dots"),
    ("text and JSON hold different figures", Case(SMALL), "simulate",
     set_at("figures", [{"label": "Step", "value": "123 parsecs", "band": None}]),
     "text_and_json_hold_the_same_figures"),
    ("an exchange of the trace is dearer than in the step", FEW, "simulate", in_file(slower_exchanges),
     "exchanges_of_the_trace_make_the_part"),
    ("an exchange is dearer in the step than on the fabric", FEW, "simulate", in_file(slower_exchanges),
     "an_exchange_costs_what_it_costs_on_the_fabric"),
    ("an unknown key is passed over", Case(SMALL), None, exits(0), "an_unknown_key_is_refused_by_name"),
    ("an unknown key is refused without its name", Case(SMALL), None,
     lambda said: replace(said, err="1 error"), "an_unknown_key_is_refused_by_name"),
    ("what was exported is refused by its importer", Case(SMALL), "import",
     exits(2), "what_is_exported_is_imported_alike"),
    ("a value changes on its second way", Case(SMALL), "export",
     lambda said: replace(said, out=said.out.replace("8192", "4096")) if "back.yaml" in said.line else said,
     "what_is_exported_is_imported_alike"),
    ("hosts of a queue are in use twice", Case(SMALL), "cluster",
     set_at("host_time.productive", lambda v: v + 0.5), "a_queue_keeps_its_sums"),
    ("text and JSON of a queue differ", Case(SMALL), "cluster",
     set_at("figures", [{"label": "Wait", "value": "123 parsecs"}]), "a_queue_has_one_answer_in_text_and_json"),
    ("a fabric has other GPUs than its hosts", Case(SMALL), "show", set_at("gpus", 7),
     "a_fabric_has_the_cluster_of_its_scenario"),
    ("an export loses a key without a word", Case(SMALL), "import",
     lambda said: replace(said, out=said.out.replace("micro_batch: 1", "micro_batch: 2"), err=""),
     "what_an_export_loses_is_named"),
    ("a command crashes", Case(SMALL), "goodput", exits(-11), "every_command_ends_well"),
    ("another command crashes", Case(SMALL), "sensitivity", exits(-6), "every_other_command_ends_well"),
    ("a command does not end", Case(SMALL), "fit", exits(None), "every_command_ends_well"),
    ("an internal error is printed", Case(SMALL), "fit",
     lambda said: replace(said, code=1, err="foretrain: internal error"), "every_command_ends_well"),
]


def found(name, program, case):
    function = next(one for one in relations.RELATIONS if one.__name__ == name)
    return list(function(program, case))


def main():
    program = Program(sys.argv[1], sys.argv[2])
    failures = []
    for what, case, command, fault, name in FAULTS:
        if found(name, program, case):
            failures.append(f"{name} finds something without a fault: {found(name, program, case)[0]}")
        if not found(name, Spoilt(program, command, fault), case):
            failures.append(f"{name} does not find that {what}")
    spoilt = Case(SMALL, ("training.micro_batch=1", "parallel.schedule=gpipe", "memory.recompute=none"))
    kept = shrunk(spoilt, lambda case: "parallel.schedule=gpipe" in case.settings)
    if kept.settings != ("parallel.schedule=gpipe",):
        failures.append(f"a case is shrunk to {kept.settings}")
    print("\n".join(failures) or f"{len(FAULTS)} faults put in, {len(FAULTS)} found")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
