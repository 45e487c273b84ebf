"""A hook of mkdocs: `::: figs_spark.NAME` shows the public name, wherever its code lives."""

from __future__ import annotations

import re
from typing import Any

import figs_spark


def on_page_markdown(markdown: str, **_: Any) -> str:
    return re.sub(r"^::: figs_spark\.(\w+)$", _at_home, markdown, flags=re.MULTILINE)


def _at_home(directive: re.Match[str]) -> str:
    """The directive with the module that defines the name; modules stay as they are."""
    name = directive[1]
    if name not in figs_spark.__all__:
        return directive[0]
    home = getattr(figs_spark, name).__module__
    return f"::: {home}.{name}\n    options:\n      heading: {name}\n"
