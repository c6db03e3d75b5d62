# SPDX-License-Identifier: Apache-2.0
"""What must hold between the answers of one case, whatever the case: each relation is a function from
the program and a case to findings (sentences; none: it holds). `tests/consistency/README.md` lists
them."""

import json
import math
import random
import re
import shlex

from cases import keys_of
from program import EXIT_CODES, WRITTEN

RELATIONS = []
tiny = 1e-9


def relation(*works, share=1):
    """Registers a relation for scenarios of these works; of none: for all. A dear one sees one case in
    `share`."""
    def register(function):
        function.works, function.share = works, share
        RELATIONS.append(function)
        return function
    return register


def close(a, b, tolerance=1e-6):
    return abs(a - b) <= tolerance * max(abs(a), abs(b), tiny)


def at(tree, path):
    """A number of a JSON by its dotted path; None where it is absent or null."""
    for name in path.split("."):
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree


def forecast(program, case):
    """The JSON of the forecast; None where the scenario is refused."""
    said = program(*case.command("simulate", "--json"))
    return said.json() if said.code in (0, 3, 4) else None


def head(program, case, name, *options):
    return program(*case.command(name, *options, "--brief", "--json")).json()


# --- 1: values, bands, sums -------------------------------------------------------------------

BANDS = [("step.time_s", "step.low_s", "step.high_s"),
         ("memory.peak_bytes", None, "memory.high_bytes"),
         ("cost.gpu_hours", "cost.gpu_hours_low", "cost.gpu_hours_high"),
         ("cost.usd", "cost.price_low_usd", "cost.price_high_usd"),
         ("cost.energy_kwh", "cost.energy_low_kwh", "cost.energy_high_kwh"),
         ("cost.co2_kg", "cost.co2_low_kg", "cost.co2_high_kg"),
         ("power.mean_w", "power.mean_low_w", "power.mean_high_w"),
         ("run.p50_s", "run.p10_s", "run.p90_s")]


@relation("training")
def values_lie_in_their_bands(program, case):
    tree = forecast(program, case) or {}
    for value, low, high in ((at(tree, v), low and at(tree, low), at(tree, high)) for v, low, high in BANDS):
        if value is None:
            continue
        if low is not None and low > value * (1 + tiny) or high is not None and high < value * (1 - tiny):
            yield f"{value:g} is outside of its band, {low} to {high}"


@relation("serving")
def bands_of_serving_keep_arithmetic(program, case):
    tree = forecast(program, case) or {}
    load = at(tree, "results.requests_per_s")
    for name, band in (at(tree, "bands") or {}).items():
        low, value, high = band.get("low"), at(tree, "results." + name), band.get("high")
        if isinstance(value, dict) or value is None:
            continue
        if low is not None and low > value * (1 + tiny) or high is not None and high < value * (1 - tiny):
            yield f"{name} is {value:g}, outside of its band, {low} to {high}"
    if load is not None and load < 0.0:
        yield f"{load} requests/s"


def _sum(tree, path):
    parts = at(tree, path)
    return sum(value or 0.0 for value in parts.values()) if isinstance(parts, dict) else None


SUMS = [("step.breakdown", "step.time_s"), ("run.split", "run.expected_s"), ("cost.parts", "cost.usd")]


@relation("training")
def parts_add_up(program, case):
    tree = forecast(program, case) or {}
    for parts, whole in SUMS:
        total, value = _sum(tree, parts), at(tree, whole)
        if total and value is not None and not close(total, value):
            yield f"{parts} adds up to {total:g}, {whole} is {value:g}"
    names = ("weights", "gradients", "optimizer", "activations", "buffers", "communication", "context",
             "fragmentation")
    for stage in at(tree, "memory.stages") or []:
        total = sum(stage[name + "_bytes"] for name in names)
        if not close(total, stage["peak_bytes"]):
            yield f"memory of stage {stage['stage']} adds up to {total:g}, not {stage['peak_bytes']:g}"


