# SPDX-License-Identifier: Apache-2.0
"""Forecasts of LLM training: memory, step time, cost, before anything is bought or started.

    import foretrain
    foretrain.simulate("run.yaml", set={"parallel.tensor": 4}).step.time_s

Each command of the program `foretrain` is a function here, with the options of the command as
keywords; what it returns holds the numbers of the command's --json. foretrain.help("plan") prints what
a function takes."""

from __future__ import annotations

import os as _os
from typing import Any, Mapping, Optional

from . import _core
from ._call import Function as _Function, call as _call, functions as _list
from ._errors import (
    Diagnostic,
    Error,
    MachineError,
    PlugInMissing,
    ScenarioError,
    TooLarge,
    UsageError,
)
from ._result import Prediction, Record, Result, Text
from ._scenario import Scenario, setting_text as _setting_text

__version__ = _core.version

_functions = {function.name: function for function in _list(_core.commands())}


def _described(function: _Function) -> str:
    lines = [function.table["help"] + ".", ""]
    entries = [(name, entry) for name, entry in function.arguments]
    entries += [(name, entry) for name, entry in function.options.items()]
    for name, entry in entries:
        lines.append(f"    {name}: {entry['help']}")
    notes = function.table["notes"]
    return "\n".join(lines + (["", notes] if notes else []))


def _function_of(function: _Function) -> Any:
    def run(*args: Any, **kwargs: Any) -> Any:
        return _call(function, args, kwargs)

    run.__name__ = run.__qualname__ = _python_name(function.name)
    run.__module__ = "foretrain"
    run.__doc__ = _described(function)
    return run


def _python_name(name: str) -> str:
    import keyword

    return name + "_" if keyword.iskeyword(name) else name


for _name, _entry in _functions.items():
    globals()[_python_name(_name)] = _function_of(_entry)

_slow_simulate = globals()["simulate"]


def simulate(scenario: Any = None, *args: Any, **kwargs: Any) -> Any:
    settings: Optional[Mapping[str, Any]] = kwargs.get("set")
    if scenario is None or args or (kwargs and (settings is None or len(kwargs) > 1)):
        return _slow_simulate(*(() if scenario is None else (scenario,)), *args, **kwargs)
    path, catalogs = scenario, ()
    if isinstance(scenario, Scenario):
        path, catalogs = scenario.source, scenario.catalogs
        settings = {**scenario.settings, **(settings or {})}
        if scenario.text is not None or scenario.root is not None:
            return _slow_simulate(scenario, **kwargs)
    if not isinstance(path, (str, _os.PathLike)) or path == "-":
        return _slow_simulate(scenario, **kwargs)
    if settings is not None and not isinstance(settings, Mapping):
        return _slow_simulate(scenario, **kwargs)
    keys = list(settings) if settings else []
    values = [v if type(v) is str else _setting_text(v) for v in settings.values()] if keys else []
    quick = _core.quick(_os.fspath(path), keys, values, list(catalogs))
    if quick is None:
        return _slow_simulate(scenario, **kwargs)
    return Prediction.quick(
        quick,
        lambda: _slow_simulate(scenario, **kwargs),
        (_functions["simulate"], (scenario,), kwargs),
    )


simulate.__doc__ = _slow_simulate.__doc__


def help(name: str) -> None:  # noqa: A001
    """Prints what a function takes: foretrain.help("plan")."""
    print(globals()[_python_name(name)].__doc__)


__all__ = [
    *(_python_name(_name) for _name in _functions),
    "Diagnostic", "Error", "MachineError", "PlugInMissing", "Prediction", "Record", "Result",
    "Scenario", "ScenarioError", "Text", "TooLarge", "UsageError", "help",
]
