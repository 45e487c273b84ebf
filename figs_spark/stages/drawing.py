"""Models show themselves: in a notebook, by matplotlib, as SVG."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.ml.linalg import Vector

from figs_spark.pictures.axes import to_axes
from figs_spark.pictures.reading import Labels
from figs_spark.pictures.shapes import Drawing
from figs_spark.pictures.svg import to_html, to_svg
from figs_spark.pictures.trees import WIDTH
from figs_spark.stages.scoring import ScoringModel


class DrawnModel(ScoringModel):
    """A model with a picture of itself."""

    @abstractmethod
    def _drawing(self, width: float) -> Drawing:
        """The picture; trees that would be wider in a row are put into several rows."""

    def plot(self, ax: Any = None, width: float = WIDTH) -> Any:
        """The picture by matplotlib: on the axes, or on a new figure; returns the axes.

        `width` is that of a row of trees, in pixels of 1/96 inch. On axes that are given, the
        picture is scaled to fit.
        """
        return to_axes(self._drawing(width), ax)

    def toSVG(self, width: float = WIDTH) -> str:
        """The picture as SVG text, to be written to a file or put into a page."""
        return to_svg(self._drawing(width))

    def _repr_html_(self) -> str:
        return to_html(self._drawing(WIDTH))

    def _labels(self) -> Labels:
        names = self._output_names()
        return Labels(
            subject=self._subject(),
            outcome=self._outcome(),
            percent=self._classes > 0,
            outputs=tuple(names) if names else ("",),
        )

    def _subject(self) -> str:
        label = self.getOrDefault("labelCol")
        if self._classes == 0:
            return f"Prediction of {label}"
        if self._classes > 2:
            return f"Score of each class of {label}"
        return f"Probability of {label} = {self._class_names[1] if self._class_names else 1}"

    def _cells(self, row: Any) -> list[Any]:
        """The values of one row in the order of the features."""
        named = _by_name(row)
        if named is None:
            return _in_order(row, self.featureNames)
        packed = named.get(self.getOrDefault("featuresCol"))
        if self.getOrDefault("featuresCols") is None and isinstance(packed, (Vector, list)):
            return _in_order(packed, self.featureNames)
        lost = [
            self.featureNames[j] for j in sorted(self._used) if self.featureNames[j] not in named
        ]
        if lost:
            raise ValueError(f"The row lacks {lost}, which the model needs. None is for missing.")
        return [named.get(name) for name in self.featureNames]


def _by_name(row: Any) -> Mapping[str, Any] | None:
    """The row as a mapping where its values have names: a dict, a Spark Row, a pandas Series."""
    if isinstance(row, Mapping):
        return row
    if hasattr(row, "asDict"):
        found: Mapping[str, Any] = row.asDict()
        return found
    if hasattr(row, "notna") and getattr(row, "ndim", 0) == 1:
        return {name: row[name] if there else None for name, there in row.notna().items()}
    return None


def _in_order(row: Any, names: Sequence[str]) -> list[Any]:
    cells = list(row.toArray() if isinstance(row, Vector) else row)
    if len(cells) != len(names) or getattr(row, "ndim", 1) != 1:
        raise ValueError(
            f"One row is needed: a dict, a Row, a pandas Series, or the {len(names)} values in the "
            f"order of featureNames; got {type(row).__name__} of length {len(cells)}."
        )
    return cells