@relation("training")
def what_is_spent_is_rate_times_time(program, case):
    tree = forecast(program, case) or {}
    step, power, energy = at(tree, "step.time_s"), at(tree, "cost.power_w"), at(tree, "cost.step_kwh")
    if None not in (step, power, energy) and not close(power * step / 3.6e6, energy):
        yield f"a step of {step:g} s at {power:g} W takes {energy:g} kWh"
    mean = at(tree, "power.mean_w")
    if None not in (mean, power) and not close(mean, power):
        yield f"mean power is {mean:g} W in one place, {power:g} W in another"
    steps, ideal = at(tree, "run.steps"), at(tree, "run.ideal_s")
    # Below it: a batch that grows has short steps first.
    if None not in (steps, ideal, step) and ideal > steps * step * (1 + 1e-3):
        yield f"{steps:g} steps of {step:g} s take {ideal:g} s"


@relation("serving")
def what_is_answered_was_asked_for(program, case):
    results = at(forecast(program, case) or {}, "results") or {}
    window, tokens = results.get("counted_s"), results.get("output_tokens_per_s")
    answered, per_gpu = results.get("requests_per_s"), results.get("output_tokens_per_s_per_gpu")
    if None in (window, tokens, answered) or window <= 0:
        return
    good = results.get("goodput_requests_per_s") or 0.0
    if good > answered * (1 + 1e-6):
        yield f"{good:g} requests/s keep their goals, {answered:g} are answered"
    if per_gpu is not None and per_gpu > tokens * (1 + 1e-6):
        yield f"a GPU makes {per_gpu:g} tokens/s, all of them {tokens:g}"
    length = _answer_tokens(case)
    if length and answered and not close(tokens, answered * length, 0.25):
        yield f"{answered:g} requests/s of {length:g} tokens are not {tokens:g} tokens/s"


def _answer_tokens(case):
    """Mean length of answers where the case states it as one number."""
    for setting in reversed(case.settings):
        if setting.startswith("serving.requests.output="):
            text = setting.split("=")[1]
            return float(text) if re.fullmatch(r"[0-9.]+", text) else None
    return None


# --- 1b: one exchange has one price ------------------------------------------------------------

def _events(program, case):
    """Exchanges of the step's trace as (role, seconds), and its stages; none where the plan does not run
    or a trace of every exchange is too large."""
    tree = forecast(program, case) or {}
    exchanges = (at(tree, "scenario.model.layers") or 0) * _micro_batches(tree)
    if not at(tree, "step.time_s") or exchanges > 1100:
        return [], 1
    said = program(*case.command("simulate", "--json", "--trace", WRITTEN + ".json", "--detail", "operator"))
    events = [e for e in json.loads(said.file or '{"traceEvents": []}')["traceEvents"] if e["ph"] == "X"]
    return [(e["args"]["role"], e["dur"] / 1e6) for e in events if e["args"]["kind"] == "collective"], \
        max(1, len({e["pid"] for e in events}))


def _micro_batches(tree):
    batch, data = at(tree, "scenario.training.global_batch"), at(tree, "scenario.parallel.data")
    micro = at(tree, "scenario.training.micro_batch")
    return batch / max(1, data * micro) if batch and data and micro else math.inf


@relation("training")
def exchanges_of_the_trace_make_the_part(program, case):
    tree = forecast(program, case) or {}
    overlap = at(tree, "scenario.communication.overlap") or {}
    events, stages = _events(program, case)
    for role, hidden in (("tensor", "tensor"), ("expert", "experts")):
        part = at(tree, f"step.breakdown.{role}_s")
        total = sum(seconds for name, seconds in events if name == role) / stages
        if not events or close(total, part, 1e-4) or overlap.get(hidden) and total > part:
            continue
        yield f"{role} exchanges of the trace take {total:g} s, step.breakdown.{role}_s is {part:g}"


@relation("training")
def an_exchange_costs_what_it_costs_on_the_fabric(program, case):
    """Of one stage on an idle fabric: the event engine prices an exchange as the step does."""
    events, stages = _events(program, case)
    if stages != 1 or not events:
        return
    said = program(*case.command("explain", "link", "--json"))
    totals = {"reduce-scatter": "gradients", "all-gather": "weights"}
    rows = {row["exchange"]: row for link in (said.json() or {}).get("links") or []
            for row in link["exchanges"] if row["alone_s"] is not None}
    for name, row in rows.items():
        if row["took_s"] < row["alone_s"] * (1 - 1e-6):
            yield f"{name} takes {row['took_s']:g} s among others, {row['alone_s']:g} s alone"
        role = next((totals[op] for op in totals if name == "data-parallel " + op), None)
        total = sum(seconds for which, seconds in events if which == role)
        if total and not close(total, row["alone_s"], 1e-4):
            yield f"{name} is {row['alone_s']:g} s on the fabric, {total:g} s in the step"


