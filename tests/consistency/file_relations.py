# SPDX-License-Identifier: Apache-2.0
"""What must hold of files: those that are read, those that are written and read again, and those that
are no scenario."""

import random
import re
from pathlib import Path

from relations import at, close, flat, forecast, not_finite, relation

# --- 5: unknown keys --------------------------------------------------------------------------

SMALL = "scenarios/llama3-8b-8xh100.yaml"
SERVED = "scenarios/serving/llama3.1-70b-8xh100.yaml"

# Entries of catalogs and profiles: kind, name, folder below the option's, option, a scenario that reads it.
ENTRIES = [("models", "llama3-8b", "models", "--catalog", SMALL),
           ("devices", "h100-sxm5-80gb", "devices", "--catalog", SMALL),
           ("hosts", "dgx-h100", "hosts", "--catalog", SMALL),
           ("fabrics", "ib-ndr", "fabrics", "--catalog", SMALL),
           ("links", "ib-ndr", "links", "--catalog", SMALL),
           ("stacks", "megatron-core", "stack", "--profiles", SMALL),
           ("sites", "default", "site", "--profiles", SMALL),
           ("device-profiles", "h100-sxm5-80gb", "device", "--profiles", SMALL),
           ("engines", "vllm", "engine", "--profiles", SERVED)]

# Files by themselves, and the command that reads them.
FILES = [("scenarios/*.yaml", ("simulate",)), ("scenarios/serving/*.yaml", ("simulate",)),
         ("scenarios/post-training/*.yaml", ("simulate",)), ("scenarios/clusters/*.yaml", ("cluster",)),
         ("calibration/measured/runs.yaml", ("validate", "--runs")),
         ("calibration/measured/inference_runs.yaml", ("validate", "--inference")),
         ("calibration/measured/runs_more.yaml", ("calibrate", "fit", "--runs"))]

KEY = re.compile(r"^((?:[^\"'#\n]*[ {-])?)([a-z][a-z_0-9]{2,})(?=:(?:\s|$))", re.MULTILINE)


def misspelt(text, draw):
    """The text with a letter too many in a key, and that key."""
    place = draw.choice(list(KEY.finditer(text)))
    key = place.group(2) + "q"
    return text[:place.start(2)] + key + text[place.end(2):], key


def _with_unknown_key(program, draw):
    """A command whose file has an unknown key, and the key."""
    which = draw.choice(ENTRIES + FILES)
    if which in FILES:
        pattern, command = which
        texts = [path.read_text(encoding="utf-8") for path in sorted(Path(program.folder).glob(pattern))]
        text, key = misspelt(draw.choice([text for text in texts if "\nextends:" not in text]), draw)
        return (*command, str(program.file(text, "file.yaml"))), key
    kind, name, folder, option, scenario = which
    text, key = misspelt(program("show", kind, name, "--json").json()["text"], draw)
    path = program.file(text, f"{folder}/{name}.yaml")
    return ("simulate", scenario, option, str(path.parent.parent)), key


@relation(share=2)
def an_unknown_key_is_refused_by_name(program, case):
    """In a file of some kind, which the text of the case draws."""
    command, key = _with_unknown_key(program, random.Random(case.text()))
    said = program(*command)
    if said.code != 2 or key not in said.err:
        yield f"{said.line} has an unknown key {key}, exit code {said.code}: {said.err[:200]}"


# --- 7: files there and back ------------------------------------------------------------------

# Export kinds that `import` reads, and the ending of their files.
FORMATS = {"megatron": ".sh", "deepspeed": ".json", "torchtitan": ".toml", "nanotron": ".yaml",
           "transformers": ".yaml", "axolotl": ".yaml", "llamafactory": ".yaml"}
CARRIED = ("training", "fine_tuning", "parallel", "memory", "communication")


def _machine(tree):
    """Options of `import` for what a framework's file does not hold."""
    cluster = at(tree, "scenario.cluster")
    fabric = at(cluster, "fabric.preset.name")
    return ("--host", at(cluster, "host.name"), "--gpus", str(at(cluster, "host.gpus") * cluster["hosts"]),
            "--sequence", str(at(tree, "scenario.training.sequence")),
            "--model", at(tree, "scenario.model.name"), *(("--fabric", fabric) if fabric else ()))


def _there_and_back(program, kind, command, tree):
    """What `export` and then `import` said; none where the format cannot hold the plan, or leaves ranks
    to a script that the importer cannot know."""
    written = program("export", kind, *command)
    ranks = at(tree, "scenario.parallel.tensor") * at(tree, "scenario.parallel.pipeline") \
        * at(tree, "scenario.parallel.context")
    if written.code != 0 or kind == "deepspeed" and ranks > 1:
        return None, None
    return written, program("import", kind, str(program.file(written.out, "plan" + FORMATS[kind])),
                            *_machine(tree))


def _exported(program, case):
    """The case in one of the formats that can hold it, drawn by its text, and back."""
    tree = forecast(program, case) or {}
    if not at(tree, "step.time_s"):
        return
    for kind in random.Random(case.text()).sample(sorted(FORMATS), len(FORMATS)):
        written, read = _there_and_back(program, kind, case.command("")[1:], tree)
        if read is not None:
            yield kind, tree, written, read
            return


