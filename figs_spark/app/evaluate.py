"""Evaluate: how good are the scores of a table, overall and by group? Tables and pictures.

The output is a folder. For two classes it holds

    summary.csv            AUC with interval, Brier score, and what the threshold in use does
    operating_points.csv   for each sensitivity asked for, the best specificity
    calibration.csv        predicted and observed rates, calibration.png as a picture
    roc.csv                the ROC curve, roc.png as a picture

For more classes summary.csv has the accuracy, for an amount R2 and errors. sizes.csv and sizes.png
show the loss of every size, if the model's folder has it. report.md and report.json hold all
tables. With `privacy: strict`, as with a model that was trained so, no count of fewer than 11 rows
is written, and no ROC curve.
"""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql import DataFrame, SparkSession

from figs_spark.app.charts import draw_calibration, draw_roc, draw_sizes
from figs_spark.app.config import Settings, key
from figs_spark.app.errors import UNFIT_INPUT, JobError
from figs_spark.app.inherited import (
    Privacy,
    TrainingSource,
    training_source,
    with_derivations,
    with_privacy,
    with_reader_options,
    with_rows_in_use,
)
from figs_spark.app.known_values import report_unknown
from figs_spark.app.labels import label_name, with_label
from figs_spark.app.markdown import DIGITS, markdown_table, text_table
from figs_spark.app.metrics import (
    BINARY,
    by_group,
    outcome,
    plain,
    with_label_numbers,
)
from figs_spark.app.outputs import Folder, appearing, check_output, check_output_here
from figs_spark.app.saved_models import check_columns, load_division, load_model, read_text
from figs_spark.app.sources import Input, exists, need_columns, read, require
from figs_spark.app.spreadsheets import markdown_text, safe_csv
from figs_spark.clinical.figures import at_threshold, of_score
from figs_spark.clinical.measures import SENSITIVITIES, calibration, operating_points, roc_curve
from figs_spark.clinical.scored import Scored
from figs_spark.clinical.small_cells import safe_tables
from figs_spark.treesum.small_cells import STRICT

if TYPE_CHECKING:
    import pandas as pd

Tables = dict[str, "pd.DataFrame"]

log = logging.getLogger("figs_spark")
LOSS_DIGITS = 5  # losses of neighbouring sizes differ little


@dataclass(frozen=True)
class Evaluate(Input):
    """Measure how good scores are, overall and by group of patients."""

    model: str | None = key(None, "folder that train wrote; needed if the input has no scores")
    part: Literal["all", "train", "validation", "test"] = key(
        "all", "rows to use: all, or one of the parts that train divided them into (needs model)"
    )
    label: str | None = key(
        None, "column with the true outcome, or an SQL condition; default: the label of the model"
    )
    positive: str | None = key(None, "value of the label that is class 1: '<30'")
    score: str = key("probability", "column with the probability of class 1, or the prediction")
    task: Literal["auto", "binary", "classes", "amount"] = key(
        "auto", "what is predicted; auto: as the model does, or two classes"
    )
    weight: str | None = key(None, "column with row weights")
    groups: list[str] = key([], "columns whose groups are also evaluated one by one")
    sensitivities: list[float] = key(
        list(SENSITIVITIES), "sensitivities of the operating points", low=0, high=1
    )
    threshold: float | None = key(
        None, "threshold of the summary; default: that of the model, or 0.5"
    )
    bins: int = key(10, "bins of the calibration table", low=1)
    privacy: Privacy | None = key(
        None,
        "strict: counts of fewer than 11 rows are hidden, and what would tell them; "
        "default: as the model was trained, or open",
    )
    plots: bool = key(True, "also draw pictures; needs matplotlib")
    output: str | None = key(None, "folder for tables and pictures")


SETTINGS = Evaluate


def check(settings: Settings[Evaluate]) -> None:
    require(settings, "input", "a table")
    require(settings, "output", "a path to write to")
    check_output_here(settings)
    values = settings.job
    if values.part != "all" and values.model is None:
        raise settings.error("part", "'model' is needed: it says which rows are in which part.")
    if values.label is None and values.model is None:
        raise settings.error(
            "label", "the column with the true outcome is needed if there is no model."
        )


@dataclass(frozen=True)
class ScoredRows:
    """Rows with label and score, and what the score predicts."""

    rows: DataFrame
    label: str
    score: str
    kind: str
    threshold: float
    fingerprint: str | None = None  # of the model that gave the score
    splits: int | None = None  # of the model, if it is one sum