# --- 2: verdicts and exit codes ---------------------------------------------------------------

def _verdict(program, case, name, *options):
    said = program(*case.command(name, *options, "--brief", "--json"))
    return said.code, (said.json() or {}).get("verdict"), said.line


@relation("training")
def verdict_and_exit_code_agree(program, case):
    for name, options in (("simulate", ()), ("goodput", ()), ("fit", ())):
        code, verdict, line = _verdict(program, case, name, *options)
        if code == 0 and verdict == "no" or code == 3 and verdict in ("safe", "at-risk"):
            yield f"{line}: verdict {verdict}, exit code {code}"


@relation("training")
def commands_agree_whether_it_runs(program, case):
    code = program(*case.command("simulate", "--json")).code
    if code not in (0, 3):
        return
    asked = {"compare": (case.file, "--json"), "explain": ("step.time_s",), "goodput": ("--json",),
             "sweep": ("--vary", "simulation.seed=1", "--json")}
    for name, options in asked.items():
        said = program(*case.command(name, *options))
        if said.code == code or said.code == 2 and name in ("sweep", "explain"):
            continue
        if name == "explain" and code == 3 and said.code == 0:
            continue  # a plan that is late has a step to explain
        if name == "sweep" and _status(said) == (code == 0):
            continue
        yield f"simulate exits with {code}, {said.line} with {said.code}"


def _status(said):
    """Whether the one point of a sweep is ok."""
    counts = at(said.json() or {}, "counts") or {}
    return counts.get("ok") == 1


@relation("training")
def memory_has_one_answer(program, case):
    tree, fit = forecast(program, case) or {}, program(*case.command("fit", "--json"))
    peak, other = at(tree, "memory.peak_bytes"), at(fit.json() or {}, "peak_bytes")
    if None not in (peak, other) and not close(peak, other):
        yield f"simulate needs {peak:g} bytes, fit {other:g}"
    out_of_memory = any(r["rule"] == "out-of-memory" for r in at(tree, "reasons") or [])
    if out_of_memory and fit.code == 0 or fit.code == 3 and tree.get("feasible"):
        yield f"simulate: {'out of memory' if out_of_memory else 'runs'}, fit exits with {fit.code}"


@relation("training")
def what_never_ends_has_no_days(program, case):
    tree = forecast(program, case) or {}
    run = tree.get("run") or {}
    if run.get("goodput") is None or run.get("expected_s") is not None:
        return
    if tree.get("feasible") or program(*case.command("simulate", "--json")).code == 0:
        yield "the run never finishes, and the plan counts as one that runs"
    if at(tree, "cost.usd") is not None:
        yield "a run that never finishes has a price"


# --- 3: what is suggested ---------------------------------------------------------------------

@relation()
def what_comes_next_runs(program, case):
    seen, command = [], list(case.command("simulate"))
    for _ in range(6):
        said = program(*command, "--brief", "--json")
        follows = (said.json() or {}).get("next")
        seen.append(shlex.join(command))
        if said.code not in (0, 3, 4) or not follows:
            if said.code not in (0, 3, 4) and len(seen) > 1:
                yield f"Next: leads to {said.line}, which exits with {said.code}: {said.err[:200]}"
            return
        command = shlex.split(follows)[1:]
        if command[0] in ("plan", "solve", "serve", "calibrate", "diagnose"):
            return  # searches have their own relation
        if shlex.join(command) in seen:
            yield f"Next: of {said.line} leads back to {follows}"
            return


@relation("training")
def changes_that_fit_do_fit(program, case):
    fit = program(*case.command("fit", "--json")).json() or {}
    for change in (fit.get("changes") or [])[:2]:
        turned = case.with_settings(*change["set"])
        tree = forecast(program, turned) or {}
        peak = at(tree, "memory.peak_bytes")
        if peak is None or not close(peak, change["peak_bytes"], 1e-6):
            yield f"fit promises {change['peak_bytes']:g} bytes with {change['set']}, simulate has {peak}"
        step, promised = at(tree, "step.time_s"), change.get("step_s")
        if None not in (step, promised) and not close(step, promised):
            yield f"fit promises {promised:g} s with {change['set']}, simulate has {step:g}"


# --- 4: keys ----------------------------------------------------------------------------------

