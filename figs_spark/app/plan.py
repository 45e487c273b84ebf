"""What `train --dry-run` prints: what the job would do."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from figs_spark.stages.base.checks import Checked
from figs_spark.treesum import Feature
from figs_spark.treesum.nodes import CODE, TEXT
from figs_spark.treesum.text import WIDTH

if TYPE_CHECKING:
    from figs_spark.app.train import Train

MARGIN = " " * 13


def plan(data: DataFrame, values: Train, checked: Checked, task: str) -> str:
    features = checked.table.features
    level = values.operatingPoint.sensitivity
    kind = "level of codes"  # what is no column of the table
    classes = ": " + ", ".join(checked.class_names) if checked.class_names else ""
    types = {field.name: field.dataType.simpleString() for field in data.schema.fields}
    lines = [
        "Nothing was fitted or written (--dry-run). The job would",
        f"  read     {values.input or f'{values.rows:,} generated rows'}",
        f"  predict  {values.label} ({types[str(values.label)]}), {task}{classes}",
        f"  from     {checked.table.rows:,} training rows with {len(features)} features:",
        *(f"{MARGIN}{f.name} ({types.get(f.name, kind)}{_values(f)})" for f in features),
        f"  divide   {_division(values)}",
        *_fit(values),
        f"  size     {values.size.choose}",
        *([f"  flag     at a sensitivity of {level:g} on validation rows"] if level else []),
        f"  write    {values.output or 'nothing'}",
    ]
    return "\n".join(lines)


def _values(feature: Feature) -> str:
    if feature.kind not in (TEXT, CODE):
        return ""
    named, rest = len(feature.categories or ()), feature.others
    kind = "category" if named == 1 else "categories"
    others = f" and {rest:,} other value{'' if rest == 1 else 's'}" if rest else ""
    return f", {named:,} {'ordered' if feature.ordered else kind}{others}"


def _division(values: Train) -> str:
    by = values.split.column or f"shares {values.split.fractions}"
    group = f", each {values.split.group} in one part" if values.split.group else ""
    return f"by {by}{group}"


def _fit(values: Train) -> Iterator[str]:
    """The kind of the model, and its Params one by one."""
    systems = {"codeSystems": values.codeSystems} if values.codeSystems else {}
    params: dict[str, Any] = {**values.model, **systems}
    yield f"  fit      {values.kind} with {'these Params:' if params else 'default Params'}"
    for name, value in params.items():
        yield from textwrap.wrap(
            f"{name}: {json.dumps(value, ensure_ascii=False, default=str)}",
            WIDTH,
            initial_indent=MARGIN,
            subsequent_indent=f"{MARGIN}    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
