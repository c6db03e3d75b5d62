# SPDX-License-Identifier: Apache-2.0
"""What must hold of files: those that are read, those that are written and read again, and those that
are no scenario."""

import random
import re
from pathlib import Path

from relations import relation

# --- 5: unknown keys --------------------------------------------------------------------------

SMALL = "scenarios/llama3-8b-8xh100.yaml"
SERVED = "scenarios/serving/llama3.1-70b-8xh100.yaml"

# Entries of catalogs and profiles: kind, name, folder below the option's, option, a scenario that reads it.
ENTRIES = [("models", "llama3-8b", "models", "--catalog", SMALL),
           ("devices", "h100-sxm5-80gb", "devices", "--catalog", SMALL),
           ("hosts", "dgx-h100", "hosts", "--catalog", SMALL),
           ("fabrics", "ib-ndr", "fabrics", "--catalog", SMALL),
           ("links", "ib-ndr", "links", "--catalog", SMALL),
           ("stacks", "megatron-core", "stack", "--profiles", SMALL),
           ("sites", "default", "site", "--profiles", SMALL),
           ("device-profiles", "h100-sxm5-80gb", "device", "--profiles", SMALL),
           ("engines", "vllm", "engine", "--profiles", SERVED)]

# Files by themselves, and the command that reads them.
FILES = [("scenarios/*.yaml", ("simulate",)), ("scenarios/serving/*.yaml", ("simulate",)),
         ("scenarios/post-training/*.yaml", ("simulate",)), ("scenarios/clusters/*.yaml", ("cluster",)),
         ("calibration/measured/runs.yaml", ("validate", "--runs")),
         ("calibration/measured/inference_runs.yaml", ("validate", "--inference")),
         ("calibration/measured/runs_more.yaml", ("calibrate", "fit", "--runs"))]

KEY = re.compile(r"^((?:[^\"'#\n]*[ {-])?)([a-z][a-z_0-9]{2,})(?=:(?:\s|$))", re.MULTILINE)


def misspelt(text, draw):
    """The text with a letter too many in a key, and that key."""
    place = draw.choice(list(KEY.finditer(text)))
    key = place.group(2) + "q"
    return text[:place.start(2)] + key + text[place.end(2):], key


def _with_unknown_key(program, draw):
    """A command whose file has an unknown key, and the key."""
    which = draw.choice(ENTRIES + FILES)
    if which in FILES:
        pattern, command = which
        texts = [path.read_text(encoding="utf-8") for path in sorted(Path(program.folder).glob(pattern))]
        text, key = misspelt(draw.choice([text for text in texts if "\nextends:" not in text]), draw)
        return (*command, str(program.file(text, "file.yaml"))), key
    kind, name, folder, option, scenario = which
    text, key = misspelt(program("show", kind, name, "--json").json()["text"], draw)
    path = program.file(text, f"{folder}/{name}.yaml")
    return ("simulate", scenario, option, str(path.parent.parent)), key


@relation(share=2)
def an_unknown_key_is_refused_by_name(program, case):
    """In a file of some kind, which the text of the case draws."""
    command, key = _with_unknown_key(program, random.Random(case.text()))
    said = program(*command)
    if said.code != 2 or key not in said.err:
        yield f"{said.line} has an unknown key {key}, exit code {said.code}: {said.err[:200]}"
