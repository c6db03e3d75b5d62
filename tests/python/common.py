# SPDX-License-Identifier: Apache-2.0
"""What all tests of the package share."""

import os
import subprocess

PROGRAM = os.environ["FORETRAIN_PROGRAM"]
SOURCE = os.environ["FORETRAIN_SOURCE"]
DENSE = os.path.join(SOURCE, "scenarios", "llama3.1-70b-1024xh100.yaml")
SMALL = os.path.join(SOURCE, "scenarios", "llama3-8b-8xh100.yaml")


def program(*words, text=None):
    """Exit code, standard output and standard error of the program."""
    done = subprocess.run(
        [PROGRAM, *words], input=text, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr
