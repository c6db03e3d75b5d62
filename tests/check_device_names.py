#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no text in the program's sources names a device, a host, a fabric or a site of the
catalogs: what is true of one of them stands in its file, or in calibration/measured.
Prints one line per name.
usage: check_device_names.py [REPOSITORY_ROOT]; exit status 1 when something is wrong."""
import pathlib
import re
import sys

MODULES = ("models", "topologies", "scenarios", "sim", "calibration", "planner", "gui")
CATALOGS = ("topologies/catalog/devices", "topologies/catalog/hosts", "topologies/catalog/fabrics",
            "topologies/catalog/links", "calibration/profiles/site")

# Sites whose names are words as well: a framework's, a project's, "by default".
WORDS = {"default", "nanotron", "internevo", "aleph-alpha", "vtrain"}

# Examples that people read and type; nothing is decided by them.
EXAMPLES = (
    # Tables of keys: what the reference pages print as an example of a value.
    (re.compile(r"scenarios/(sections/\w+_keys|catalog/catalog_\w+)\.[ch]pp|"
                r"scenarios/catalog/internal/measurement_keys\.hpp|"
                r"calibration/records/(run_source_keys|record_networks)\.cpp"),
     re.compile(r'^"([^ ]*|\[.*\])"$')),
    # Commands under "Examples:" in the help, and what their options say after "e.g.".
    (re.compile(r"planner/cli/.*\.cpp"), re.compile(r'^"( *foretrain |    +--|.*, e\.g\. )')),
    # A claim as people write one.
    (re.compile(r"planner/(explain/claim_parser|cli/ask/explain_command)\.cpp"),
     re.compile(r"2 T tokens|understood are tokens")),
)


def names(root):
    """What people call the entries of the catalogs."""
    found = set()
    for folder in CATALOGS:
        for file in (root / folder).glob("*.yaml"):
            found.add(file.stem)
            for line in file.read_text(encoding="utf-8").splitlines():
                if re.match(r"(aliases|short_names): ", line):
                    listed = line.split("[", 1)[1].rstrip("] ")
                    found.update(part.strip(' "') for part in listed.split(","))
    if not found:
        sys.exit("no catalogs in " + str(root))
    return found - WORDS


def texts(line):
    """String literals of a line, comments left out."""
    code = line if not line.startswith("#include") else ""
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|//.*', code):
        if match.group().startswith("//"):
            return
        yield match.group()


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    known = sorted(map(re.escape, names(root)), key=len, reverse=True)
    pattern = re.compile(r"(?<![\w.-])(" + "|".join(known) + r")(?![\w-]|\.yaml)")
    wrong = 0
    for module in MODULES:
        for file in sorted((root / module).rglob("*.[ch]pp")):
            path = file.relative_to(root).as_posix()
            examples = [text for where, text in EXAMPLES if where.fullmatch(path)]
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                for text in texts(line):
                    if any(example.search(text) for example in examples):
                        continue
                    for match in pattern.finditer(text):
                        print(f"{path}:{number}: names {match.group()}; write what is true of it "
                              "in its file of the catalog")
                        wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
