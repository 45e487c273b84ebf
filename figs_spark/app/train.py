"""Train: a table becomes a model, its text and picture, and numbers that say how good it is.

The output is a folder:

    model/          the fitted stage; load it with its class, or name the folder in score.yaml
    model.txt       the model as printed, model.svg as a picture
    overview.svg    which features each group uses, for G-FIGS
    metrics.json    what was fitted, and how good it is on validation and test rows
    sizes.csv       the loss after 0, 1, 2, ... splits, if the model is one sum of trees
    settings.json   all settings, and how the rows were divided, so that `evaluate` finds them

Without an input, `figs_spark.datasets.trauma_registry` generates the rows. Their true risk is
known, so the model's AUC is printed next to the best AUC that any model can reach.
"""

from __future__ import annotations

import json
import logging
import time
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import __version__, datasets
from figs_spark.app.config import Settings, key, section
from figs_spark.app.division import (
    PARTS,
    TEST,
    TRAIN,
    VALIDATION,
    Division,
    Holdout,
    check_holdout,
    divide,
)
from figs_spark.app.errors import UNFIT_INPUT, JobError
from figs_spark.app.estimators import Kind, Task, check_params, columns_in_params, task_of
from figs_spark.app.fitting import Fitted, Operating, Size, check_fitting, check_rows, fit
from figs_spark.app.inherited import TrainingSource
from figs_spark.app.known_values import known_values
from figs_spark.app.labels import label_name, tells_label, with_label
from figs_spark.app.metrics import (
    BINARY,
    measure,
    of_binary,
    outcome,
    plain,
    with_label_numbers,
)
from figs_spark.app.outputs import Folder, appearing, check_output, check_output_here
from figs_spark.app.plan import plan
from figs_spark.app.sources import Input, need_columns, only, prepared, read, require
from figs_spark.app.spreadsheets import safe_csv
from figs_spark.clinical.small_cells import safe_line
from figs_spark.dataframes.columns import column, folding
from figs_spark.stages.gfigs.model import GroupedModel
from figs_spark.stages.params.values import by_feature, system
from figs_spark.treesum.small_cells import HIDDEN, STRICT

log = logging.getLogger("figs_spark")
TRUE_RISK = "true_risk"
PART = "figs_spark_part"


@dataclass(frozen=True)
class Train(Input):
    """Fit a model to a table, print it, evaluate it on held-out rows, save it."""

    rows: int = key(100_000, "rows to generate if there is no input", low=1)
    label: str | None = key(
        None, "column to predict, or an SQL condition: \"readmitted = '<30'\"; needed with an input"
    )
    positive: str | None = key(None, "value of the label to predict against all others: '<30'")
    features: list[str] | None = key(None, "columns to predict from; default: all others")
    exclude: list[str] = key([], "columns that are not features")
    weight: str | None = key(None, "column with row weights")
    reference: str | None = key(None, "column with another score, to compare the model with")
    task: Task = key("auto", "auto: text, booleans and small whole numbers from 0 up are classes")
    kind: Kind = key("figs", "FIGS, Bagging-FIGS, or G-FIGS (one model per group)")
    codeSystems: dict[str, Any] = key({}, "columns of codes: {diag_1: icd9}; icd10, atc, ...")
    model: dict[str, Any] = key({}, "Params of the estimator, by name")
    split: Holdout = section(Holdout, "which rows train, validate and test")
    size: Size = section(Size, "the number of splits")
    operatingPoint: Operating = section(Operating, "the threshold")
    privacy: Literal["open", "strict"] = key(
        "open", "strict: no leaf of fewer than 11 rows, smaller counts and what tells them hidden"
    )
    output: str | None = key(None, "folder for model and metrics; without one nothing is saved")


SETTINGS = Train
LEAF_ROWS, CATEGORY_ROWS = "minInstancesPerNode", "minCategoryCount"


def check(settings: Settings[Train]) -> None:
    """Check what can be checked before Spark starts."""
    values = settings.job
    if values.input is not None:
        require(settings, "label", "the column to predict")
    if settings.overwrite and values.output is None:
        raise settings.error("--overwrite", "an output is needed: the folder to replace.")
    check_output_here(settings)
    check_holdout(settings)
    check_params(settings)
    check_systems(settings)
    check_leaves(settings)
    check_fitting(settings)


def check_systems(settings: Settings[Train]) -> None:
    try:
        by_feature(system)(settings.job.codeSystems)
    except (TypeError, ValueError) as error:
        raise settings.error("codeSystems", str(error)) from error


