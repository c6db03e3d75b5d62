#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what editors complete from the JSON Schemas: every key of the shipped scenarios and cluster
files is one that the schema offers at its place, every key that a schema offers says what it means,
and the line that names the schema in a file leads to it.

usage: check_schema.py [REPOSITORY_ROOT]; exit status 1 with a line for each problem
"""
import json
import pathlib
import re
import sys

import yaml

NAMED = re.compile(r"^# yaml-language-server: \$schema=(\S+)$", re.M)
SCENARIO = "scenarios/schema/scenario.schema.json"
CLUSTER = "planner/schemas/cluster-file.schema.json"
FILES = {SCENARIO: ["scenarios/*.yaml", "scenarios/basics/*.yaml", "scenarios/effects/*.yaml",
                    "docs/*.yaml", "docs/offers/*.yaml"],
         CLUSTER: ["scenarios/clusters/*.yaml"]}


class Schema:
    """A schema as completion reads it: which keys there are at a place, and what each means."""

    def __init__(self, root: dict) -> None:
        self.root = root

    def forms(self, node: dict) -> list[dict]:
        """The node itself and the alternatives that it allows."""
        if "$ref" in node:
            target = self.root
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            return self.forms(target)
        found = [node]
        for choice in ("anyOf", "oneOf", "allOf"):
            for form in node.get(choice, []):
                found += self.forms(form)
        return found

    def keys(self, nodes: list[dict]) -> dict[str, list[dict]]:
        """Keys offered below any of these forms."""
        offered: dict[str, list[dict]] = {}
        for node in nodes:
            for key, value in node.get("properties", {}).items():
                offered.setdefault(key, []).append(value)
        return offered

    def below(self, nodes: list[dict], word: str) -> list[dict]:
        """Forms of `items` or `additionalProperties` of these nodes."""
        return [form for node in nodes if isinstance(node.get(word), dict)
                for form in self.forms(node[word])]

    def mute(self, nodes: list[dict], path: str = ""):
        """Keys without a description."""
        for key, values in sorted(self.keys(nodes).items()):
            place = f"{path}.{key}".lstrip(".")
            if not any(value.get("description", "").strip() for value in values):
                yield f"{place} has no description"
            yield from self.mute([form for value in values for form in self.forms(value)], place)
        for word in ("items", "additionalProperties"):
            if below := self.below(nodes, word):
                yield from self.mute(below, path + "[]")

    def foreign(self, nodes: list[dict], value, path: str = ""):
        """Keys of a document that completion does not offer."""
        if isinstance(value, list):
            for item in value:
                yield from self.foreign(self.below(nodes, "items"), item, path + "[]")
        if not isinstance(value, dict):
            return
        offered, others = self.keys(nodes), self.below(nodes, "additionalProperties")
        for key, inside in value.items():
            place = f"{path}.{key}".lstrip(".")
            if key in offered:
                forms = [form for node in offered[key] for form in self.forms(node)]
                yield from self.foreign(forms, inside, place)
            elif others:
                yield from self.foreign(others, inside, place)
            else:
                yield f"{place} is not offered"


def problems(root: pathlib.Path):
    for name, patterns in FILES.items():
        schema = Schema(json.loads((root / name).read_text(encoding="utf-8")))
        top = schema.forms(schema.root)
        for text in schema.mute(top):
            yield f"{name}: {text}"
        files = [file for pattern in patterns for file in sorted(root.glob(pattern))]
        if not files:
            yield f"{name}: no file that it describes was found"
        for file in files:
            text = file.read_text(encoding="utf-8")
            place = f"{file.relative_to(root)}: "
            for found in schema.foreign(top, yaml.safe_load(text)):
                yield place + found
            for named in NAMED.findall(text):
                if (file.parent / named).resolve() != root / name:
                    yield place + f"names {named}, not {name}"


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = list(problems(root))
    print("\n".join(found) if found else "ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
