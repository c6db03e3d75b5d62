#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts how many files of the product name a concept, and holds each count to tests/fanout.csv.

An idea that many files name has to be changed in many files. Columns of the table:
  concept  what is counted
  count    files: those that match; rooms: folders MODULE/ROOM with one that matches;
           units: sources (.cpp) that match, or include a header of ours that does
  in       cpp: C++ of the product; else files that match this glob, e.g. planner/schemas/*.json
  ceiling  the count of today
  goal     what it shall become
  pattern  regular expression (Python) over the text; comments of C++ are left out
  why      what the pattern takes for the concept
A count above its ceiling fails, and names what was added since the table last changed. One below
fails as well, until the ceiling is lowered: --update does that, and raises none.
Exit status 1 when something is wrong."""
import argparse
import csv
import pathlib
import re
import shutil
import subprocess
import sys

from product_source import sources, without_comments

TABLE = "tests/fanout.csv"
COLUMNS = ["concept", "count", "in", "ceiling", "goal", "pattern", "why"]
COUNTS = ("files", "rooms", "units")
MODULES = ("sim", "models", "topologies", "planner", "gui", "calibration", "scenarios", "commands")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)


def read_table(path):
    """Rows of the table, and what is wrong with them."""
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != COLUMNS:
            sys.exit(f"{TABLE}: columns are {','.join(COLUMNS)}")
        rows = list(reader)
    wrong = []
    for row in rows:
        name = row["concept"]
        if row["count"] not in COUNTS:
            wrong.append(f"{name}: counts {row['count']}; one of {', '.join(COUNTS)}")
        if not (row["ceiling"].isdigit() and row["goal"].isdigit() and row["why"]):
            wrong.append(f"{name}: ceiling and goal are numbers, and why is not empty")
        try:
            re.compile(row["pattern"])
        except re.error as error:
            wrong.append(f"{name}: {error}")
    if len({row["concept"] for row in rows}) < len(rows):
        wrong.append("a concept stands there twice")
    return rows, wrong


def included(files):
    """Path -> those headers of ours that it includes, directly or not."""
    direct = {path: [name for name in INCLUDE.findall(text) if name in files]
              for path, text in files.items()}
    reached = {}
    for start in direct:
        seen, left = set(), [start]
        while left:
            fresh = [name for name in direct[left.pop()] if name not in seen]
            seen.update(fresh)
            left += fresh
        reached[start] = seen
    return reached


def texts(root, where, cpp):
    if where == "cpp":
        return cpp
    return {file.relative_to(root).as_posix(): file.read_text(encoding="utf-8")
            for file in sorted(root.glob(where))}


def counted(row, files, reach):
    pattern = re.compile(row["pattern"])
    named = [path for path, text in files.items() if pattern.search(text)]
    if row["count"] == "rooms":
        return sorted({"/".join(path.split("/")[:2]) for path in named})
    if row["count"] == "units":
        holders = set(named)
        return sorted(path for path in files
                      if path.endswith(".cpp") and (path in holders or reach()[path] & holders))
    return named


def added(root, row, found):
    """Of these files those that did not match when the table last changed; all where git cannot
    tell."""
    def git(*words):
        return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True)

    if row["count"] != "files" or not shutil.which("git"):
        return found
    commit = git("log", "-1", "--format=%H", "--", TABLE).stdout.strip()
    pattern = re.compile(row["pattern"])
    fresh = []
    for path in found:
        then = git("show", f"{commit}:./{path}") if commit else None
        if then and (then.returncode or not pattern.search(without_comments(then.stdout))):
            fresh.append(path)
    return fresh or found


def write_table(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="lower ceilings to the counts")
    parser.add_argument("root", nargs="?", default=pathlib.Path(__file__).parent.parent)
    options = parser.parse_args()
    root = pathlib.Path(options.root).resolve()
    rows, wrong = read_table(root / TABLE)
    if wrong:
        sys.exit("\n".join(f"{TABLE}: {line}" for line in wrong))

    cpp = {path: without_comments(text) for path, text in sources(root, MODULES)}
    known = []

    def reach():
        if not known:
            known.append(included(cpp))
        return known[0]

    for row in rows:
        found = counted(row, texts(root, row["in"], cpp), reach)
        ceiling = int(row["ceiling"])
        if len(found) > ceiling:
            wrong.append(f"{row['concept']}: {row['count']} are {len(found)}, at most {ceiling} "
                         f"(goal {row['goal']}); more than before:")
            wrong += ["  " + path for path in added(root, row, found)]
        elif len(found) < ceiling and options.update:
            row["ceiling"] = str(len(found))
        elif len(found) < ceiling:
            wrong.append(f"{row['concept']}: {row['count']} are {len(found)}; lower the ceiling of "
                         f"{ceiling} to {len(found)} (check_fanout.py --update)")
        print(f"{row['concept']:38} {row['count']:5} {len(found):4}, goal {row['goal']:>3}")
    if options.update:
        write_table(root / TABLE, rows)
    for line in wrong:
        print(line if line.startswith("  ") else f"{TABLE}: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
