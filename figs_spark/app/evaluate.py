"""Evaluate: how good are the scores of a table, overall and by group, as tables and pictures?

The output is a folder. Two classes:

    summary.csv            AUC with interval, Brier score, and what the threshold in use does
    operating_points.csv   for each sensitivity asked for, the best specificity
    calibration.csv        predicted and observed rates
    roc.csv                the curve; roc.png, calibration.png show both

Otherwise summary.csv has the accuracy, or R2 and errors. sizes.csv and sizes.png have the loss of
every size, where the model's folder tells. report.md and report.json hold the tables together.
"""

from __future__ import annotations

import io
import json
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql import DataFrame, SparkSession

from figs_spark.app.charts import draw_calibration, draw_roc, draw_sizes
from figs_spark.app.config import Settings, key
from figs_spark.app.errors import UNFIT_INPUT, JobError
from figs_spark.app.metrics import AMOUNT, BINARY, CLASSES, at_threshold, by_group, of_levels, plain
from figs_spark.app.outputs import Folder, appearing, check_output
from figs_spark.app.saved_models import check_columns, load_division, load_model, read_text
from figs_spark.app.sources import Input, exists, need_columns, read, require
from figs_spark.clinical.measures import SENSITIVITIES, calibration, operating_points, roc_curve
from figs_spark.clinical.scored import Scored

if TYPE_CHECKING:
    import pandas as pd

Tables = dict[str, "pd.DataFrame"]

log = logging.getLogger("figs_spark")


@dataclass(frozen=True)
class Evaluate(Input):
    """Judge scores as clinicians do, overall and by group."""

    model: str | None = key(None, "folder that train wrote; needed where the input has no scores")
    part: Literal["all", "train", "validation", "test"] = key(
        "all", "rows to judge by: all of the input, or as train divided them (needs model)"
    )
    label: str | None = key(None, "column with the truth; default: that of the model")
    score: str = key("probability", "column with the score of class 1, or with the prediction")
    task: Literal["auto", "binary", "classes", "amount"] = key(
        "auto", "what the score is; auto: as the model, or of two classes"
    )
    weight: str | None = key(None, "column with row weights")
    groups: list[str] = key([], "columns: the tables have their values one by one, too")
    sensitivities: list[float] = key(list(SENSITIVITIES), "operating points", low=0, high=1)
    threshold: float | None = key(None, "of the summary; default: that of the model, or 0.5")
    bins: int = key(10, "of the calibration", low=1)
    plots: bool = key(True, "pictures, too; they need matplotlib")
    output: str | None = key(None, "folder for tables and pictures")


SETTINGS = Evaluate


def check(settings: Settings[Evaluate]) -> None:
    require(settings, "input", "a table")
    require(settings, "output", "a path to write to")
    given = settings.given
    if given.part != "all" and given.model is None:
        raise settings.error("part", "'model' is needed: the output of train says which rows.")
    if given.label is None and given.model is None:
        raise settings.error("label", "the column with the truth is needed where no model is.")


@dataclass(frozen=True)
class Judged:
    """Rows with label and score, and what the score is."""

    rows: DataFrame
    label: str
    score: str
    kind: str
    threshold: float


def run(spark: SparkSession, settings: Settings[Evaluate]) -> None:
    path = check_output(spark, settings)
    judged = prepare(spark, settings)
    if settings.dry_run:
        print(plan(judged, settings))
        return
    try:
        tables = evaluate(judged, settings.given)
    except ValueError as error:
        raise JobError(UNFIT_INPUT, str(error)) from error
    if (sizes := _sizes(spark, settings)) is not None:
        tables["sizes"] = sizes
    with appearing(spark, settings) as folder:
        save(folder, tables, judged, settings.given)
    print(f"{_shown(tables['summary'])}\n\nSaved to {path}")


def _shown(summary: pd.DataFrame) -> str:
    """The summary without intervals and counts: it fits a terminal."""
    left_out = ("Low", "High", "tp", "fp", "tn", "fn", "lrPositive", "lrNegative", "f1")
    kept = [name for name in summary.columns if not name.endswith(left_out)]
    return str(summary[kept].to_string(index=False, float_format="{:.4f}".format))


def prepare(spark: SparkSession, settings: Settings[Evaluate]) -> Judged:
    """The rows to judge by; scored here where the input has no score."""
    given = settings.given
    model: Any = load_model(spark, settings) if given.model else None
    rows = read(spark, settings)
    if given.part != "all":
        rows = load_division(spark, settings).rows(rows, given.part)
    label = given.label or str(model.getOrDefault("labelCol"))
    kind = _kind(given, model)
    score = given.score if kind == BINARY else "prediction"
    need_columns(rows, [label, *given.groups, *([given.weight] if given.weight else [])])
    if score not in rows.columns:
        rows = _scored(model, rows, score)
    threshold = given.threshold
    if threshold is None:
        threshold = model.getOrDefault("threshold") if model and kind == BINARY else 0.5
    return Judged(rows, label, score, kind, threshold)


def _kind(given: Evaluate, model: Any) -> str:
    if given.task != "auto":
        return given.task
    classes = getattr(model, "numClasses", 0) if model is not None else 2
    return AMOUNT if classes == 0 else BINARY if classes == 2 else CLASSES


