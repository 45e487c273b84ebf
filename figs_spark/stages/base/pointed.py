"""`model.toPoints`: the model in whole points, and what a total of points means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import DataFrame

from figs_spark.clinical.measures import bin_line
from figs_spark.clinical.scored import Scored
from figs_spark.stages.base.model import FittedModel
from figs_spark.treesum.nodes import TreeSum
from figs_spark.treesum.points import Points, in_points
from figs_spark.treesum.strict_json import Entry
from figs_spark.treesum.text import number

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import Self


class Pointed(FittedModel):
    """A model that can be turned into points."""

    _points: Points | None = None

    @property
    def points(self) -> Points | None:
        """How points become a score, in a model that `toPoints` made."""
        return self._points

    def toPoints(self, maxTotal: int = 20) -> Self:
        """The model with leaf values rounded to whole points, of at most `maxTotal` in all.

        It is a model like any other. The size of a point is searched so that the values change
        least. An operating point is forgotten. `pointsTable` says what a total means.
        """
        points: Points | None = None

        def change(one: TreeSum) -> TreeSum:
            nonlocal points
            new, points = in_points(one, maxTotal)
            return new

        changed = self._with_one_sum(change, None)
        changed._points = points
        return changed._without_operating_point()

    def pointsTable(self, on: DataFrame) -> pd.DataFrame:
        """By total of points: predicted risk, observed rate with a 95% interval, and rows.

        `on` has the features and the label. It is for two classes.
        """
        import pandas as pd

        if self._points is None or self._classes != 2:
            raise ValueError("A table of points is for a model of two classes that toPoints made.")
        points, score = self._points, f"{self.uid}_points"
        scored = self._with_one_output(on, "rawPredictionCol", score)
        rows = Scored(scored, self.getOrDefault("labelCol"), score).overall(both=False)
        totals = np.array([points.total(score) for score in rows.low.tolist()])
        lines = []
        for total in sorted(set(totals.tolist())):
            line = bin_line(rows, totals == total)
            line["predicted"] = float(self._target.expected([points.score(total)])[0])
            lines.append({"total": total, **line})
        return pd.DataFrame(lines).drop(columns=["low", "high"])

    # Text, picture and JSON

    def _remarks(self) -> tuple[str, ...]:
        points = self._points
        if points is None:
            return super()._remarks()
        words = (
            f"In points: each point adds {number(points.unit)} to {number(points.base)}, and there "
            f"are at most {points.largest} points."
        )
        return (*super()._remarks(), words)

    def _text(self, small_cell: int | None = None) -> str:
        shown = super()._text(small_cell)  # type: ignore[safe-super]
        return shown if self._points is None else f"{shown}\n\n{Pointed._remarks(self)[-1]}"

    def _class_contents(self) -> dict[str, Any]:
        saved = super()._class_contents()
        return saved if self._points is None else saved | {"points": self._points.to_dict()}

    def _set_classes(self, contents: dict[str, Any], model: TreeSum, source: str) -> None:
        super()._set_classes(contents, model, source)
        saved = contents.get("points")
        entry = Entry(saved, source, "points")
        self._points = None if saved is None else Points.from_entry(entry)
