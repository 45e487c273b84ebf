"""The README: its table of Params, and its code. `python -m tests.readme` renews the table."""

from __future__ import annotations

import re
from pathlib import Path

from figs_spark import FIGSClassifier, FIGSRegressor

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- params: begin -->\n", "<!-- params: end -->"


def param_table() -> str:
    """All Params of the estimators, from their declarations."""
    everywhere = {item.name for item in FIGSRegressor.declared}
    lines = ["| Param | default | what |", "|---|---|---|"]
    for item in FIGSClassifier.declared:
        only = "" if item.name in everywhere else " (classifier)"
        default = repr(item.default).replace("'", '"')
        lines.append(f"| `{item.name}` | `{default}` | {item.text}{only} |")
    return "\n".join(lines) + "\n"


def shown_table() -> str:
    return README.read_text().split(BEGIN)[1].split(END)[0]


def code_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


if __name__ == "__main__":
    before, rest = README.read_text().split(BEGIN)
    README.write_text(before + BEGIN + param_table() + END + rest.split(END)[1])