# What the JSON of a deployment repeats of its scenario.
ECHO = ("scenario", "name", "seed", "engine", "algorithm")
LIMITS = ("sequences", "token_budget", "mixed_steps")


def _numbers(program, case):
    """All that the forecast says but the echo of its input; nothing where it is refused."""
    tree = forecast(program, case)
    if tree is None:
        return None
    kept = {name: part for name, part in tree.items() if name not in ECHO}
    for pool in ("serve", "prefill"):
        if kept.get(pool):
            kept[pool] = {name: part for name, part in kept[pool].items() if name not in LIMITS}
    return json.dumps(kept, sort_keys=True)


@relation()
def a_key_moves_a_number_or_is_named(program, case):
    """Of the last setting alone: the others are the ground on which it is turned. A deployment that
    cannot run has no numbers to move."""
    if not case.settings:
        return
    key = case.settings[-1].split("=")[0]
    before = _numbers(program, type(case)(case.file, case.settings[:-1]))
    after = _numbers(program, case)
    if before is None or after is None or before != after or _stands(program, case, key):
        return
    tree = forecast(program, case)
    if case.work != "training" and tree.get("reasons"):
        return
    if not _told(tree, key):
        yield f"{key} changes nothing, and nothing says so ({case.settings[-1]})"


@relation(share=4)
def a_key_of_the_file_moves_a_number_or_is_named(program, case):
    """Of some keys that the file states and could do without, its defaults written out as well: where
    no other value moves anything, the answer names the key."""
    before, tree = _numbers(program, case), forecast(program, case)
    if before is None or case.work != "training" and tree.get("reasons"):
        return
    draw = random.Random(case.text())
    optional = {key.path: key for key in keys_of(program) if not key.required}
    shown = program(*case.command("show", "--json")).json()["values"]
    stated = [optional[row["path"]] for row in shown
              if row["origin"].startswith(case.file + ":") and row["path"] in optional]
    for key in draw.sample(stated, min(4, len(stated))):
        if not key.path.startswith(NO_INPUT) and not _told(tree, key.path) \
                and _moves(program, case, key, before, draw) is False:
            yield f"{key.path} of the file changes nothing, and nothing says so"


NO_INPUT = ("budget", "measured", "operations.prices_as_of")


def _moves(program, case, key, before, draw):
    """Whether one of some other values moves a number; None where the key has none that is legal."""
    moves = None
    for value in [key.value(draw) for _ in range(4)]:
        turned = case.with_settings(f"{key.path}={value}")
        after = _numbers(program, turned) if value is not None else None
        if after is None or _stands(program, turned, key.path):
            continue
        if after != before:
            return True
        moves = False
    return moves


def _told(tree, key):
    """Whether a warning or a reason names the key, by its path or its last word."""
    texts = [note.get("message", "") for note in (tree.get("warnings") or []) + (tree.get("reasons") or [])]
    return any(key in text or key.rsplit(".", 1)[-1] in text for text in texts)


def _stands(program, case, key):
    """Whether the value is what the scenario had before."""
    def value(which):
        tree = program(*which.command("show", "--json")).json() or {}
        return [row.get("value") for row in tree.get("values") or [] if row.get("path") == key]
    return value(type(case)(case.file, case.settings[:-1])) == value(case)


@relation()
def bad_values_are_refused_by_name(program, case):
    said = program(*case.command("simulate", "--json"))
    if said.code != 2 or not case.settings:
        return
    if not any(part in said.err for setting in case.settings for part in _names(setting)):
        yield f"{said.line} is refused without a word of its keys: {said.err[:300]}"


def _names(setting):
    path = setting.split("=")[0]
    return path, path.rsplit(".", 1)[-1], path.split(".")[0]


# --- 6: better is never slower ----------------------------------------------------------------

@relation("training")
def fewer_tokens_are_never_slower(program, case):
    tree = forecast(program, case) or {}
    step, sequence = at(tree, "step.time_s"), at(tree, "scenario.training.sequence")
    if step is None or not sequence or sequence < 512 or sequence % 256:
        return
    shorter = forecast(program, case.with_settings(f"training.sequence={sequence // 2}")) or {}
    then = at(shorter, "step.time_s")
    if then is not None and then > step * 1.03:
        yield f"half the sequence takes {then:g} s for {step:g}"


