"""A model of two classes can carry an operating point: a threshold, and how it was chosen."""

from __future__ import annotations

import logging
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from figs_spark.clinical.curves import EVERYONE, Curve, OperatingPoint
from figs_spark.clinical.scored import Scored
from figs_spark.dataframes.labels import BOOLEANS
from figs_spark.stages.base.model import FittedModel
from figs_spark.stages.params.values import number
from figs_spark.treesum import TreeSum
from figs_spark.treesum.reading import Labels
from figs_spark.treesum.small_cells import hidden
from figs_spark.treesum.strict_json import Entry
from figs_spark.treesum.text import WIDTH
from figs_spark.treesum.text import number as rounded

if TYPE_CHECKING:
    from typing_extensions import Self

FEW_SPARED = 0.1  # a lower specificity is of little use

log = logging.getLogger("figs_spark")


class WithOperatingPoint(FittedModel):
    """A model forgets its operating point when its threshold or its size changes."""

    _operating_point: OperatingPoint | None = None

    @property
    def operatingPoint(self) -> OperatingPoint | None:
        """The operating point that `setOperatingPoint` chose, if its threshold is in use."""
        point, get = self._operating_point, self.getOrDefault
        if point is None or get("thresholds") is not None or get("threshold") != point.threshold:
            return None
        return point

    def setOperatingPoint(
        self, sensitivity: float, on: DataFrame, weightCol: str | None = None
    ) -> Self:
        """Choose the threshold with the best specificity at this sensitivity or more.

        `on` has the features and the label. Use rows that the model was not trained on. All rows
        count the same unless `weightCol` is given. The threshold lies halfway between two
        probabilities; it is -1 if this sensitivity is reached only when everyone is flagged.
        """
        label = self.getOrDefault("labelCol")
        if self._classes != 2:
            raise ValueError(
                f"An operating point is for two classes, and column '{label}' (labelCol) has "
                f"{self._classes}. Set thresholds instead, one value per class."
            )
        try:
            level = number(0, 1)(sensitivity)
        except (TypeError, ValueError) as error:
            raise type(error)(f"sensitivity: {error}.") from None
        score = f"{self.uid}_score"
        scored = self._with_one_output(on, "probabilityCol", score)
        curve = Curve(Scored(scored, label, score, weightCol).overall())
        point = curve.point(level).as_param()
        _warn_if_most_are_flagged(curve, point)
        self._operating_point = point
        self.clear(self.getParam("thresholds"))
        return self._set(threshold=point.threshold)

    def truncate(self, k: Any) -> Self:
        """The model as it was after its first k splits, without the operating point."""
        smaller: Self = super().truncate(k)  # type: ignore[safe-super]
        return smaller._without_operating_point()

    def _without_operating_point(self) -> Self:
        if self.operatingPoint is not None:
            self.clear(self.getParam("threshold"))
        self._operating_point = None
        return self

    def _text(self, small_cell: int | None = None) -> str:
        sentence = self._operating_sentence(small_cell) or self._threshold_sentence()
        shown = super()._text(small_cell)  # type: ignore[safe-super]
        return f"{shown}\n\n{textwrap.fill(sentence, WIDTH)}" if sentence else shown

    def _operating_sentence(self, small_cell: int | None = None) -> str | None:
        point = self.operatingPoint
        return None if point is None else self._sentence(point, small_cell)

    @property
    def _threshold_in_use(self) -> float | None:
        """The threshold that was set, by an operating point or by hand; None: the default.

        A group's model inside G-FIGS has the threshold, but not the operating point: that was
        measured on the rows of all groups.
        """
        get = self.getOrDefault
        if self._classes != 2 or get("thresholds") is not None or not self.isSet("threshold"):
            return None
        return float(get("threshold"))

    def _threshold_sentence(self) -> str | None:
        threshold = self._threshold_in_use
        return None if threshold is None else f"Threshold: {self._rule(threshold)}."

    def _rule(self, threshold: float) -> str:
        name = self._class_names[1] if self._class_names else 1
        name = self._positive() if self._class_names == BOOLEANS else name
        condition = f"if the {self._score_word} is above {rounded(threshold)}"
        return f"predict {name} {'always' if threshold == EVERYONE else condition}"

    def _labels(self, small_cell: int | None = None) -> Labels:
        labels, threshold = super()._labels(small_cell), self._threshold_in_use
        if threshold is None:
            return labels
        return replace(labels, threshold=threshold, decision=self._positive())

    def _sentence(self, point: OperatingPoint, small_cell: int | None) -> str:
        sensitivity, specificity = point.sensitivity_interval, point.specificity_interval
        rule = (
            f"Operating point: {self._rule(point.threshold)}, the best specificity at a "
            f"sensitivity of {point.level:g} or more"
        )
        counts = (point.tp, point.fn, point.tn, point.fp)
        if small_cell is not None and any(hidden(counts, small_cell)):
            return f"{rule}."
        return (
            f"{rule} on {_counted(point.tp + point.fn)} positives "
            f"and {_counted(point.tn + point.fp)} negatives: sensitivity {point.sensitivity:.3f} "
            f"(95% interval {sensitivity[0]:.3f} to {sensitivity[1]:.3f}), specificity "
            f"{point.specificity:.3f} ({specificity[0]:.3f} to {specificity[1]:.3f})."
        )

    # Saving

    def _class_contents(self) -> dict[str, Any]:
        point = self._operating_point
        return super()._class_contents() | {"operatingPoint": point and point.to_dict()}

    def _set_classes(self, contents: dict[str, Any], model: TreeSum, source: str) -> None:
        super()._set_classes(contents, model, source)
        saved = contents.get("operatingPoint")
        if saved is not None and self._classes != 2:
            Entry(saved, source, "operatingPoint").refuse("null for more than two classes")
        self._operating_point = None if saved is None else OperatingPoint.from_dict(saved, source)


def _warn_if_most_are_flagged(curve: Curve, point: OperatingPoint) -> None:
    """A model of few probabilities may leap from a low sensitivity to one that spares nobody."""
    if not point.specificity < FEW_SPARED:
        return
    if point.threshold == EVERYONE:
        log.warning("A sensitivity of %g is reached only if everyone is flagged.", point.level)
        return
    next_one = curve.last_below(point.level)
    log.warning(
        "A sensitivity of %g is reached only if %.0f%% of the rows are flagged. The next threshold "
        "flags %.0f%% and reaches %.2f. Ask for less, or take a model with more splits.",
        point.level,
        100 * (point.tp + point.fp) / (point.tp + point.fp + point.tn + point.fn),
        100 * curve.flagged[next_one],
        curve.sensitivity[next_one],
    )


def _counted(rows: float) -> str:
    """A number of rows, or the sum of their weights."""
    return f"{round(rows, 3):,}".removesuffix(".0")
