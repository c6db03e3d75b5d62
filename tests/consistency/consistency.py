#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the program's answers against each other, on cases that nobody wrote down.

consistency.py PROGRAM ROOT [--first N] [--cases N] [--seconds S] [--relation NAME] [--write FOLDER]

Exit code 0: every relation holds on every case; 1: findings, each with the smallest case that shows it.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import file_relations  # noqa: E402,F401
from cases import Case, draw_case, files_of, keys_of, shrunk  # noqa: E402
from program import Program  # noqa: E402
from relations import RELATIONS  # noqa: E402


def known_of(folder):
    """Findings that stand on record: "relation: start of the finding", a reason behind '#'."""
    lines = (Path(folder) / "known.txt").read_text(encoding="utf-8").splitlines()
    return [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]


def findings_of(relation, program, case):
    if relation.works and case.work not in relation.works:
        return []
    return list(relation(program, case))


def is_known(relation, finding, known):
    return any(line.partition(": ")[0] == relation.__name__ and line.partition(": ")[2] in finding
               for line in known)


def look(relations, program, case, known):
    """Findings of one case, each with the smallest case that still has one of that relation."""
    for relation in relations:
        found = [text for text in findings_of(relation, program, case)
                 if not is_known(relation, text, known)]
        if not found:
            continue

        def fails(smaller, relation=relation):
            return any(not is_known(relation, text, known)
                       for text in findings_of(relation, program, smaller))
        small = shrunk(case, fails)
        yield relation.__name__, [text for text in findings_of(relation, program, small)][0], small


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("root")
    parser.add_argument("--first", type=int, default=1, help="seed of the first case")
    parser.add_argument("--cases", type=int, default=150)
    parser.add_argument("--seconds", type=float, help="as many cases as fit into so many seconds")
    parser.add_argument("--relation", action="append", default=[])
    parser.add_argument("--file", help="one scenario, with --set, in place of drawn ones")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--write", help="a folder for the cases that fail, a file each")
    return parser.parse_args()


def cases_of(options, program):
    if options.file:
        return [(0, Case(options.file, tuple(options.settings)))]
    files, keys = files_of(options.root), keys_of(program)
    count = options.cases if options.seconds is None else 10 ** 9
    return ((seed, draw_case(seed, files, keys))
            for seed in range(options.first, options.first + count))


def main():
    options = arguments()
    program = Program(options.program, options.root)
    relations = [r for r in RELATIONS if not options.relation or r.__name__ in options.relation]
    if options.relation and len(relations) < len(set(options.relation)):
        sys.exit("consistency: relations are " + ", ".join(r.__name__ for r in RELATIONS))
    known = [] if options.file else known_of(Path(__file__).resolve().parent)
    end = time.monotonic() + (options.seconds or 1e9)
    looked = failed = 0
    for seed, case in cases_of(options, program):
        if time.monotonic() > end:
            break
        looked += 1
        due = [one for one in relations if seed % one.share == 0]
        for name, finding, small in look(due, program, case, known):
            failed += 1
            print(f"{name}: {finding}\n  case {seed}: {small.text()}", flush=True)
            if options.write:
                target = Path(options.write)
                target.mkdir(parents=True, exist_ok=True)
                (target / f"{name}-{seed}.txt").write_text(f"{small.text()}\n{finding}\n")
        program.forget()
    print(f"{looked} cases, {len(relations)} relations, {failed} findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
