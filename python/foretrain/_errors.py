# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, as exceptions."""

from __future__ import annotations

from typing import NamedTuple


class Diagnostic(NamedTuple):
    """One thing wrong in a scenario, a catalog or a setting."""

    file: str  #: as it was named; "--set" for settings, "<dict>" for a scenario that is a dict
    line: int  #: from 1; 0: no place
    column: int  #: from 1
    key: str  #: dotted path of the key; empty for the whole file
    message: str  #: what is wrong and what would be right

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"


class Error(Exception):
    """Base of all errors of Foretrain."""


class UsageError(Error, ValueError):
    """Something was asked for that does not exist or cannot be understood."""


class ScenarioError(UsageError):
    """Errors in a scenario, all at once; file, line and key are those of the first."""

    def __init__(self, places):
        self.diagnostics = [Diagnostic(*place) for place in places]
        super().__init__("\n".join(str(place) for place in self.diagnostics))

    @property
    def file(self) -> str:
        return self.diagnostics[0].file

    @property
    def line(self) -> int:
        return self.diagnostics[0].line

    @property
    def key(self) -> str:
        return self.diagnostics[0].key

    def renamed(self, names: dict) -> "ScenarioError":
        """The same with other names of files."""
        return ScenarioError([(names.get(d.file, d.file), *d[1:]) for d in self.diagnostics])


class TooLarge(Error, ValueError):
    """A legal question whose answer is larger than memory allows."""


class PlugInMissing(Error, RuntimeError):
    """An engine that is not installed was asked for."""


class MachineError(Error, RuntimeError):
    """The machine refused what is needed: a full disk, no processes, no open files."""