def run(spark: SparkSession, settings: Settings[Evaluate]) -> None:
    path = check_output(spark, settings)
    source = training_source(spark, settings)
    settings = with_privacy(settings, source)
    scored = scored_rows(spark, settings, source)
    if settings.dry_run:
        print(plan(scored, settings.job))
        return
    try:
        tables = evaluate(scored, settings.job)
    except ValueError as error:
        raise JobError(UNFIT_INPUT, str(error)) from error
    if settings.job.privacy == "strict":
        tables = safe_tables(tables, STRICT)
    if (sizes := _sizes(spark, settings)) is not None:
        tables["sizes"] = sizes
    with appearing(spark, settings) as folder:
        save(folder, tables, scored, settings.job)
    print(f"{_shown(tables['summary'])}\n\nSaved to {path}")


def _shown(summary: pd.DataFrame) -> str:
    """The summary without intervals and counts, so that it fits a terminal."""
    left_out = (
        "Low",
        "High",
        "tp",
        "fp",
        "tn",
        "fn",
        "lrPositive",
        "lrNegative",
        "f1",
        "threshold",
    )
    kept = [name for name in summary.columns if not name.endswith(left_out)]
    shown, threshold = text_table(summary[kept]), summary.to_dict("records")[0].get("threshold")
    if isinstance(threshold, float):
        shown += f"\nSensitivity to NPV are those above a threshold of {threshold:.4g}."
    return shown


def scored_rows(
    spark: SparkSession, settings: Settings[Evaluate], source: TrainingSource
) -> ScoredRows:
    """The rows to use; the model scores them if the input has no score."""
    model: Any = load_model(spark, settings) if settings.job.model else None
    settings = _as_in_training(spark, settings, source)
    values = settings.job
    rows = read(spark, settings)
    if values.part != "all":
        rows = load_division(spark, settings).rows(rows, values.part)
    label = str(values.label or model.getOrDefault("labelCol"))
    rows = with_label(rows, settings, label, values.positive)
    label = label_name(label, values.positive)
    kind = _kind(values, model)
    score = values.score if kind == BINARY else "prediction"
    need_columns(rows, [label, *values.groups, *([values.weight] if values.weight else [])])
    if model is not None:
        rows = with_label_numbers(model, rows, label)
    by_model = score not in rows.columns
    if by_model:
        rows = _score(model, rows, score)
        if not settings.dry_run:
            report_unknown(rows, model, source.known)
    threshold = values.threshold
    if threshold is None:
        threshold = model.getOrDefault("threshold") if model and kind == BINARY else 0.5
    fingerprint = model.fingerprint if by_model else None
    splits = getattr(model, "numSplits", None) if by_model else None
    return ScoredRows(rows, label, score, kind, threshold, fingerprint, splits)


def _as_in_training(
    spark: SparkSession, settings: Settings[Evaluate], source: TrainingSource
) -> Settings[Evaluate]:
    """The settings with the reader options of training, its label unless there is another, and
    what derives the columns in use."""
    settings = with_rows_in_use(settings, source)
    values = settings.job
    if values.label is None and source.label is not None:
        values = replace(values, label=source.label, positive=values.positive or source.positive)
        settings = replace(settings, job=values)
    names = [values.label, values.weight, values.where, *values.groups]
    if values.part != "all":
        names += load_division(spark, settings).columns
    settings = with_derivations(settings, source, names)
    return with_reader_options(spark, settings, source)


def _kind(values: Evaluate, model: Any) -> str:
    if values.task != "auto":
        return values.task
    return BINARY if model is None else outcome(model)


def _score(model: Any, rows: DataFrame, score: str) -> DataFrame:
    if model is None:
        need_columns(rows, [score])
    check_columns(model, rows)
    name = "probabilityCol" if model.hasParam("probabilityCol") else "predictionCol"
    unused = ("rawPredictionCol", "contributionsCol", "leafCol")
    outputs = {param: "" for param in unused if model.hasParam(param)}
    if score != "prediction":
        outputs[name] = score
    try:
        return model.copy()._set(**outputs).transform(rows)
    except ValueError as error:
        raise JobError(UNFIT_INPUT, str(error)) from error


def plan(scored: ScoredRows, values: Evaluate) -> str:
    return (
        f"Nothing was written (--dry-run). The job would\n"
        f"  read      {values.input} (rows: {values.part})\n"
        f"  evaluate  {scored.score} against {scored.label} ({scored.kind})\n"
        f"  by group  {', '.join(values.groups) or 'no'}\n"
        f"  write     {values.output}"
    )


