"""The README: its table of Params, and its code. `python -m tests.readme` renews the table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from figs_spark import BaggedFIGSClassifier, FIGSClassifier, FIGSRegressor, GFIGSClassifier
from figs_spark.stages.params.declared import Declared

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- params: begin -->\n", "<!-- params: end -->"


def param_table() -> str:
    """All Params of the estimators, from their declarations."""
    classifiers_only = set(FIGSClassifier.declared) - set(FIGSRegressor.declared)
    lines = _table(FIGSClassifier.declared, classifiers_only)
    other = [item for item in BaggedFIGSClassifier.declared if item not in FIGSClassifier.declared]
    lines += ["", "Bagging-FIGS has no `validationIndicatorCol`, `leafCol` and `contributionsCol`."]
    lines += ["What it has besides, or with another default:", "", *_table(other, set())]
    grouping = [item for item in GFIGSClassifier.declared if item not in FIGSClassifier.declared]
    lines += ["", "G-FIGS has no `validationIndicatorCol`. What it has besides:", ""]
    lines += _table(grouping, set())
    return "\n".join(lines) + "\n"


def _table(declared: Iterable[Declared], classifiers_only: set[Declared]) -> list[str]:
    lines = ["| Param | default | what |", "|---|---|---|"]
    for item in declared:
        only = " (classifier)" if item in classifiers_only else ""
        default = repr(item.default).replace("'", '"')
        lines.append(f"| `{item.name}` | `{default}` | {item.text}{only} |")
    return lines


def shown_table() -> str:
    return README.read_text().split(BEGIN)[1].split(END)[0]


def code_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


if __name__ == "__main__":
    before, rest = README.read_text().split(BEGIN)
    README.write_text(before + BEGIN + param_table() + END + rest.split(END)[1])
