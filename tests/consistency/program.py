# SPDX-License-Identifier: Apache-2.0
"""The program as a person or a script meets it: a command line, an exit code, two streams, a limit of
time and memory. Answers are kept, so that many relations of one case cost one forecast."""

import json
import resource
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

seconds = 60  # of one command: CI machines are slow, an endless loop is endless
memory_bytes = 6 << 30  # address space; a forecast takes some hundred megabytes

EXIT_CODES = {0: "ok", 2: "bad usage or input", 3: "infeasible", 4: "budget violated",
              5: "outside the calibrated range"}


@dataclass(frozen=True)
class Said:
    """What a command said. `code` is None where it did not end in time."""
    command: tuple
    code: int | None
    out: str
    err: str

    @property
    def line(self):
        return "foretrain " + shlex.join(self.command)

    def json(self):
        """Null where the command printed no JSON; other output is a finding, not an error here."""
        try:
            return json.loads(self.out)
        except ValueError:
            return None


def _limits():
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Program:
    """Runs `binary` in `folder`, the root of the repository."""

    def __init__(self, binary, folder):
        self.binary = str(Path(binary).resolve())
        self.folder = str(Path(folder).resolve())
        self._said = {}

    def __call__(self, *command):
        if command not in self._said:
            self._said[command] = self._run(command)
        return self._said[command]

    def forget(self):
        self._said.clear()

    def _run(self, command):
        try:
            done = subprocess.run([self.binary, *command], cwd=self.folder, timeout=seconds,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  errors="replace", preexec_fn=_limits, check=False)
        except subprocess.TimeoutExpired:
            return Said(command, None, "", f"did not end within {seconds} s")
        return Said(command, done.returncode, done.stdout, done.stderr)
