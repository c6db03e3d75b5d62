# SPDX-License-Identifier: Apache-2.0
"""Scenarios: where they come from, and what is changed in them."""

from __future__ import annotations

import json
import os
from typing import Any, Mapping, Optional, Sequence, Union


def setting_text(value: Any) -> str:
    """A value as --set takes it: text as it is, everything else in JSON, which is YAML."""
    return value if isinstance(value, str) else json.dumps(value)


class Scenario:
    """A scenario with changes: a path, a dict or YAML text, and keys that are set to other values.

    Every function takes one in place of a path. Nothing is read before it is needed."""

    def __init__(
        self,
        source: Union[str, os.PathLike, Mapping, "Scenario"],
        *,
        set: Optional[Mapping[str, Any]] = None,
        catalog: Union[str, os.PathLike, Sequence, None] = None,
        root: Union[str, os.PathLike, None] = None,
    ):
        base = source if isinstance(source, Scenario) else None
        if base is None and not isinstance(source, (str, os.PathLike, Mapping)):
            raise TypeError(
                f"a scenario is a path, a dict or a Scenario, not {type(source).__name__}"
            )
        self.source = base.source if base else source
        self.text: Optional[str] = base.text if base else None
        if isinstance(self.source, Mapping) and self.text is None:
            self.text = json.dumps(self.source, indent=1)
        self.settings = {**(base.settings if base else {}), **(set or {})}
        given = [catalog] if isinstance(catalog, (str, os.PathLike)) else list(catalog or [])
        self.catalogs = [os.fspath(folder) for folder in given] + (base.catalogs if base else [])
        self.root = os.fspath(root) if root is not None else base.root if base else None

    @classmethod
    def from_yaml(cls, text: str, **changes: Any) -> "Scenario":
        """A scenario that is YAML text."""
        scenario = cls({}, **changes)
        scenario.source, scenario.text = "<text>", text
        return scenario

    @property
    def name(self) -> str:
        """What messages call it."""
        if self.text is None:
            return os.fspath(self.source)
        return "<dict>" if isinstance(self.source, Mapping) else "<text>"

    def with_settings(self, settings: Optional[Mapping[str, Any]] = None, **more: Any) -> "Scenario":
        """A changed copy: scenario.with_settings({"parallel.tensor": 4})."""
        return Scenario(self, set={**(settings or {}), **more})

    def __repr__(self) -> str:
        changes = "".join(f", {key}={setting_text(v)}" for key, v in self.settings.items())
        return f"Scenario({self.name}{changes})"
