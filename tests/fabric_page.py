#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""topologies/docs/validation.md: fabrics as others measured, simulated or worked them out, beside
what this program computes. The cases are rows of calibration/measured/fabric.yaml.

fabric_page.py PROGRAM FLOW_CASES ROOT            computes the quick cases again and compares
fabric_page.py PROGRAM FLOW_CASES ROOT --update   writes the page
"""
import csv
import json
import math
import pathlib
import re
import resource
import shlex
import statistics
import subprocess
import sys

import yaml

QUICK = 2.0  # CPU seconds: longer cases are computed by --update alone
PAGE = "topologies/docs/validation.md"
CASES = "calibration/measured/fabric.yaml"
SWEEPS = "calibration/measured/nccl_sweeps.csv"
HEAD = """# Fabrics beside measurements, simulators and formulas

{count} cases: {computed} are computed here, {left} are not modelled and say why. {within} of the computed ones are within 10 % (or 10 points), median {median:.1f}.
Rows are `calibration/measured/fabric.yaml`; `tests/fabric_page.py` computes them and writes this page, and a test keeps it so. Presets of fabrics are fitted on sweeps of some of these sources (issue 309 of nccl-tests, EFA, `nccl_sweeps.csv`); no constant knows the others.
Errors of percentages are in points. CPU is that of ours on one core; no source of these tells its own.

Flows are fluid here: packets, queues, congestion control and pauses are not. A flow over n paths (queue pairs, entropies, sprayed packets) puts a part on each and moves at the pace of the slowest, as packets that are sent to all of them in turn do when none is lost; `apart` would let each path move at its own. What packets lose to queues on top of that is the error of the permutations.

"""
SWEEP_HEAD = """## Sweeps of NCCL over hosts

{count} sweeps on two hosts or more of `nccl_sweeps.csv`, {computed} computed (closed form, `foretrain validate --collectives`), median |error| from 1 MiB over all of them {median:.1f} %. Constants of the presets are fitted on most of them: how far off they are left out is in [kernels and collectives](../../calibration/docs/kernels-and-collectives.md). Bus bandwidth in GB/s at the largest size.

