# SPDX-License-Identifier: Apache-2.0
"""C++ of the product as the checks of the repository read it."""
import re

MODULES = ("models", "topologies", "scenarios", "sim", "calibration", "planner", "commands", "gui",
           "python")
SUFFIXES = {".cpp", ".hpp", ".h", ".cu", ".cuh"}

# Quotes and comments; an apostrophe that separates digits is neither.
TOKEN = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:[^\'\\\n]|\\[^\n]{1,8}?)\''
                   r'|//[^\n]*|/\*.*?\*/', re.S)


def sources(root, modules=MODULES):
    """(path below the root, text) of every C++ file, by path."""
    for module in modules:
        for file in sorted((root / module).rglob("*.*")):
            if file.suffix in SUFFIXES:
                yield file.relative_to(root).as_posix(), file.read_text(encoding="utf-8")


def without_comments(text):
    return TOKEN.sub(lambda token: " " if token[0][0] == "/" else token[0], text)


def code_alone(text):
    """Without comments, and with nothing between quotes."""
    return TOKEN.sub(lambda token: " " if token[0][0] == "/" else '""', text)