def check_leaves(settings: Settings[Train]) -> None:
    """With privacy: strict no leaf may stand for few rows, and no category that is named: the
    value and the count of a leaf are saved, and so is the name."""
    if settings.job.privacy == "open":
        return
    for name, place in ((LEAF_ROWS, "in a leaf"), (CATEGORY_ROWS, "of a category")):
        rows = settings.job.model.get(name)
        if rows is not None and rows < STRICT:
            message = f"privacy: strict needs at least {STRICT} rows {place}, got {rows}."
            raise settings.error(f"model.{name}", message)


def with_large_leaves(settings: Settings[Train]) -> Settings[Train]:
    """With privacy: strict leaves and categories have as many rows as a count that is shown."""
    if settings.job.privacy == "open":
        return settings
    model = {LEAF_ROWS: STRICT, CATEGORY_ROWS: STRICT, **settings.job.model}
    return replace(settings, job=replace(settings.job, model=model))


def run(spark: SparkSession, settings: Settings[Train]) -> None:
    settings = with_large_leaves(settings)
    if settings.job.output is not None:
        check_output(spark, settings)
    source = TrainingSource.of(spark, settings.job)
    data, settings = load(spark, settings)
    division = divide(data, settings.job.split, settings.job.derive)
    data, settings = labelled(data, settings)
    features, data = columns(data, settings, division)
    task = task_of(data, settings)
    if settings.dry_run:
        checked = check_rows(in_parts(data)[TRAIN], settings, features, task)
        print(plan(data, settings.job, checked, task))
        return
    if settings.job.output is None:
        train(data, settings, features, task)
        return
    with appearing(spark, settings) as folder:
        fitted, metrics = train(data, settings, features, task)
        if settings.job.privacy == "open":
            known = known_values(fitted.model, in_parts(data)[TRAIN])
            source = replace(source, known=known)
        save(folder, settings, division, source, fitted, metrics)
    print(f"Saved to {settings.job.output}")


def load(spark: SparkSession, settings: Settings[Train]) -> tuple[DataFrame, Settings[Train]]:
    """The rows, and the settings; for generated rows these are filled in."""
    values = settings.job
    if values.input is not None:
        data = read(spark, replace(settings, job=replace(values, derive={}, where=None)))
        fold = folding(data)
        present = {fold(name): name for name in data.columns}
        if taken := [name for name in values.derive if fold(name) in present]:
            same = present[fold(taken[0])]
            message = f"the input already has a column '{same}'. Choose another name."
            raise settings.error(f"derive.{taken[0]}", message, UNFIT_INPUT)
        return prepared(data, settings), settings
    group = values.split.group or (None if values.split.column else "patient_id")
    values = replace(
        values,
        label=values.label or datasets.LABEL,
        features=values.features or list(datasets.FEATURES),
        reference=values.reference or TRUE_RISK,
        split=replace(values.split, group=group),
    )
    rows = datasets.trauma_registry(spark, values.rows, with_risk=True)
    return prepared(rows, settings), replace(settings, job=values)


def labelled(data: DataFrame, settings: Settings[Train]) -> tuple[DataFrame, Settings[Train]]:
    """The rows with the label as a column, and the settings with its name."""
    values = settings.job
    label = str(values.label)
    data = with_label(data, settings, label, values.positive)
    if values.features is None:
        hidden = [name for name in data.columns if tells_label(name, label)]
        values = replace(values, exclude=[*values.exclude, *hidden])
    return data, replace(settings, job=replace(values, label=label_name(label, values.positive)))


def columns(
    data: DataFrame, settings: Settings[Train], division: Division
) -> tuple[list[str], DataFrame]:
    """The features, and the table with the columns in use."""
    values = settings.job
    need_columns(data, values.exclude)
    label = str(values.label)
    others = [c for c in (values.weight, values.reference, values.split.column) if c]
    others += [c for c in (values.split.group, *columns_in_params(values.model)) if c]
    apart = {label, *others, *values.exclude}
    features = values.features or [name for name in data.columns if name not in apart]
    named = [*features, label, *others]
    for names in values.model.values():  # such as membershipFeaturesCols
        named += [n for n in names if n in data.columns] if isinstance(names, list) else []
    outputs = {c for c in columns_in_params(values.model) if c not in data.columns}
    divided = data.withColumn(PART, division.part())
    return features, only(divided, [*(n for n in named if n not in outputs), PART])


def in_parts(data: DataFrame) -> dict[str, DataFrame]:
    """The training, validation and test rows."""
    return {part: data.where(F.col(PART) == part).drop(PART) for part in PARTS}


