# SPDX-License-Identifier: Apache-2.0
"""Calls as command lines: the program's own table of options says what a function takes."""

from __future__ import annotations

import difflib
import json
import os
import tempfile
from typing import Any, Mapping, NamedTuple, Optional

from . import _core
from ._errors import ScenarioError, UsageError
from ._result import Prediction, Result, Text
from ._scenario import Scenario, setting_text

#: Options that a Scenario brings, in the words of the command line.
SCENARIO_OPTIONS = ("set", "catalog", "root")
#: What stands for values that are lists in one word.
COMMA_LISTS = ("LIST", "NAMES", "SIZES", "KEY=LIST")
USAGE = 2
INTERNAL = 1
INTERRUPTED = 130


def python_name(name: str) -> str:
    """The name of an option, an argument or a command as Python has it."""
    return name.lstrip("-").rstrip(".").replace("-", "_").lower()


class Function(NamedTuple):
    """A command of the program as a function of Python."""

    name: str
    words: tuple  #: the command and its subcommands
    table: dict  #: from _core.commands()

    @property
    def options(self) -> dict:
        """Keyword, flag and table entry; help, force of files and the like included."""
        return {
            python_name(option["names"][0]): option
            for option in self.table["options"]
            if "--help" not in option["names"]
        }

    @property
    def arguments(self) -> list:
        """Names of the positional arguments with their table entries."""
        return [(python_name(entry["argument"]), entry) for entry in self.table["arguments"]]

    @property
    def gives_json(self) -> bool:
        return "json" in self.options


def functions(table: dict, path: tuple = ()) -> list:
    """All functions of a table: import_megatron() for `foretrain import megatron`."""
    found = []
    for command in table["commands"]:
        words = (*path, command["name"])
        # A command that only leads to others is no function of its own.
        if command["arguments"] or len(command["options"]) > 1 or not command["commands"]:
            name = "_".join(python_name(word) for word in words)
            found.append(Function(name, words, command))
        found += functions(command, words)
    return found


class Files:
    """Scenarios that are no files, as the program can read them: the first as standard input, others
    in a folder that goes away."""

    def __init__(self):
        self.input: Optional[str] = None
        self.names: dict = {}
        self.folder: Optional[tempfile.TemporaryDirectory] = None

    def word(self, scenario: Scenario) -> str:
        if scenario.text is None:
            return os.fspath(scenario.source)
        if self.input is None:
            self.input = scenario.text
            self.names["<stdin>"] = scenario.name
            return "-"
        if self.folder is None:
            self.folder = tempfile.TemporaryDirectory(prefix="foretrain-")
        path = os.path.join(self.folder.name, f"{len(self.names)}.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(scenario.text)
        self.names[path] = scenario.name
        return path

    def close(self) -> None:
        if self.folder is not None:
            self.folder.cleanup()


def option_words(option: dict, value: Any) -> list:
    """An option as words: True for a flag, a dict for KEY=VALUE, a list for one that repeats, a tuple
    for one of several words."""
    flag = option["names"][0]
    if value is None or value is False:
        return []
    if value is True and option["value"].startswith("["):
        return [flag]
    if not option["value"]:
        if value is not True:
            raise TypeError(f"{flag} is a flag: True or False, not {value!r}")
        return [flag]
    if isinstance(value, tuple):
        return [flag, *(word_of(item) for item in value)]
    comma = option["value"] in COMMA_LISTS
    if isinstance(value, Mapping):
        items = [f"{key}={value_of(item, comma)}" for key, item in value.items()]
        return [f"{flag}={item}" for item in items]
    if isinstance(value, (list, range)) and not comma:
        return [f"{flag}={word_of(item)}" for item in value]
    return [f"{flag}={value_of(value, comma)}"]


def value_of(value: Any, comma: bool) -> str:
    if comma and isinstance(value, (list, range)):
        return ",".join(word_of(item) for item in value)
    return word_of(value)


def word_of(value: Any) -> str:
    return os.fspath(value) if isinstance(value, os.PathLike) else setting_text(value)


def scenario_words(scenario: Scenario, side: Optional[int]) -> list:
    """What a Scenario changes; with `side` for one of several."""
    prefix = "" if side is None else f"{chr(ord('A') + side)}:"
    words = [f"--set={prefix}{key}={setting_text(v)}" for key, v in scenario.settings.items()]
    words += [f"--catalog={folder}" for folder in scenario.catalogs]
    return words + ([f"--root={scenario.root}"] if scenario.root else [])


def takes_scenario(entry: dict) -> bool:
    return entry["value"].split(" ")[0].rstrip(".") == "SCENARIO"


class Words:
    """The command line of one call."""

    def __init__(self, function: Function):
        self.function = function
        self.files = Files()
        self.options: list = []
        self.positional: list = []
        self.scenarios = 0

    def all(self) -> list:
        """Arguments first, for an option without its value would take what follows; behind a mark
        where they look like options."""
        if any(word.startswith("-") and word != "-" for word in self.positional):
            return [*self.function.words, *self.options, "--", *self.positional]
        return [*self.function.words, *self.positional, *self.options]

    def add_argument(self, entry: dict, value: Any) -> None:
        many = isinstance(value, (list, tuple))
        for item in value if many else [value]:
            if takes_scenario(entry) and not isinstance(item, (str, os.PathLike)):
                scenario = Scenario(item)
                side = self.scenarios if entry["many"] else None
                self.positional.append(self.files.word(scenario))
                self.options += scenario_words(scenario, side)
            else:
                self.positional.append(word_of(item))
            self.scenarios += takes_scenario(entry)

    def add_arguments(self, values: tuple) -> None:
        arguments = self.function.arguments
        for at, value in enumerate(values):
            last = min(at, len(arguments) - 1)
            if not arguments or (at > last and not arguments[last][1]["many"]):
                raise TypeError(f"{self.function.name}() takes {len(arguments)} positional arguments")
            self.add_argument(arguments[last][1], value)

    def add_keyword(self, name: str, value: Any) -> None:
        options = self.function.options
        arguments = dict(self.function.arguments)
        if name in arguments:
            self.add_argument(arguments[name], value)
        elif name in options:
            self.options += option_words(options[name], value)
        else:
            known = [*arguments, *options]
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise TypeError(f"{self.function.name}() has no argument {name!r}{hint}")


def call(function: Function, args: tuple, kwargs: dict) -> Any:
    """Runs a command: a Result of its JSON, or a Text where it prints something else."""
    words = Words(function)
    try:
        words.add_arguments(args)
        for name, value in kwargs.items():
            words.add_keyword(name, value)
        other = any(kwargs.get(form) for form in ("csv", "markdown", "gantt", "emit", "out"))
        as_json = function.gives_json and kwargs.get("json", True) and not other
        if as_json and not kwargs.get("json"):
            words.options.append("--json")
        code, output, lines = run(words.all(), words.files)
    finally:
        words.files.close()
    if not as_json or not output.startswith(("{", "[")):
        return Text(output, code, lines)
    kind = Prediction if function.words == ("simulate",) else Result
    return kind(output, code, lines, (function, args, kwargs))


def run(words: list, files: Files) -> tuple:
    """Exit code, output and messages of a command line; wrong usage is an exception."""
    try:
        code, output, lines = _core.run(words, files.input or "")
    except ScenarioError as error:
        raise error.renamed(files.names) from None
    if code == USAGE:
        raise UsageError("\n".join(lines))
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    return code, output, lines
