#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds retired words in what people read: string literals of the product's C++, its page and
scripts, Markdown, scenarios, catalogs and profiles. tests/retired_words.txt lists them with the
terms that replace them. Comments of sources are free.

usage: check_words.py ROOT [LIST]; exit 1 where a text uses one.
"""
import pathlib
import re
import sys

MODULES = ["models", "topologies", "scenarios", "sim", "calibration", "planner", "gui"]
# Measured records and catalogs quote their sources; nothing shows the plan of the fit.
QUOTED = ["calibration/measured", "calibration/fits", "models/catalog", "topologies/catalog"]
TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|'(?:[^'\\\n]|\\.)+'|R\"(\w*)\((.*?)\)\1\"|\"((?:[^\"\\\n]|\\.)*)\"", re.S)


def literals(text):
    """(position, text) of every C++ string literal, adjacent ones joined."""
    found = []
    end = None
    for match in TOKEN.finditer(text):
        raw, plain = match.group(2), match.group(3)
        line = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        if (raw is None and plain is None) or line.lstrip().startswith("#include"):
            continue
        body = raw if raw is not None else re.sub(r"\\[nt]", " ", plain)
        if end is not None and not text[end:match.start()].strip():
            found[-1] = (found[-1][0], found[-1][1] + body)
        else:
            found.append((match.start(), body))
        # A user-defined suffix belongs to the literal.
        end = match.end() + len(re.match(r"(?:_\w+)?", text[match.end():]).group())
    return found


def passages(path):
    """(line, text) of what people read in a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".cpp", ".hpp"):
        return [(text.count("\n", 0, at) + 1, body) for at, body in literals(text)]
    return [(1, text)]


def files(root):
    for module in MODULES:
        for suffix in ("cpp", "hpp", "js", "html", "md", "yaml"):
            yield from sorted((root / module).rglob("*." + suffix))
    for pattern in ("*.md", "dev", "docs/**/*.md", "docs/**/*.yaml", ".ci/**/*.md",
                    ".ci/**/*.yml", "tests/README.md"):
        yield from sorted(root.glob(pattern))


def retired(path):
    rules = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        pattern, tab, instead = line.partition("\t")
        if not tab or not instead.strip():
            sys.exit(f"{path}:{number}: a pattern, a tab and the term to use instead")
        rules.append((re.compile(pattern.replace(" ", r"\s+"), re.I), instead))
    if not rules:
        sys.exit(f"{path}: lists no word")
    return rules


def main():
    root = pathlib.Path(sys.argv[1])
    rules = retired(pathlib.Path(sys.argv[2]) if len(sys.argv) > 2
                    else root / "tests" / "retired_words.txt")
    read = found = 0
    for path in files(root):
        name = path.relative_to(root).as_posix()
        if any(name.startswith(folder) for folder in QUOTED) and path.suffix != ".md":
            continue
        read += 1
        for line, text in passages(path):
            for pattern, instead in rules:
                for match in pattern.finditer(text):
                    at = line + (text.count("\n", 0, match.start()) if path.suffix not in
                                 (".cpp", ".hpp") else 0)
                    word = re.sub(r"\s+", " ", match.group())
                    print(f"{name}:{at}: '{word}': use {instead}")
                    found += 1
    if not read:
        sys.exit(f"{root}: no file to read")
    if found:
        sys.exit(f"{found} retired words; tests/retired_words.txt has the terms to use")


main()