def _scored(model: Any, rows: DataFrame, score: str) -> DataFrame:
    if model is None:
        need_columns(rows, [score])
    check_columns(model, rows)
    name = "probabilityCol" if model.hasParam("probabilityCol") else "predictionCol"
    outputs = {"rawPredictionCol": "", "contributionsCol": "", "leafCol": ""}
    asked = {n: v for n, v in outputs.items() if model.hasParam(n)}
    if score != "prediction":
        asked[name] = score
    try:
        return model.copy()._set(**asked).transform(rows)
    except ValueError as error:
        raise JobError(UNFIT_INPUT, str(error)) from error


def plan(judged: Judged, settings: Settings[Evaluate]) -> str:
    given = settings.given
    lines = [
        "Nothing was written (--dry-run). The job would",
        f"  read    {given.input} (rows: {given.part})",
        f"  judge   {judged.score} against {judged.label} ({judged.kind})",
        f"  groups  {', '.join(given.groups) or 'none'}",
        f"  write   {given.output}",
    ]
    return "\n".join(lines)


def evaluate(judged: Judged, given: Evaluate) -> Tables:
    """The tables by name; `by` and `group` say which rows a line is of."""
    if judged.kind != BINARY:
        rows = by_group(judged.rows, judged.kind, judged.label, given.weight)
        found = [("all", "all", row) for row in rows]
        for name in given.groups:
            own = by_group(judged.rows, judged.kind, judged.label, given.weight, name)
            found += [(name, row.pop("group"), row) for row in own]
        return {"summary": _frame(found)}
    columns: dict[str, Any] = {
        "labelCol": judged.label,
        "scoreCol": judged.score,
        "weightCol": given.weight,
    }
    return {
        "summary": _summary(judged, given),
        "operating_points": _stacked(
            given,
            lambda group: operating_points(
                judged.rows, given.sensitivities, **columns, groupCol=group
            ),
        ),
        "calibration": _stacked(
            given, lambda group: calibration(judged.rows, given.bins, **columns, groupCol=group)
        ),
        "roc": _stacked(given, lambda group: roc_curve(judged.rows, **columns, groupCol=group)),
    }


def _summary(judged: Judged, given: Evaluate) -> pd.DataFrame:
    found = []
    for name in [None, *given.groups]:
        scored = Scored(judged.rows, judged.label, judged.score, given.weight, name)
        for k, (group, levels) in enumerate(scored.levels()):
            if (k == 0) == (name is None):  # "all" is the first of every group column
                row = of_levels(levels) | at_threshold(levels, judged.threshold)
                found.append((name or "all", group, row))
    return _frame(found)


def _frame(found: list[tuple[str, Any, dict[str, Any]]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame([{"by": by, "group": group, **row} for by, group, row in found])


def _stacked(given: Evaluate, table: Any) -> pd.DataFrame:
    """The tables of all rows and of each group column under one another."""
    import pandas as pd

    whole = table(None)
    whole.insert(0, "by", "all")
    whole.insert(1, "group", "all")
    tables = [whole]
    for name in given.groups:
        own = table(name).rename(columns={name: "group"})
        own.insert(0, "by", name)
        first = own.index[own["group"] != "all"].min()  # the table begins with "all"
        tables.append(own.loc[first:])
    return pd.concat(tables, ignore_index=True)


def _sizes(spark: SparkSession, settings: Settings[Evaluate]) -> pd.DataFrame | None:
    import pandas as pd

    if settings.given.model is None:
        return None
    path = f"{settings.given.model.rstrip('/')}/sizes.csv"
    return pd.read_csv(io.StringIO(read_text(spark, path))) if exists(spark, path) else None


def save(folder: Folder, tables: Tables, judged: Judged, given: Evaluate) -> None:
    for name, table in tables.items():
        folder.write(f"{name}.csv", table.to_csv(index=False))
    report = {name: plain(table.to_dict("records")) for name, table in tables.items()}
    folder.write("report.json", json.dumps(report, indent=2, default=str) + "\n")
    folder.write("report.md", _report(tables, judged))
    if given.plots:
        _draw(folder, tables)


def _draw(folder: Folder, tables: Tables) -> None:
    drawings = {"roc": draw_roc, "calibration": draw_calibration, "sizes": draw_sizes}
    for name, draw in drawings.items():
        if name not in tables:
            continue
        try:
            folder.draw(f"{name}.png", draw(tables))
        except ImportError as error:
            log.warning("There are no pictures: %s", error)
            return


def _report(tables: Tables, judged: Judged) -> str:
    parts = [f"# {judged.score} against {judged.label}"]
    for name, table in tables.items():
        if name != "roc":  # a curve is long; it is in roc.csv
            parts += [f"## {name.replace('_', ' ').capitalize()}", _markdown(table)]
    return "\n\n".join(parts) + "\n"


def _markdown(table: pd.DataFrame) -> str:
    def cell(value: Any) -> str:
        return f"{value:.4g}" if isinstance(value, float) else str(value)

    rows = [list(table.columns), ["---"] * len(table.columns)]
    rows += [[cell(value) for value in row] for row in table.itertuples(index=False)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
