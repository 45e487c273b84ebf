"""What mkdocs needs to show the public names: where their code lives, and examples as code."""

from __future__ import annotations

import re
from typing import Any

import griffe

import figs_spark


def on_page_markdown(markdown: str, **_: Any) -> str:
    """A hook of mkdocs: `::: figs_spark.NAME` shows the public name, wherever its code lives."""
    return re.sub(r"^::: figs_spark\.(\w+)$", _at_home, markdown, flags=re.MULTILINE)


def _at_home(directive: re.Match[str]) -> str:
    """The directive with the module that defines the name; modules stay as they are."""
    name = directive[1]
    if name not in figs_spark.__all__:
        return directive[0]
    home = figs_spark._HOMES[name]
    return f"::: figs_spark.{home}.{name}\n    options:\n      heading: {name}\n"


class ExamplesAsCode(griffe.Extension):
    """Lines of a docstring that begin with >>> become a block of code."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            lines = re.sub(r"((?:^>>> .*\n?)+)", _fenced, obj.docstring.value, flags=re.MULTILINE)
            obj.docstring.value = lines


def _fenced(example: re.Match[str]) -> str:
    code = re.sub(r"^>>> ", "", example[0], flags=re.MULTILINE)
    return f"```python\n{code.rstrip()}\n```\n"
