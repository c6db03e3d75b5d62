# SPDX-License-Identifier: Apache-2.0
"""Results as notebooks show them: the page of `foretrain report`, or the picture of a command."""

from __future__ import annotations

import html
import os
import tempfile
from typing import Any, Optional

from ._call import Function, call

#: Commands whose scenarios the page of `report` shows.
ON_PAGE = ("simulate", "compare", "plan")
#: What the page takes of their options.
PAGE_OPTIONS = ("set", "catalog", "root")


def page_of(function: Function, args: tuple, kwargs: dict) -> Optional[str]:
    """HTML, or nothing where the command has neither page nor picture."""
    if "svg" in function.options:
        return picture_of(function, args, kwargs)
    imported = any(kwargs.get(source) for source in ("megatron", "hf"))
    if function.words[0] not in ON_PAGE or imported:
        return None
    scenarios = args or tuple(kwargs.get(name) for name, _ in function.arguments)
    options = {name: kwargs[name] for name in PAGE_OPTIONS if name in kwargs}
    if function.words == ("plan",):
        options["plans"] = 20
    page = call(report_function(), scenarios, {**options, "html": "-"})
    # Its scripts draw; a sandbox keeps them away from the notebook.
    return (
        '<iframe sandbox="allow-scripts" style="width:100%;height:640px;border:0" '
        f'srcdoc="{html.escape(str(page), quote=True)}"></iframe>'
    )


def picture_of(function: Function, args: tuple, kwargs: dict) -> Optional[str]:
    with tempfile.TemporaryDirectory(prefix="foretrain-") as folder:
        file = os.path.join(folder, "picture.svg")
        call(function, args, {**kwargs, "svg": file})
        if not os.path.exists(file):
            return None
        with open(file, encoding="utf-8") as picture:
            return picture.read()


def report_function() -> Any:
    from . import _functions

    return _functions["report"]