@relation("training")
def more_memory_never_ends_a_plan(program, case):
    tree = forecast(program, case) or {}
    peak, usable = at(tree, "memory.peak_bytes"), at(tree, "memory.usable_bytes")
    broken = any(reason["rule"] == "out-of-memory" for reason in tree.get("reasons") or [])
    if None in (peak, usable):
        return
    if broken != (peak > usable):
        yield f"{peak:g} of {usable:g} bytes, and out of memory is {broken}"


# --- 7: files there and back ------------------------------------------------------------------

EXPORTS = {"megatron": "megatron", "torchtitan": "torchtitan", "deepspeed": "deepspeed"}


@relation("training")
def an_exported_flag_stands_once(program, case):
    for kind in EXPORTS:
        said = program(*case.command("export", kind)[0:1], kind, *case.command("export")[1:])
        if said.code != 0:
            continue
        flags = re.findall(r"(?<!\S)(--[a-z][\w-]*)", said.out)
        twice = sorted({flag for flag in flags if flags.count(flag) > 1})
        if twice:
            yield f"{said.line} writes {', '.join(twice)} twice"
        if program(*case.command("simulate", "--json")).code == 3:
            yield f"{said.line} exports a plan that cannot run, exit code 0"


# --- 8: one answer in every medium ------------------------------------------------------------

def flat(text):
    return re.sub(r"\s+", " ", re.sub(r"\x1b\[[0-9;]*m", "", text))


@relation()
def text_and_json_hold_the_same_figures(program, case):
    tree = head(program, case, "simulate")
    text = flat(program(*case.command("simulate")).out)
    for figure in (tree or {}).get("figures") or []:
        for part in (figure["value"], figure["band"]):
            if part and flat(part) not in text:
                yield f"{figure['label']} is {part} in JSON, the text lacks it"


@relation()
def no_answer_ends_in_dots(program, case):
    for name in ("simulate", "fit"):
        said = program(*case.command(name, "--brief"))
        for line in said.out.splitlines()[1:]:
            if re.search(r"\.\.\.(\s|$)", line):
                yield f"{said.line} cuts an answer: {line.strip()}"


# --- 9: bounds --------------------------------------------------------------------------------

@relation()
def every_command_ends_well(program, case):
    for name in ("simulate", "fit", "goodput", "report"):
        options = ("--json",) if name != "report" else ("--html", "-")
        said = program(*case.command(name, *options))
        if said.code not in (0, 2, 3, 4):
            yield f"{said.line}: exit code {said.code}: {said.err[-200:]}"
        if "internal error" in said.err or "terminate called" in said.err:
            yield f"{said.line}: {said.err[-200:]}"
        if said.code in (0, 3) and "NaN" in said.out or re.search(r"(?<![\w.])-?(nan|inf)(?![\w-])", said.out):
            if name != "report":
                yield f"{said.line} prints a number that is none"


OTHERS = [("explain", ()), ("explain", ("step",)), ("show", ("--json",)), ("compare", ("--json",)),
          ("solve", ("gpus",)), ("sensitivity", ("--json",)), ("check", ()), ("export sbatch", ()),
          ("export dot", ())]


@relation(share=3)
def every_other_command_ends_well(program, case):
    """Of the commands that ask about one scenario; those that search long have bounds of their own."""
    _, file, *sets = case.command("")
    for name, options in OTHERS:
        said = program(*name.split(), file, *options, *sets)
        if said.code not in EXIT_CODES:
            yield f"{said.line}: exit code {said.code}: {said.err[-200:]}"
        if "internal error" in said.err or said.code not in (0, None) and not said.err + said.out:
            yield f"{said.line}: exit code {said.code}, {said.err[-200:]}"
    said = program("collective", "--scenario", file, "--sizes", "1MiB", "--json", *sets)
    if said.code not in EXIT_CODES or said.code == 0 and list(not_finite(said.json())):
        yield f"{said.line}: exit code {said.code}: {said.err[-200:]}"


def not_finite(tree):
    """Findings of numbers that are none."""
    def walk(node, path):
        if isinstance(node, dict):
            for name, child in node.items():
                yield from walk(child, f"{path}.{name}")
        elif isinstance(node, list):
            for child in node:
                yield from walk(child, path)
        elif isinstance(node, float) and (math.isinf(node) or math.isnan(node)):
            yield f"{path[1:]} is {node}"
    yield from walk(tree, "")


@relation()
def json_is_finite(program, case):
    yield from not_finite(forecast(program, case))