def evaluate(scored: ScoredRows, values: Evaluate) -> Tables:
    """The tables by name; `by` and `group` say which rows a line is about."""
    if scored.kind != BINARY:
        (overall,) = by_group(scored.rows, scored.kind, scored.label, values.weight)
        lines = [("all", "all", overall)]
        for name in values.groups:
            groups = by_group(scored.rows, scored.kind, scored.label, values.weight, name)
            lines += [(name, line.pop("group"), line) for line in groups]
        return {"summary": _frame(lines)}
    columns: dict[str, Any] = {
        "labelCol": scored.label,
        "scoreCol": scored.score,
        "weightCol": values.weight,
    }
    return {
        "summary": _summary(scored, values),
        "operating_points": _stacked(
            values,
            lambda group: operating_points(
                scored.rows, values.sensitivities, **columns, groupCol=group
            ),
        ),
        "calibration": _stacked(
            values, lambda group: calibration(scored.rows, values.bins, **columns, groupCol=group)
        ),
        "roc": _stacked(values, lambda group: roc_curve(scored.rows, **columns, groupCol=group)),
    }


def _summary(scored: ScoredRows, values: Evaluate) -> pd.DataFrame:
    lines = []
    for name in [None, *values.groups]:
        columns = Scored(scored.rows, scored.label, scored.score, values.weight, name)
        for k, (group, rows) in enumerate(columns.by_group()):
            if (k == 0) == (name is None):  # "all" is the first of every group column
                line = of_score(rows) | at_threshold(rows, scored.threshold)
                lines.append((name or "all", group, line))
    return _frame(lines)


def _frame(lines: list[tuple[str, Any, dict[str, Any]]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame([{"by": by, "group": group, **line} for by, group, line in lines])


def _stacked(values: Evaluate, table: Any) -> pd.DataFrame:
    """The tables of all rows and of each group column, under one another."""
    import pandas as pd

    whole = table(None)
    whole.insert(0, "by", "all")
    whole.insert(1, "group", "all")
    tables = [whole]
    for name in values.groups:
        groups = table(name).rename(columns={name: "group"})
        groups.insert(0, "by", name)
        first = groups.index[groups["group"] != "all"].min()  # the table begins with "all"
        tables.append(groups.loc[first:])
    return pd.concat(tables, ignore_index=True)


def _sizes(spark: SparkSession, settings: Settings[Evaluate]) -> pd.DataFrame | None:
    import pandas as pd

    if settings.job.model is None:
        return None
    path = f"{settings.job.model.rstrip('/')}/sizes.csv"
    return pd.read_csv(io.StringIO(read_text(spark, path))) if exists(spark, path) else None


def save(folder: Folder, tables: Tables, scored: ScoredRows, values: Evaluate) -> None:
    for name, table in tables.items():
        folder.write(f"{name}.csv", safe_csv(table))
    report: dict[str, Any] = {"fingerprint": scored.fingerprint}
    report |= {name: plain(table.to_dict("records")) for name, table in tables.items()}
    folder.write("report.json", json.dumps(report, indent=2, default=str) + "\n")
    folder.write("report.md", _report(tables, scored))
    if values.plots:
        _draw(folder, tables, scored)


def _draw(folder: Folder, tables: Tables, scored: ScoredRows) -> None:
    drawings: dict[str, Callable[[Tables], Any]] = {
        "roc": draw_roc,
        "calibration": draw_calibration,
        "sizes": partial(draw_sizes, chosen=scored.splits),
    }
    for name, draw in drawings.items():
        if name not in tables:
            continue
        try:
            folder.draw(f"{name}.png", draw(tables))
        except ValueError as error:
            log.warning("%s.png was not drawn: %s", name, error)
        except ImportError as error:
            log.warning("No pictures were drawn: %s", error)
            return


def _report(tables: Tables, scored: ScoredRows) -> str:
    parts = [f"# Evaluation: {markdown_text(scored.label)} by {markdown_text(scored.score)}"]
    if scored.fingerprint:
        parts.append(f"Fingerprint of the model: {scored.fingerprint}")
    for name, table in tables.items():
        if name != "roc":  # a curve is long; it is in roc.csv
            digits = LOSS_DIGITS if name == "sizes" else DIGITS
            heading = f"## {name.replace('_', ' ').capitalize()}"
            parts += [heading, markdown_table(table, digits)]
    return "\n\n".join(parts) + "\n"
