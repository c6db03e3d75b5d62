#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints how large the C++ of the product is, by module and room, and holds it to tests/size.csv.

A statement is a `;`, or a `{` that opens a block: one after a space, but not after = , ( { or return
(rows of a table are data); comments and quotes are left out. Lines have code on them.

--update lowers ceilings to what is there, and drops rows of rooms that are gone. It raises none and
adds none: that is an edit of the table, whose commit says what it bought.
Exit status 1 where a row is above its ceiling, or has none."""
import argparse
import collections
import csv
import pathlib
import re
import sys

from product_source import code_alone, sources

TABLE = "tests/size.csv"
COLUMNS = ["room", "statements"]
STATEMENT = re.compile(r";|(?<![=,({]) \{(?<!return \{)")
CODE = re.compile(r"^.*\S", re.M)

Size = collections.namedtuple("Size", "files lines statements")


def size_of(text):
    code = code_alone(text)
    statements = STATEMENT.findall(" ".join(code.split()))  # rows may begin a line
    return Size(1, len(CODE.findall(code)), len(statements))


def rows_of(path):
    """Rows that a file counts in: all, its module, its room."""
    parts = path.split("/")
    yield "all"
    yield parts[0]
    if len(parts) > 2:
        yield "/".join(parts[:2])


def measured(root):
    sizes = {}
    for path, text in sources(root):
        size = size_of(text)
        for row in rows_of(path):
            sizes[row] = Size(*map(sum, zip(sizes.get(row, Size(0, 0, 0)), size)))
    return dict(sorted(sizes.items(), key=lambda item: (item[0] != "all", item[0])))


def read_table(path):
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        if next(reader, None) != COLUMNS:
            sys.exit(f"{TABLE}: columns are {','.join(COLUMNS)}")
        rows = list(reader)
    if any(len(row) != 2 or not row[1].isdigit() for row in rows):
        sys.exit(f"{TABLE}: a row is a module or MODULE/ROOM, and a number")
    return {room: int(statements) for room, statements in rows}


def lowered(sizes, ceilings):
    """The table that --update leaves."""
    return {room: min(ceiling, sizes[room].statements)
            for room, ceiling in ceilings.items() if room in sizes}


def write_table(path, ceilings):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(sorted(ceilings.items(), key=lambda item: (item[0] != "all", item[0])))


def faults(sizes, ceilings):
    for room, size in sizes.items():
        if room not in ceilings:
            yield f"{room} has no row; add one of {size.statements}"
        elif size.statements > ceilings[room]:
            yield (f"{room}: {size.statements} statements, at most {ceilings[room]}; take out "
                   f"{size.statements - ceilings[room]}, or raise the row and say in the commit "
                   "what that buys")


def print_table(sizes, ceilings):
    print(f"{'module, room':28}{'files':>7}{'lines':>9}{'statements':>12}{'ceiling':>9}{'+/-':>7}")
    for room, size in sizes.items():
        ceiling = ceilings.get(room)
        held = f"{ceiling:9}{size.statements - ceiling:+7}" if ceiling is not None else "     none"
        name = room if "/" not in room else "  " + room.split("/")[1]
        print(f"{name:28}{size.files:7}{size.lines:9}{size.statements:12}{held}")


def main():
    parser = argparse.ArgumentParser(
        prog="dev size", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="lower ceilings to what is there")
    parser.add_argument("root", nargs="?", default=pathlib.Path(__file__).parent.parent)
    options = parser.parse_args()
    root = pathlib.Path(options.root).resolve()
    sizes = measured(root)
    ceilings = read_table(root / TABLE)
    if options.update:
        ceilings = lowered(sizes, ceilings)
        write_table(root / TABLE, ceilings)
    print_table(sizes, ceilings)
    wrong = list(faults(sizes, ceilings))
    for line in wrong:
        print(f"{TABLE}: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
