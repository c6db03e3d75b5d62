# SPDX-License-Identifier: Apache-2.0
"""What the functions return."""

from __future__ import annotations

import html
import json
from typing import Any, Iterator, List, Optional


class Record:
    """An object of the JSON: its keys are attributes, with their units in their names."""

    def __init__(self, values: dict):
        self._values = values

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return wrapped(self._tree()[name])
        except KeyError:
            known = ", ".join(self._tree())
            raise AttributeError(f"there is no {name!r}; there are: {known}") from None

    def _tree(self) -> dict:
        return self._values

    def __getitem__(self, name: str) -> Any:
        return wrapped(self._tree()[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._tree())

    def __len__(self) -> int:
        return len(self._tree())

    def __contains__(self, name: str) -> bool:
        return name in self._tree()

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Record) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self._tree()]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={short(v)}' for k, v in self._tree().items())})"

    def to_dict(self) -> dict:
        """A copy as plain dicts, lists and numbers; unknown values are None."""
        return json.loads(json.dumps(self._tree()))

    def _repr_html_(self) -> str:
        return table_html(self._tree())


def wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        return [wrapped(item) for item in value]
    return value


def short(value: Any) -> str:
    if isinstance(value, dict):
        return "{...}" if value else "{}"
    if isinstance(value, list):
        return f"[{len(value)} items]"
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def table_html(tree: dict) -> str:
    """Numbers and names of a tree as a table; what lies deeper as so many items."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(str(key))}</th>"
        f"<td style='text-align:left'>{html.escape(short(value))}</td></tr>"
        for key, value in tree.items()
    )
    return f"<table>{rows}</table>"


class Text(str):
    """Text that a command printed where it has no JSON: a script, a file, a page."""

    exit_code: int
    messages: List[str]

    def __new__(cls, text: str, exit_code: int = 0, messages: Optional[List[str]] = None):
        made = super().__new__(cls, text)
        made.exit_code = exit_code
        made.messages = list(messages or [])
        return made


class Result(Record):
    """The JSON of a command: attributes, to_dict(), to_pandas(), and `json`, the bytes that the
    program prints."""

    def __init__(self, text: str, exit_code: int, messages: List[str], call: tuple):
        super().__init__({})
        self._text = text
        self._exit_code = exit_code
        self._messages = messages
        self._call = call

    def _tree(self) -> dict:
        if not self._values:
            tree = json.loads(self.json)
            self._values = tree if isinstance(tree, dict) else {"items": tree}
        return self._values

    @property
    def json(self) -> str:
        """To the byte what the program prints with --json."""
        return self._text

    @property
    def exit_code(self) -> int:
        """Of the command: 0, or what its help says, such as 3 for a plan that cannot run."""
        return self._exit_code

    @property
    def messages(self) -> List[str]:
        """What the command said on standard error, a line each."""
        return list(self._messages)

    def to_pandas(self, table: Optional[str] = None) -> Any:
        """A pandas.DataFrame of a list in the result, by its dotted path ("memory.stages"); without
        one, of the longest list of objects, or of the whole result in one row."""
        import pandas

        rows = records_of(self._tree(), table)
        return pandas.json_normalize(rows)

    def _repr_html_(self) -> str:
        function, args, kwargs = self._call
        from . import _pages

        page = _pages.page_of(function, args, kwargs)
        return page if page is not None else super()._repr_html_()


def records_of(tree: dict, path: Optional[str]) -> list:
    """The list at a path, the longest list of objects, or the tree itself."""
    if path is not None:
        node: Any = tree
        for name in path.split("."):
            node = node[int(name)] if isinstance(node, list) else node[name]
        return node if isinstance(node, list) else [node]
    lists = [v for v in tree.values() if isinstance(v, list) and v and isinstance(v[0], dict)]
    return max(lists, key=len) if lists and "step" not in tree else [tree]


class Prediction(Result):
    """A forecast (schema prediction/1). One that came the quick way holds its numbers already; what
    takes longer (percentiles of the run, remedies, warnings, the resolved scenario) is worked out
    when it is first asked for, and is what the program prints."""

    _quick: Any = None
    _whole: Any = None

    @classmethod
    def quick(cls, forecast: Any, whole: Any, call: tuple) -> "Prediction":
        """@param whole a function that runs the command"""
        made = cls("", 0, [], call)
        made._quick, made._whole = forecast, whole
        made._sections = {}
        return made

    def _complete(self) -> None:
        if self._whole is None:
            return
        done = self._whole()
        self._text, self._exit_code, self._messages = done._text, done._exit_code, done._messages
        self._quick = self._whole = None

    def __getattr__(self, name: str) -> Any:
        quick = self._quick
        if quick is None or name.startswith("_"):
            return super().__getattr__(name)
        found = self._sections.get(name)
        if found is None:
            text = quick.section(name)
            if text is None:
                return super().__getattr__(name)
            found = self._sections[name] = wrapped(json.loads(text))
        return found

    def _tree(self) -> dict:
        self._complete()
        return super()._tree()

    @property
    def json(self) -> str:
        self._complete()
        return self._text

    @property
    def exit_code(self) -> int:
        self._complete()
        return self._exit_code

    @property
    def messages(self) -> List[str]:
        self._complete()
        return list(self._messages)
