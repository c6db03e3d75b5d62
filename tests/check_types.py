#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A type's name stands for one type: two headers that define it in one namespace break the
one-definition rule, which no compiler reports and which ends in a crash.
usage: check_types.py ROOT"""
import pathlib
import re
import sys

FOLDERS = ["models", "topologies", "scenarios", "sim", "calibration", "planner", "gui"]
TYPE = re.compile(r"^(?:struct|class|enum class) (\w+)(?: final)?(?: :[^;{]*)? ?\{", re.M)
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.M)


def definitions(root):
    """(namespace, type) -> headers"""
    found = {}
    for folder in FOLDERS:
        for header in sorted((root / folder).rglob("*.hpp")):
            text = header.read_text()
            spaces = [(at.start(), at.group(1)) for at in NAMESPACE.finditer(text)]
            for at in TYPE.finditer(text):
                space = next((name for start, name in reversed(spaces) if start < at.start()), "")
                found.setdefault((space, at.group(1)), []).append(header.relative_to(root))
    return found


def main():
    root = pathlib.Path(sys.argv[1])
    found = definitions(root)
    if not found:
        sys.exit(f"no types below {root}")
    twice = {key: headers for key, headers in found.items() if len(headers) > 1}
    for (space, name), headers in sorted(twice.items()):
        print(f"{space}::{name}: " + ", ".join(str(header) for header in headers))
    if twice:
        sys.exit(f"{len(twice)} types are defined more than once")


if __name__ == "__main__":
    main()
