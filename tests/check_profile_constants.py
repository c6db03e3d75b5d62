#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no profile states a constant that is the same in all of its kind and that no fit
moves: that is the default of its key, and stands once, in the code that reads it.
Prints one line per constant and file.
usage: check_profile_constants.py [REPOSITORY_ROOT]; exit status 1 when something is wrong."""
import csv
import pathlib
import re
import sys

KINDS = {"stacks": "stack", "sites": "site", "device-profiles": "device"}


def constants(root, kind):
    """Keys of a kind of profile whose value, inherited or not, is one and the same everywhere."""
    with open(root / f"tests/golden/{kind}.expected.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    return {row[0] for row in rows if len(set(row[1:])) == 1}


def stated(file):
    """Keys of a profile as paths, with their lines; groups on one line are split, too."""
    path = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        line = line.split(" #")[0]
        match = re.match(r"( *)([\w.]+):(.*)", line)
        if not match:
            continue
        path = path[: len(match[1]) // 2] + [match[2]]
        yield ".".join(path), number
        for inner in re.findall(r"[{,] *(\w+):", match[3]):
            yield ".".join(path + [inner]), number


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    fits = (root / "calibration/fits/steps.yaml").read_text(encoding="utf-8")
    wrong = 0
    for kind, folder in KINDS.items():
        same = {key for key in constants(root, kind) if not re.search(rf"\b{re.escape(key)}\b", fits)}
        for file in sorted((root / "calibration/profiles" / folder).glob("*.yaml")):
            for key, number in stated(file):
                if key in same:
                    print(f"{file.relative_to(root)}:{number}: {key} is the same in all {kind}; "
                          "leave it to the default of its key")
                    wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
