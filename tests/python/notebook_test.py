#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the notebooks of docs/notebooks and holds what they print against what they show.
FORETRAIN_UPDATE_GOLDEN=1 writes it into them."""

import ast
import contextlib
import io
import json
import os
import unittest
from pathlib import Path

from common import SOURCE

FOLDER = Path(SOURCE) / "docs" / "notebooks"


def run_cell(source, names):
    """Text that a cell prints, with the value of its last line as a notebook shows it."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
            if value is not None:
                if hasattr(value, "_repr_html_"):
                    assert value._repr_html_(), "nothing to show"
                print(repr(value))
    return printed.getvalue()


def stored_text(cell):
    return "".join("".join(output["text"]) for output in cell["outputs"])


class Notebooks(unittest.TestCase):
    def test_outputs(self):
        files = sorted(FOLDER.glob("*.ipynb"))
        self.assertGreaterEqual(len(files), 2)
        os.chdir(SOURCE)
        for file in files:
            book = json.loads(file.read_text(encoding="utf-8"))
            names = {}
            for cell in book["cells"]:
                if cell["cell_type"] != "code":
                    continue
                text = run_cell("".join(cell["source"]), names)
                if os.environ.get("FORETRAIN_UPDATE_GOLDEN"):
                    lines = text.splitlines(keepends=True)
                    cell["outputs"] = (
                        [{"name": "stdout", "output_type": "stream", "text": lines}] if text else []
                    )
                self.assertEqual(text, stored_text(cell), f"{file.name}: {cell['source']}")
            if os.environ.get("FORETRAIN_UPDATE_GOLDEN"):
                file.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    unittest.main()