def train(
    data: DataFrame, settings: Settings[Train], features: list[str], task: str
) -> tuple[Fitted, dict[str, Any]]:
    """Fit, print and evaluate."""
    values = settings.job
    parts = in_parts(data)
    started = time.perf_counter()
    try:
        fitted = fit(parts, settings, features, task)
        seconds = time.perf_counter() - started
        text = fitted.model.toText(small_cell(values))
        print(f"\nFitted in {seconds:.1f} s{chosen_size(fitted.size)}:\n\n{text}\n")
        metrics = {p: metrics_on(parts[p], fitted.model, values) for p in (VALIDATION, TEST)}
    except (TypeError, ValueError) as error:
        raise JobError(UNFIT_INPUT, str(error)) from error
    for part, numbers in metrics.items():
        if numbers:
            print(f"On {_count(numbers['rows'])} {part} rows:\n{shown(numbers, values)}")
    return fitted, {
        "model": type(fitted.model).__name__,
        "fingerprint": fitted.model.fingerprint,
        "task": task,
        "features": features,
        "seconds": seconds,
        "size": fitted.size,
        "versions": {"figs_spark": __version__, "spark": data.sparkSession.version},
        **metrics,
    }


def chosen_size(size: dict[str, Any]) -> str:
    """How many splits were chosen, beside what the other ways to choose would have taken."""
    if "choices" not in size:
        return ""
    others = {name: k for name, k in size["choices"].items() if name != size["choose"]}
    also = ", ".join(f"{name}: {k}" for name, k in others.items())
    splits = f"{size['splits']} split{'s' * (size['splits'] != 1)}"
    return f", {splits} by {size['folds']} folds ({size['choose']}; {also})"


def metrics_on(rows: DataFrame, model: Any, values: Train) -> dict[str, Any] | None:
    """The metrics on these rows; None if there are no rows."""
    label, score = str(values.label), values.reference
    if rows.isEmpty():
        return None
    rows = with_label_numbers(model, rows, label)
    metrics = measure(model, rows, label, values.weight)
    if score and outcome(model) == BINARY:
        rows = rows.where(column(score).isNotNull())
        metrics["reference"] = of_binary(rows, label, score, values.weight)
    return metrics if values.privacy == "open" else safe_line(metrics, STRICT)


def small_cell(values: Train) -> int | None:
    """The smallest count that is shown; None: any."""
    return None if values.privacy == "open" else STRICT


def shown(numbers: dict[str, Any], values: Train) -> str:
    """The metrics of a part, one per line."""
    if not isinstance(numbers.get("auc"), float):
        return "\n".join(f"  {n:<20} {v:.4f}" for n, v in numbers.items() if isinstance(v, float))
    lines = [_area("AUC", numbers)]
    if isinstance(numbers.get("reference", {}).get("auc"), float):
        generated = values.input is None and values.reference == TRUE_RISK
        name = "best attainable AUC" if generated else f"AUC of {values.reference}"
        lines.append(_area(name, numbers["reference"]))
    lines.append(f"  {'Brier score':<20} {numbers['brier']:.4f}")
    rates = (numbers.get("sensitivity"), numbers.get("specificity"))
    if values.operatingPoint.sensitivity is not None and HIDDEN not in rates:
        lines.append(
            f"  above {numbers['threshold']:<14.4g} sensitivity {numbers['sensitivity']:.4f}, "
            f"specificity {numbers['specificity']:.4f}"
        )
    return "\n".join(lines)


def _count(rows: int | str) -> str:
    return rows if isinstance(rows, str) else f"{rows:,}"


def _area(name: str, numbers: dict[str, Any]) -> str:
    interval = f"(95% interval {numbers['aucLow']:.4f} to {numbers['aucHigh']:.4f})"
    return f"  {name:<20} {numbers['auc']:.4f} {interval}"


def save(
    folder: Folder,
    settings: Settings[Train],
    division: Division,
    source: TrainingSource,
    fitted: Fitted,
    metrics: dict[str, Any],
) -> None:
    """Write the folder that the head of this module describes; settings.json is written last."""
    writer = fitted.model.write()
    (writer.overwrite() if folder.overwrite else writer).save(f"{folder.path}/model")
    folder.write("model.txt", f"{fitted.model.toText(small_cell(settings.job))}\n")
    folder.write("model.svg", fitted.model.toSVG(smallCell=small_cell(settings.job)))
    if isinstance(fitted.model, GroupedModel):
        folder.write("overview.svg", fitted.model.toOverviewSVG())
    folder.write("metrics.json", json.dumps(plain(metrics), indent=2) + "\n")
    if fitted.sizes is not None:
        folder.write("sizes.csv", safe_csv(fitted.sizes))
    record = {
        "settings": asdict(settings.job),
        "division": division.to_dict(),
        "source": source.to_dict(),
    }
    folder.write("settings.json", json.dumps(plain(record), indent=2) + "\n")
