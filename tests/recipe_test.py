#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds what a recipe of CONTRIBUTING.md makes from its text and runs the recipe's test.

The code blocks go into a copy of the rooms that they touch; the room of the new file is compiled
anew, and linked with the rest of the models library as it was built. Then every registered schedule
must run to its end, or every collective must hand over by steps what it hands over as a whole.

usage: recipe_test.py schedule|collective REPOSITORY_ROOT COMPILER MODELS_LIBRARY GENERATED_HEADERS
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BLOCK = r"<!-- recipe: %s (\S+) -->\n```\w+\n(.*?)```"

SHIM = """#pragma once
#include <cstdio>
#include <cstdlib>
#define TEST_CASE(name, tags) void recipe_test()
#define CHECK(...) \\
  if (!(__VA_ARGS__)) std::printf("does not hold: %s\\n", #__VA_ARGS__), std::exit(1)
"""

SCHEDULES = """#include <cstdio>
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


COLLECTIVES = """#include <cmath>
#include <cstdio>
#include <map>
#include <utility>
#include "models/collectives/registry.hpp"
namespace foretrain { void recipe_test(); }
int main() {
  using namespace foretrain;
  using Edges = std::map<std::pair<int, int>, double>;
  const Seats seats = seats_of({0, 1, 2, 3, 8, 9, 10, 11}, {8, 8});
  for (const CollectiveScheme& scheme : collective_schemes())
    for (const auto& [op, name] : EnumNames<CollectiveOp>::names) {
      const CollectiveProblem problem{op, seats, 0};
      if (!scheme.refusal(problem).empty() || scheme.steps == nullptr) continue;
      Edges whole;
      const int phases = static_cast<int>(scheme.phases(problem).size());
      for (int phase = 0; phase < phases; ++phase)
        scheme.emit(problem, phase, [&](const Transfer& t) { whole[{t.from, t.to}] += t.share; });
      const StepPlan plan = scheme.steps(problem, 3);
      for (const StepTransfer& t : plan.transfers)
        whole[{t.from, t.to}] -= t.blocks * plan.block_share;
      for (const auto& [edge, left] : whole)
        if (std::abs(left) > 1e-9) return std::printf("%s differs\\n", scheme.name.data()), 1;
    }
  recipe_test();
  std::printf("%zu collectives\\n", collective_schemes().size());
}
"""


class Recipe:
    """Where a recipe's code goes: the room of the new file, the rooms whose files its lines change,
    what runs it, and where the registry of the repository lists what there is."""

    def __init__(self, room, copied, main, registry, listed):
        self.room, self.copied, self.main = room, copied, main
        self.registry, self.listed = registry, listed


RECIPES = {
    "schedule": Recipe("schedules", ("inputs", "schedules"), SCHEDULES,
                       "inputs/schedule_kind.hpp", r'entry\(\w+, "'),
    "collective": Recipe("collectives", ("collectives",), COLLECTIVES,
                         "collectives/registry.hpp", r"entry\(\w+\) *\\?\n"),
}


def blocks(root, kind):
    found = dict(re.findall(BLOCK % kind, (root / "CONTRIBUTING.md").read_text(), re.S))
    if len(found) < 3:
        sys.exit(f"CONTRIBUTING.md: sources, a line and a test make the recipe, not {list(found)}")
    return found


def with_line(listed, text):
    """A list of the repository with the recipe's line behind the last one of its kind."""
    last = list(re.finditer(r"(?<=  )entry\([^()]*\)", listed))[-1]
    new = " \\\n  " + text.strip().rstrip("\\").strip()
    return listed[: last.end()] + new + listed[last.end() :]


def write_scratch(root, scratch, kind):
    recipe = RECIPES[kind]
    (scratch / "models").mkdir()
    for entry in (root / "models").iterdir():
        if entry.is_dir() and entry.name not in recipe.copied:
            (scratch / "models" / entry.name).symlink_to(entry)
    for room in recipe.copied:
        shutil.copytree(root / "models" / room, scratch / "models" / room)
    tests = scratch / "tests" / "models" / recipe.room
    tests.mkdir(parents=True)
    for path, text in blocks(root, kind).items():
        target = scratch / path
        target.write_text(with_line(target.read_text(), text) if target.exists() else text)
    (scratch / "catch2").mkdir()
    (scratch / "catch2" / "catch.hpp").write_text(SHIM)
    (scratch / "main.cpp").write_text(recipe.main)
    sources = sorted((scratch / "models" / recipe.room).glob("*.cpp"))
    sources += sorted(tests.glob("*.cpp"))
    (scratch / "all.cpp").write_text("".join(f'#include "{source}"\n' for source in sources))


def main():
    kind = sys.argv[1]
    root, compiler, library, generated = (pathlib.Path(a).absolute() for a in sys.argv[2:])
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        write_scratch(root, scratch, kind)
        program = scratch / "recipe"
        command = [compiler, "-std=c++20", "-O0", "-DFMT_SHARED", "-Wall", "-Wextra", "-Werror"]
        command += ["-I", scratch, "-I", generated]
        command += [scratch / "main.cpp", scratch / "all.cpp", library, "-lfmt", "-o", program]
        subprocess.run([str(part) for part in command], check=True)
        out = subprocess.run([str(program)], text=True, capture_output=True)
        print(out.stdout + out.stderr, end="")
        listed = (root / "models" / RECIPES[kind].registry).read_text()
        expected = len(re.findall(RECIPES[kind].listed, listed)) + 1
        if out.returncode != 0 or out.stdout != f"{expected} {kind}s\n":
            sys.exit(f"CONTRIBUTING.md: the recipe for a {kind} does not work as it stands")


main()
