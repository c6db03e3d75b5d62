#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the recipes of CONTRIBUTING.md to the code.

Of every recipe: each path in back quotes exists; each identifier stands in the file of which the
recipe says so (`NAME` of `path`, or in it). A comment such as
  <!-- example: NAME=tornado; marks=TornadoView, tornado_view -->
names what was added last: NAME in paths stands for it, and every source of the product that holds
one of the marks (words; with re: a regular expression) must be among the paths of the recipe, so
that whoever follows it touches all files that the example touched.

A recipe says how many files of the product it names (pages and tests aside), and how many there
shall be: "**Files:** 12 (goal 3)." That number may only fall: more is wrong, and fewer until it says
so.

usage: check_recipes.py [REPOSITORY_ROOT]; exit status 1 when something is wrong.
"""
import pathlib
import re
import sys

MODULES = ("models", "topologies", "scenarios", "sim", "calibration", "planner", "commands",
           "gui")
RECIPES = ("A device", "A host", "A link", "A collective", "A schedule", "A kind of layer",
           "An axis of parallelism", "An importer", "An exporter", "A number of a forecast",
           "A CLI command", "A model family", "A GUI view", "A report section")
EXAMPLE = re.compile(r"<!-- example: NAME=(\w+); marks=(.*?) -->")
FILES = re.compile(r"^\*\*Files:\*\* (\d+) \(goal (\d+)\)\.$", re.M)
PATH = re.compile(r"`((?:%s|tests|docs|cmake)/[\w./-]+)`" % "|".join(MODULES))
SAID = re.compile(r"`([\w:]+)` (?:of|in) `((?:%s|tests)/[\w./-]+)`" % "|".join(MODULES))


def recipes(text):
    """Text of each recipe by its heading, without code."""
    start = text.index("\n## Recipes\n")
    parts = re.split(r"\n### (.+)\n", text[start:])[1:]
    return {name: re.sub(r"```.*?```", "", body, flags=re.S)
            for name, body in zip(parts[::2], parts[1::2])}


def sources(root):
    for module in MODULES:
        for file in sorted((root / module).rglob("*")):
            if file.suffix in (".cpp", ".hpp") or file.name == "CMakeLists.txt":
                yield file.relative_to(root).as_posix(), file.read_text()


def pattern(mark):
    return re.compile(mark[3:] if mark.startswith("re:") else r"\b%s\b" % re.escape(mark))


def count_fault(body, paths):
    """What is wrong with the number of files that a recipe states; nothing where it is right."""
    stated = FILES.search(body)
    named = len([path for path in paths
                 if path.startswith(MODULES) and not path.endswith(".md")])
    if not stated:
        return f"state its files, '**Files:** {named} (goal N).'"
    if named > int(stated[1]):
        return f"names {named} files of the product, {stated[1]} before; take as many out"
    if named < int(stated[1]):
        return f"names {named} files of the product; lower its {stated[1]} to that"
    return ""


def check(root):
    wrong = []
    text = (root / "CONTRIBUTING.md").read_text()
    found = recipes(text)
    for name in RECIPES:
        if name not in found:
            wrong.append(f"there is no recipe '{name}'")
    files = list(sources(root))
    for name, body in found.items():
        example = EXAMPLE.search(body)
        here = body.replace("NAME", example[1]) if example else body
        paths = set(PATH.findall(here))
        for path in sorted(paths):
            if "NAME" not in path and not (root / path).exists():
                wrong.append(f"{name}: there is no {path}")
        fault = count_fault(body, paths)
        if fault:
            wrong.append(f"{name}: {fault}")
        for word, path in SAID.findall(here):
            if (root / path).is_file() and word not in (root / path).read_text():
                wrong.append(f"{name}: {path} has no {word}")
        if not example:
            continue
        for mark in example[2].split(", "):
            holders = [path for path, source in files if pattern(mark).search(source)]
            if not holders:
                wrong.append(f"{name}: nothing holds the mark {mark}")
            wrong += [f"{name}: {path} holds {mark} and is not in the recipe"
                      for path in holders if path not in paths]
    return wrong


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__ + "/../..").resolve()
    wrong = check(root)
    for line in wrong:
        print("CONTRIBUTING.md: " + line)
    sys.exit(1 if wrong else 0)


main()
