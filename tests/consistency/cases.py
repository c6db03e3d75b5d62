# SPDX-License-Identifier: Apache-2.0
"""Cases: a shipped scenario with a few keys turned, drawn from the program's own schema of keys, so
that a new key is attacked without a word here."""

import json
import math
import random
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Case:
    """A scenario file of the repository and `--set` of it."""
    file: str
    settings: tuple = ()

    @property
    def work(self):
        if "/serving/" in self.file:
            return "serving"
        return "post_training" if "/post-training/" in self.file else "training"

    def command(self, name, *options):
        """`foretrain NAME FILE OPTIONS --set ...` as arguments."""
        sets = [word for setting in self.settings for word in ("--set", setting)]
        return (name, self.file, *options, *sets)

    def with_settings(self, *more):
        return Case(self.file, self.settings + more)

    def text(self):
        """The case as somebody would type it."""
        sets = "".join(f" --set '{setting}'" for setting in self.settings)
        return f"foretrain simulate {self.file}{sets}"


@dataclass(frozen=True)
class Key:
    """A leaf of the schema: its dotted path and what it may hold."""
    path: str
    schema: str  # JSON, so that keys can be compared
    required: bool = False  # within its group

    def value(self, draw):
        """A value that the schema allows, mostly near the middle, sometimes at an end."""
        schema = json.loads(self.schema)
        if "anyOf" in schema:
            schema = draw.choice([kind for kind in schema["anyOf"] if "type" in kind or "enum" in kind])
        if "enum" in schema:
            return str(draw.choice(schema["enum"]))
        kind = schema.get("type")
        kind = kind[0] if isinstance(kind, list) else kind
        if kind == "boolean":
            return draw.choice(["true", "false"])
        if kind in ("integer", "number"):
            return _number(schema, kind, draw)
        units = _units(schema.get("pattern", ""))
        return f"{_magnitude(draw):.3g} {draw.choice(units)}" if units else None


def _magnitude(draw):
    if draw.random() < 0.1:
        return draw.choice([1e-30, 1e-9, 1e12, 1e30, 0.0])
    return 10.0 ** draw.uniform(-1.0, 3.0)


def _number(schema, kind, draw):
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    high = schema.get("maximum", schema.get("exclusiveMaximum", 1e9))
    if draw.random() < 0.15:
        return str(draw.choice([low, high]))
    if kind == "integer":
        near = [low + step for step in (0, 1, 2, 3, 7, 15, 31, 63, 127)] + [1024, 4096]
        return str(int(draw.choice([value for value in near if low <= value <= high])))
    if high <= 1.0:
        return f"{draw.uniform(low, high):.3f}"
    top = math.log10(min(high, 1e4))
    return f"{max(low, 10.0 ** draw.uniform(min(top, math.log10(max(low, 1e-2))), top)):.4g}"


def _units(pattern):
    found = re.search(r"\( ?\?\(([^()]*)\)\)|\( \?\(([^()]*)\)\)", pattern)
    return (found.group(1) or found.group(2)).split("|") if found else []


def keys_of(program):
    """All leaves of the scenario schema, lists and free texts left out."""
    schema = program("show", "schema").json()
    keys = []

    def walk(node, path, required=False):
        if "properties" in node:
            for name, child in node["properties"].items():
                walk(child, path + [name], name in node.get("required", []))
        elif "enum" in node or "anyOf" in node or node.get("type") in ("boolean", "integer", "number") \
                or _units(node.get("pattern", "")):
            keys.append(Key(".".join(path), json.dumps(node), required))

    walk(schema, [])
    return [key for key in keys if key.path != "schema"]


def files_of(folder):
    """Scenarios of the repository that one machine forecasts in a blink."""
    root = Path(folder)
    names = [path for pattern in ("scenarios/*.yaml", "scenarios/basics/*.yaml",
                                  "scenarios/serving/*.yaml", "scenarios/post-training/*.yaml")
             for path in sorted(root.glob(pattern))]
    return [str(path.relative_to(root)) for path in names]


def belongs(key, work):
    section = key.path.split(".")[0]
    if work == "training":
        return section not in ("serving", "post_training")
    if work == "serving":
        return section in ("serving", "cluster", "model", "operations")
    return section not in ("budget", "measured")


def draw_case(seed, files, keys):
    """The case of that seed: one file, up to three keys turned."""
    draw = random.Random(seed)
    work = draw.choices(["training", "serving", "post_training"], [8, 2, 1])[0]
    file = draw.choice([name for name in files if Case(name).work == work])
    mine = [key for key in keys if belongs(key, work)]
    settings = []
    for key in draw.sample(mine, draw.choice([0, 1, 1, 1, 2, 2, 3])):
        value = key.value(draw)
        if value is not None:
            settings.append(f"{key.path}={value}")
    return Case(file, tuple(settings))


def shrunk(case, fails):
    """The case with every setting taken out that the failure does not need."""
    settings = list(case.settings)
    for setting in list(settings):
        fewer = Case(case.file, tuple(kept for kept in settings if kept != setting))
        if fails(fewer):
            settings.remove(setting)
    return Case(case.file, tuple(settings))
