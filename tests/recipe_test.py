#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the schedule of CONTRIBUTING.md's recipe from its text and runs the recipe's test.

The code blocks go into a copy of models/schedules; that folder is compiled anew, and linked with the
rest of the models library as it was built. Every registered schedule must then run to its end.

usage: recipe_test.py REPOSITORY_ROOT COMPILER MODELS_LIBRARY GENERATED_HEADERS
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"<!-- recipe: schedule (\S+) -->\n```\w+\n(.*?)```", re.S)

SHIM = """#pragma once
#include <cstdio>
#include <cstdlib>
#define TEST_CASE(name, tags) void recipe_test()
#define CHECK(...) \\
  if (!(__VA_ARGS__)) std::printf("does not hold: %s\\n", #__VA_ARGS__), std::exit(1)
"""

MAIN = """#include <cstdio>
#include "models/schedules/registry.hpp"
namespace foretrain { void recipe_test(); }
int main() {
  using namespace foretrain;
  for (const auto& [kind, name] : EnumNames<ScheduleKind>::names) {
    const int own = traits_of(kind).chunks;
    const ScheduleShape shape{kind, 4, own == chunks_chosen ? 2 : own, 8, 4};
    if (!is_legal(shape)) return std::printf("%s is not legal\\n", name.data()), 1;
    std::size_t passes = 0;
    const Schedule schedule = make_schedule(shape);
    for (const auto& stage : schedule.stages) passes += stage.size();
    if (execution_order(schedule).size() != passes) return 1;
  }
  recipe_test();
  std::printf("%zu schedules\\n", EnumNames<ScheduleKind>::names.size());
}
"""


def blocks(root):
    found = dict(BLOCK.findall((root / "CONTRIBUTING.md").read_text()))
    if len(found) != 3:
        sys.exit(f"CONTRIBUTING.md: a source, a line and a test make the recipe, not {list(found)}")
    return found


def write_scratch(root, scratch):
    (scratch / "models").mkdir()
    for entry in (root / "models").iterdir():
        if entry.is_dir() and entry.name not in ("schedules", "inputs"):
            (scratch / "models" / entry.name).symlink_to(entry)
    for room in ("schedules", "inputs"):
        shutil.copytree(root / "models" / room, scratch / "models" / room)
    tests = scratch / "tests" / "models" / "schedules"
    tests.mkdir(parents=True)
    for path, text in blocks(root).items():
        target = scratch / path
        if target.exists():  # the line goes behind the last one of the list
            listed = target.read_text()
            last = list(re.finditer(r'entry\(\w+, "[^"]*"\)', listed))[-1]
            new = " \\\n  " + text.strip().rstrip("\\").strip()
            target.write_text(listed[: last.end()] + new + listed[last.end() :])
        else:
            target.write_text(text)
    (scratch / "catch2").mkdir()
    (scratch / "catch2" / "catch.hpp").write_text(SHIM)
    (scratch / "main.cpp").write_text(MAIN)
    sources = sorted((scratch / "models" / "schedules").glob("*.cpp"))
    sources += sorted(tests.glob("*.cpp"))
    (scratch / "all.cpp").write_text("".join(f'#include "{source}"\n' for source in sources))


def main():
    root, compiler, library, generated = (pathlib.Path(a).absolute() for a in sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        write_scratch(root, scratch)
        program = scratch / "recipe"
        command = [compiler, "-std=c++20", "-O0", "-DFMT_SHARED", "-Wall", "-Wextra", "-Werror"]
        command += ["-I", scratch, "-I", generated]
        command += [scratch / "main.cpp", scratch / "all.cpp", library, "-lfmt", "-o", program]
        subprocess.run([str(part) for part in command], check=True)
        out = subprocess.run([str(program)], text=True, capture_output=True)
        print(out.stdout + out.stderr, end="")
        listed = (root / "models" / "inputs" / "schedule_kind.hpp").read_text()
        expected = len(re.findall(r'entry\(\w+, "', listed)) + 1
        if out.returncode != 0 or out.stdout != f"{expected} schedules\n":
            sys.exit("CONTRIBUTING.md: the recipe for a schedule does not work as it stands")


main()