"""


class Failed(Exception):
    pass


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Cases:
    """Computes cases: micro-cases in one process, the rest by the command line."""

    def __init__(self, program, flow_cases, root):
        self.program, self.root = program, root
        self.flows = subprocess.Popen([flow_cases], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True)

    def program_json(self, *arguments):
        done = subprocess.run([self.program, *arguments, "--json"], cwd=self.root,
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"{shlex.join(arguments)}: {done.stderr.strip() or done.stdout[-300:]}")
        return json.loads(done.stdout)

    def micro(self, run):
        self.flows.stdin.write(json.dumps(run) + "\n")
        self.flows.stdin.flush()
        answer = json.loads(self.flows.stdout.readline() or '{"error": "the program ended"}')
        if "error" in answer:
            raise Failed(f"{run}: {answer['error']}")
        value = answer["value"]
        if "line" in run:
            value *= 100 / float(run["line"].split()[0])
        return 100 * value if run.get("percent") else value, answer["cpu_s"]

    def collective(self, arguments, seed, report):
        answer = self.program_json("collective", "--seed", str(seed), *shlex.split(arguments))
        last = answer["rows"][-1]
        if report == "link bytes":
            return answer["links"][0]["bytes"]
        if report == "time us":
            return last["time_s"] * 1e6
        if report == "% above alone":
            return 100 * (last["time_s"] / last["alone_s"] - 1)
        bus = last["busbw_bytes_per_s"] / 1e9
        share = re.fullmatch(r"share of ([\d.]+) GB/s", report)
        return 100 * bus / float(share[1]) if share else bus

    def simulate(self, arguments, seed, report):
        """A quantity of the forecast, as "run.checkpoint_bytes in GiB" or "A over B"."""
        settings = ["--set", f"simulation.seed={seed}"]
        answer = self.program_json("simulate", *shlex.split(arguments), *settings)
        path, _, unit = report.partition(" in ")
        path, _, below = path.partition(" over ")
        value = self.quantity(answer, path) / UNITS[unit]
        return 100 * value / self.quantity(answer, below) if below else value

    @staticmethod
    def quantity(answer, path):
        for key in path.split("."):
            answer = answer[key]
        return answer

    def value(self, case):
        """Ours and its CPU seconds."""
        if "run" in case:
            return self.micro(case["run"])
        kind = "collective" if "collective" in case else "simulate"
        one = getattr(self, kind)
        report = case.get("report", {"collective": "busbw", "simulate": "step.time_s"}[kind])
        begin = cpu()
        values = []
        for seed in range(1, case.get("seeds", 1) + 1):
            value = one(case[kind], seed, report)
            if "against" in case:
                value = COMPARED[case["of"]](value, one(case["against"], seed, report))
            values.append(value)
        over = {"mean": statistics.mean, "max": max}[case.get("over_seeds", "mean")]
        return over(values), cpu() - begin


UNITS = {"": 1, "GiB": 2**30, "TB": 1e12}
COMPARED = {"gain": lambda a, b: 100 * (a / b - 1), "loss": lambda a, b: 100 * (b / a - 1),
            "ratio": lambda a, b: a / b, "difference": lambda a, b: a - b}


def number(value):
    """Four digits, as people write them."""
    if value == 0:
        return "0"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(digits, 3)}f}"


def ends(theirs):
    """A figure, or the ends of "20 to 52"."""
    return [float(end) for end in str(theirs).split(" to ")]


def error_of(case, ours):
    """Relative error in %, or points for percentages; from the nearer end of a range."""
    low, high = ends(case["theirs"])[0], ends(case["theirs"])[-1]
    near = min(max(ours, low), high)
    return ours - near if case["unit"].startswith("%") else 100 * (ours / near - 1)


def shown(figure):
    return number(float(figure)) if isinstance(figure, (int, float)) else figure


def computed_row(case, ours, seconds):
    error = error_of(case, ours)
    unit = "" if case["unit"].startswith("%") else " %"
    return (f"| {case['case']} | {shown(case['theirs'])} {case['unit']} | {number(ours)} | "
            f"{error:+.1f}{unit} | {seconds:.2f} | {case.get('assumed', '')} |")


def left_row(case):
    return f"| {case['case']} | {shown(case['theirs'])} {case['unit']} | - | - | - | not modelled: {case['not_modelled']} |"


COLUMNS = "| case | theirs | ours | error | CPU s | assumed, or why not |\n|---|--:|--:|--:|--:|---|"


def without_cpu(row):
    cells = row.split(" | ")
    return cells[:-2] + cells[-1:]


def sweep_rows(cases):
    """Rows by sweep over hosts, and all errors from 1 MiB."""
    with open(cases.root / SWEEPS, newline="", encoding="utf-8") as file:
        points = [row for row in csv.DictReader(file) if int(row["nodes"]) > 1]
    checks = {check["id"]: check
              for check in cases.program_json("validate", "--collectives")["records"]}
    sweeps = {}
    for point in points:
        sweeps.setdefault(point["id"], []).append(point)
    lines, errors, computed = [], [], 0
    for name, rows in sweeps.items():
        largest = max(rows, key=lambda row: float(row["size_bytes"]))
        found = [(row, checks.get(f"{name}-{row['size_bytes']}")) for row in rows]
        found = [(row, check) for row, check in found if check and not check["skipped"]]
        what = (f"| {name} | {largest['collective']} | {largest['nodes']} x "
                f"{largest['gpus_per_node']} {largest['gpu']} | {len(rows)} |")
        if not found:
            check = checks.get(f"{name}-{largest['size_bytes']}")
            why = check["why"] if check else "no check of it"
            lines.append(f"{what} {bus_of(largest)} | - | - | - | not modelled: {why} |")
            continue
        computed += 1
        row, check = max(found, key=lambda pair: float(pair[0]["size_bytes"]))
        large = [100 * abs(c["error"]) for r, c in found if float(r["size_bytes"]) >= 2**20]
        errors += large
        ours = float(row["busbw_gbs"]) / (1 + check["error"]) if row["busbw_gbs"] else None
        mid = f"{statistics.median(large):.1f} %" if large else "-"
        lines.append(f"{what} {bus_of(row)} | {number(ours) if ours else '-'} | "
                     f"{100 / (1 + check['error']) - 100:+.1f} % | {mid} | |")
    return lines, errors, computed


def bus_of(row):
    return number(float(row["busbw_gbs"])) if row["busbw_gbs"] else "-"


def written_seconds(page):
    """CPU seconds by case, as the page has them."""
    seconds = {}
    for line in page.splitlines():
        cells = line.split(" | ")
        if len(cells) == 6 and re.fullmatch(r"[\d.]+", cells[4]):
            seconds[cells[0].lstrip("| "), cells[1]] = float(cells[4])
    return seconds


def page_of(cases, data):
    errors, sections, left = [], [], 0
    for name, cite in data["sources"].items():
        rows = []
        for case in [case for case in data["cases"] if case["source"] == name]:
            if "not_modelled" in case:
                left += 1
                rows.append(left_row(case))
                continue
            ours, seconds = cases.value(case)
            errors.append(abs(error_of(case, ours)))
            rows.append(computed_row(case, ours, seconds))
        sections.append(f"## {name}\n\n{cite}.\n\n{COLUMNS}\n" + "\n".join(rows) + "\n\n")
    lines, sweep_errors, computed = sweep_rows(cases)
    head = HEAD.format(count=len(data["cases"]), computed=len(errors), left=left,
                       within=sum(error <= 10 for error in errors),
                       median=statistics.median(errors))
    table = ("| sweep | operation | machine | points | theirs | ours | error | median from 1 MiB | why not |\n"
             "|---|---|---|--:|--:|--:|--:|--:|---|\n" + "\n".join(lines) + "\n")
    return head + "".join(sections) + SWEEP_HEAD.format(
        count=len(lines), computed=computed, median=statistics.median(sweep_errors)) + table


def problems(cases, data, page):
    """Rows of the page that are not what the program says now."""
    seconds = written_seconds(page)
    lines = page.splitlines()
    kept = {tuple(without_cpu(line)) for line in lines if line.count(" | ") == 5}
    for case in data["cases"]:
        if "not_modelled" in case:
            if left_row(case) not in lines:
                yield left_row(case)
            continue
        key = case["case"], f"{shown(case['theirs'])} {case['unit']}"
        if seconds.get(key, 0.0) > QUICK:
            continue
        row = computed_row(case, *cases.value(case))
        if tuple(without_cpu(row)) not in kept:
            yield row
    yield from (row for row in sweep_rows(cases)[0] if row not in lines)


def main():
    program, flow_cases, root = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    data = yaml.safe_load((root / CASES).read_text(encoding="utf-8"))
    cases = Cases(program, flow_cases, root)
    page = root / PAGE
    if "--update" in sys.argv:
        page.parent.mkdir(exist_ok=True)
        page.write_text(page_of(cases, data), encoding="utf-8")
        return 0
    wrong = list(problems(cases, data, page.read_text(encoding="utf-8")))
    for line in wrong:
        print(f"{PAGE} is out of date: {line}")
    if wrong:
        print("tests/fabric_page.py PROGRAM FLOW_CASES ROOT --update writes it anew")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