@relation("training", share=2)
def what_is_exported_is_imported_alike(program, case):
    for kind, tree, written, read in _exported(program, case):
        if read.code != 0:
            yield f"{kind}: the importer refuses what was exported: {read.err[-200:]}"
            continue
        file = str(program.file(read.out, "back.yaml"))
        if program("simulate", file, "--json").code != 0:
            continue
        again = _there_and_back(program, kind, (file,), tree)[1]
        lost = _plan(read.out) ^ _plan(again.out) if again else {"all"}
        if lost:
            yield f"{kind}: what was imported is lost on its way there and back: {sorted(lost)}"


def _plan(text):
    return {line for line in text.splitlines() if not re.match(r"#|name:", line)}


@relation("training", share=2)
def what_an_export_loses_is_named(program, case):
    """Of keys that move the step or the memory of the plan."""
    for kind, tree, written, read in _exported(program, case):
        before = _values(program, case.file, *case.command("")[2:])
        after = _values(program, str(program.file(read.out, "back.yaml")))
        notes = _words(written.err + read.err)
        for key, value in before.items():
            then = after.get(key)
            if key.split(".")[0] not in CARRIED or then in (value, None) or _words(key) & notes:
                continue
            other = forecast(program, case.with_settings(f"{key}={then}")) or {}
            if any(not close(at(tree, path) or 0.0, at(other, path) or 0.0, 1e-4)
                   for path in ("step.time_s", "memory.peak_bytes")):
                yield f"{kind}: {key} is {value}, exported and imported it is {then}, and nothing says so"


def _values(program, *command):
    tree = program("show", *command, "--json").json() or {}
    return {row["path"]: row["value"] for row in tree.get("values") or []}


def _words(text):
    """Words of four letters and more, in the singular; of a key: those of its last part."""
    last = text.rsplit(".", 1)[-1] if " " not in text else text
    return {word.rstrip("s") for word in re.findall(r"[a-z]{4,}", last.lower())}


# --- 10: cluster files and fabrics ------------------------------------------------------------

def _cluster(program, case):
    """A cluster file with its size and seed turned, drawn by the text of the case."""
    draw = random.Random(case.text())
    files = sorted(Path(program.folder).glob("scenarios/clusters/*.yaml"))
    file = str(draw.choice(files).relative_to(program.folder))
    return ("cluster", file, "--replications", "2", "--set", f"cluster.hosts={draw.choice([16, 32, 64, 256])}",
            "--set", f"workload.seed={draw.randint(1, 99)}")


@relation(share=3)
def a_queue_keeps_its_sums(program, case):
    said = program(*_cluster(program, case), "--json")
    if said.code != 0:
        if said.code != 2 or not said.err:
            yield f"{said.line}: exit code {said.code}: {said.err[-200:]}"
        return
    tree = said.json()
    total, used = sum(tree["host_time"].values()), tree["utilisation"]
    yield from (f"{said.line}: {finding}" for finding in not_finite(tree))
    if not close(total, 1.0) or not 0.0 <= used["productive"] <= used["allocated"] * (1 + 1e-9) <= 1 + 1e-6:
        yield f"{said.line}: shares of host time add up to {total:g}, in use are {used}"
    for name, share in [(one["name"], one.get("deadlines_met")) for one in tree["classes"]]:
        if share is not None and not 0.0 <= share <= 1.0:
            yield f"{said.line}: {name} meets {share:g} of its deadlines"
    for one in at(tree, "confidence.classes") or []:
        if one["deadlines_met"] and not 0.0 <= one["deadlines_met"][0] <= one["deadlines_met"][1] <= 1.0:
            yield f"a share of deadlines lies in {one['deadlines_met']}: {said.line}"


@relation(share=3)
def a_queue_has_one_answer_in_text_and_json(program, case):
    command = _cluster(program, case)
    text = flat(program(*command).out)
    for figure in (program(*command, "--brief", "--json").json() or {}).get("figures") or []:
        if flat(figure["value"]) not in text:
            yield f"{figure['label']} is {figure['value']} in JSON, the text lacks it: {command}"


@relation("training", share=3)
def a_fabric_has_the_cluster_of_its_scenario(program, case):
    said = program("show", "fabric", *case.command("")[1:], "--json")
    tree, cluster = said.json() or {}, at(forecast(program, case) or {}, "scenario.cluster")
    if said.code not in (0, 2, 3):
        yield f"{said.line}: exit code {said.code}: {said.err[-200:]}"
    if said.code != 0 or not cluster:
        return
    yield from (f"{said.line}: {finding}" for finding in not_finite(tree))
    if tree["gpus"] != tree["hosts"] * at(cluster, "host.gpus") or tree["hosts"] < cluster["hosts"]:
        yield f"{said.line}: {tree['gpus']} GPUs in {tree['hosts']} hosts, the scenario has {cluster['hosts']}"
