"""`model.report`: the page with the calculator, the evaluation and the checklist."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, TimestampNTZType, TimestampType

from figs_spark.clinical.evaluation import BINS, evaluated
from figs_spark.clinical.measures import SENSITIVITIES
from figs_spark.clinical.scored import Scored
from figs_spark.dataframes.columns import column, field
from figs_spark.exports.files import check_absent, write_files
from figs_spark.exports.page.evaluated import Evaluated
from figs_spark.exports.page.fields import read_wordings
from figs_spark.exports.page.growth import Growth, Returning, Size
from figs_spark.exports.page.page import Page, to_html
from figs_spark.exports.page.statement import Statement
from figs_spark.stages.base.embedding import PRIVATE, embedded
from figs_spark.stages.base.model import FittedModel
from figs_spark.stages.base.usual_values import usual_values
from figs_spark.treesum.points import Points
from figs_spark.treesum.small_cells import STRICT

DATES = (DateType, TimestampType, TimestampNTZType)


class Reporting(FittedModel):
    """A model that can be put on a page."""

    def report(
        self,
        path: str | Path,
        evaluation: DataFrame | None = None,
        *,
        about: Mapping[str, Any] | None = None,
        fields: Mapping[str, Any] | None = None,
        groupCols: Sequence[str] = (),
        validationCols: Sequence[str] = (),
        weightCol: str | None = None,
        sensitivities: Sequence[float] = SENSITIVITIES,
        training: DataFrame | None = None,
        original: FittedModel | None = None,
        stability: Any = None,
        optimism: Any = None,
        sizes: Any = None,
        smallCell: int = STRICT,
        overwrite: bool = False,
    ) -> Path:
        """Write the model as one HTML file with calculator, evaluation and checklist.

        `evaluation` has rows that the model was not trained on, with the label; the model scores
        them if they lack its probability. `groupCols` are groups of patients to compare,
        `validationCols` dates or sites; of dates the years are compared. `about` has what only
        people know, and `fields` the name, unit, help, range and labels of columns. The usual
        ranges of numbers come from `training` or else from `evaluation`. `original` is the model
        that this one was made from by hand or in points: both are compared. `stability`,
        `optimism` and `sizes` are what the functions `stability` and `optimism` and the method
        `crossValidatePath` gave. Counts below `smallCell` are not shown,
        nor is anything that would tell them.
        """
        target = Path(path)
        check_absent([target], overwrite)
        model = self._instrument(smallCell)
        statement, wordings = Statement.read(about), read_wordings(model, fields)
        results = None
        if evaluation is not None:
            columns = (list(groupCols), list(validationCols))
            results = self._results(evaluation, *columns, weightCol, sensitivities, smallCell)
        before = None
        if isinstance(original, Reporting) and evaluation is not None:
            before = original._results(evaluation, [], [], weightCol, (), smallCell)
        rows = evaluation if training is None else training
        ranges, signs = ({}, []) if rows is None else usual_values(self, rows, smallCell)
        growth = self._growth(stability, sizes, optimism)
        content = {
            "about": statement.to_dict(),
            "fields": dict(fields or {}),
            "evaluation": None if results is None else results.to_dict(),
            "growth": None if growth is None else growth.to_dict(),
        }
        page = Page(
            model=model,
            labels=self._labels(smallCell),
            statement=statement,
            wordings=wordings,
            ranges=ranges,
            signs=signs,
            results=results,
            before=before,
            growth=growth,
            points=getattr(self, "_points", None),
            settings=self._settings(),
            small_cell=smallCell,
            report=embedded(self, smallCell, content),
        )
        write_files({target: to_html(page).encode()}, overwrite)
        return target

    def _results(
        self,
        rows: DataFrame,
        groups: list[str],
        validation: list[str],
        weight: str | None,
        sensitivities: Sequence[float],
        least: int,
    ) -> Evaluated:
        """The evaluation, by one aggregation for each column of groups."""
        if self._classes != 2:
            raise ValueError(
                f"A report evaluates a model of two classes, and column "
                f"'{self.getOrDefault('labelCol')}' (labelCol) has {self._classes or 'no'} "
                f"classes. Leave `evaluation` out."
            )
        for name in validation:
            if isinstance(field(rows, name, "validationCols").dataType, DATES):
                rows = rows.withColumn(name, F.year(column(name)))
        score = self.getOrDefault("probabilityCol")
        if score not in rows.columns:
            score = f"{self.uid}_score"
            rows = self._with_one_output(rows, "probabilityCol", score)
        label = self.getOrDefault("labelCol")
        names = list(dict.fromkeys([*groups, *validation]))
        parts = {name: Scored(rows, label, score, weight, name).by_group() for name in names}
        whole = parts[names[0]][0][1] if names else Scored(rows, label, score, weight).overall()
        threshold = self.getOrDefault("threshold")
        points: Points | None = getattr(self, "_points", None)
        bins = BINS if points is None else max(BINS, points.largest + 1)  # one for each total
        return evaluated(whole, parts, threshold, sensitivities, least, validation, bins)

    def _growth(self, stability: Any, sizes: Any, optimism: Any) -> Growth | None:
        """The path of sizes that the model itself knows, and what was measured besides."""
        family = self._family()
        if family.kind == "mean" or not all(
            math.isfinite(v) for s in family.sums for v in s.losses
        ):
            return None  # an ensemble has no such path, and that of a changed model is not known
        names = [str(group) for group in family.groups] or [""]
        paths = {}
        for name, one in zip(names, family.sums, strict=True):
            paths[name] = tuple(Size(k, loss) for k, loss in enumerate(one.losses))
        if sizes is not None and family.kind == "sum":
            table = getattr(sizes, "table", sizes)
            lines = zip(table["trainingLoss"], table["loss"], table["standardError"])
            paths[names[0]] = tuple(
                Size(k, float(training), float(held_out), float(error))
                for k, (training, held_out, error) in enumerate(lines)
            )
        chosen = {name: len(one.splits) for name, one in zip(names, family.sums, strict=True)}
        returning = () if stability is None else tuple(_returning(stability))
        jaccard = None if stability is None else _jaccard(stability)
        return Growth(paths, chosen, returning, jaccard, optimism and _corrected(optimism))

    def _settings(self) -> dict[str, str]:
        """The Params that were set, and versions."""
        params = {p.name: value for p, value in self._paramMap.items() if p.name not in PRIVATE}
        versions = {"PySpark": pyspark.__version__, "Python": sys.version.split()[0]}
        return {**versions, **{name: str(params[name]) for name in sorted(params)}}


def _returning(stability: Any) -> list[Returning]:
    firsts = {
        (str(line["group"]), line["feature"]): line
        for line in stability.firstSplits.to_dict("records")
    }
    kinds = [name for name in stability.frequencies if name not in ("group", "feature")]
    kinds.remove("unperturbed")
    return [
        Returning(
            group=str(line["group"]),
            feature=line["feature"],
            in_model=line["unperturbed"] > 0,
            shares={kind: float(line[kind]) for kind in kinds},
            first={
                kind: float(firsts.get((str(line["group"]), line["feature"]), {}).get(kind, 0.0))
                for kind in kinds
            },
        )
        for line in stability.frequencies.to_dict("records")
    ]


def _corrected(optimism: Any) -> dict[str, float]:
    return {
        "apparentAuc": optimism.auc,
        "correctedAuc": optimism.correctedAuc,
        "apparentSlope": optimism.slope,
        "correctedSlope": optimism.correctedSlope,
        "repeats": float(optimism.repeats),
    }


def _jaccard(stability: Any) -> dict[str, float]:
    means = stability.table.groupby("perturbation", sort=False)["jaccard"].mean()
    return {str(kind): float(value) for kind, value in means.items()}
