# SPDX-License-Identifier: Apache-2.0
"""The program as a person or a script meets it: a command line, an exit code, two streams, a limit of
time and memory. Answers are kept, so that many relations of one case cost one forecast."""

import hashlib
import json
import resource
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

seconds = 60  # of one command: CI machines are slow, an endless loop is endless
memory_bytes = 6 << 30  # address space; a forecast takes some hundred megabytes

WRITTEN = "@written"  # as a word of a command, with an ending: a file that the command writes

EXIT_CODES = {0: "ok", 2: "bad usage or input", 3: "infeasible", 4: "budget violated",
              5: "outside the calibrated range"}


@dataclass(frozen=True)
class Said:
    """What a command said. `code` is None where it did not end in time; `file` is what it wrote to
    WRITTEN."""
    command: tuple
    code: int | None
    out: str
    err: str
    file: str = ""

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
        self._files = tempfile.TemporaryDirectory(prefix="consistency-")

    def file(self, text, name):
        """A file of that text and name in a folder that is its own; the same text has the same place."""
        path = Path(self._files.name) / hashlib.sha256(text.encode()).hexdigest()[:16] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def __call__(self, *command):
        if command not in self._said:
            self._said[command] = self._run(command)
        return self._said[command]

    def forget(self):
        self._said.clear()

    def _run(self, command):
        written = Path(self._files.name) / "written"
        written.unlink(missing_ok=True)
        words = []
        for word in command:
            if word.startswith(WRITTEN):
                written = written.with_suffix(word[len(WRITTEN):])
                written.unlink(missing_ok=True)
                word = str(written)
            words.append(word)
        try:
            done = subprocess.run([self.binary, *words], cwd=self.folder, timeout=seconds,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  errors="replace", preexec_fn=_limits, check=False)
        except subprocess.TimeoutExpired:
            return Said(command, None, "", f"did not end within {seconds} s")
        file = written.read_text(encoding="utf-8") if written.exists() else ""
        return Said(command, done.returncode, done.stdout, done.stderr, file)
