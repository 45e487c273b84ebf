"""What every fitted model shows of itself: text, picture, and the words for its outcome."""

from __future__ import annotations

import html
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from figs_spark.dataframes.labels import BOOLEANS
from figs_spark.pictures.axes import to_axes
from figs_spark.pictures.shapes import Drawing
from figs_spark.pictures.svg import to_html, to_svg
from figs_spark.pictures.trees import WIDTH
from figs_spark.stages.params.declared import DeclaredParams
from figs_spark.treesum import Feature
from figs_spark.treesum.fingerprint import short
from figs_spark.treesum.reading import Labels
from figs_spark.treesum.visible import visible


class Shown(DeclaredParams):
    """A model that prints and draws itself."""

    _classes: int  # 0: regression
    _class_names: tuple[str, ...] | None

    # Defined by the model

    @property
    @abstractmethod
    def _features(self) -> tuple[Feature, ...]:
        """The features that the model was trained on, in their order."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """The SHA-256 of the model."""

    @abstractmethod
    def _check_fitted(self) -> None:
        """An error if there is nothing to show."""

    @abstractmethod
    def _drawing(self, width: float, small_cell: int | None = None) -> Drawing:
        """The picture; trees that do not fit into one row of this width fill several rows."""

    @abstractmethod
    def _outcome(self) -> str:
        """The end of the sentence "the sum is ..."."""

    def _sum_words(self) -> str:
        """The same of a single sum of trees, if the model has several."""
        return self._outcome()

    def _output_names(self) -> Sequence[str] | None:
        """The names of the outputs, if there are several."""
        return None

    # Text and picture

    @abstractmethod
    def _text(self, small_cell: int | None = None) -> str:
        """What `print(model)` shows before the fingerprint."""

    def __str__(self) -> str:
        return self.toText()

    def toText(self, smallCell: int | None = None) -> str:
        """What `print(model)` shows; counts of rows below `smallCell` are hidden.

        They show as "<11", inner nodes then show no count, and if a single leaf is hidden, so is
        the next smallest.
        """
        if not self._features:
            return f"{type(self).__name__}: not fitted"
        return f"{visible(self._text(smallCell))}\n\nFingerprint {short(self.fingerprint)}"

    @property
    def toDebugString(self) -> str:
        """The model as text, as `print(model)` shows it."""
        return str(self)

    def plot(self, ax: Any = None, width: float = WIDTH) -> Any:
        """Draw the model with matplotlib, on these axes or on a new figure; returns the axes.

        `width` is the width of a row of trees, in pixels of 1/96 inch. The picture is scaled to fit
        into axes of yours.
        """
        self._check_fitted()
        return to_axes(self._drawing(width), ax)

    def toSVG(self, width: float = WIDTH, smallCell: int | None = None) -> str:
        """The picture as SVG text, for a file or a page; `smallCell` as in `toText`."""
        self._check_fitted()
        return to_svg(self._drawing(width, smallCell))

    def _repr_html_(self) -> str:
        """The pictures in a notebook."""
        if not self._features:
            return f"<p>{html.escape(str(self))}</p>"
        return to_html(*self._pictures())

    def _pictures(self) -> Sequence[Drawing]:
        """What a notebook shows."""
        return [self._drawing(WIDTH)]

    def _labels(self, small_cell: int | None = None) -> Labels:
        names = self._output_names()
        return Labels(
            subject=self._subject(),
            outcome=self._sum_words(),
            percent=self._classes > 0,
            outputs=tuple(names) if names else ("",),
            small_cell=small_cell,
            remarks=self._remarks(),
            class_weights=self._has_class_weights,
        )

    @property
    def _has_class_weights(self) -> bool:
        """Whether class weights keep the probabilities from being rates."""
        return False

    @property
    def _score_word(self) -> str:
        return "score" if self._has_class_weights else "probability"

    def _remarks(self) -> tuple[str, ...]:
        """What a reader of the picture or of an export must know besides."""
        return ()

    def _subject(self) -> str:
        label = self.getOrDefault("labelCol")
        if self._classes == 0:
            return f"Prediction of {label}"
        if self._classes > 2:
            return f"Score of each class of {label}"
        return f"{self._score_word.capitalize()} of {self._positive()}"

    def _positive(self) -> str:
        """What class 1 of two stands for: "died = 1", "outcome = dead", or "died" if it is true."""
        label = self.getOrDefault("labelCol")
        if self._class_names == BOOLEANS:
            return str(label)
        return f"{label} = {self._class_names[1] if self._class_names else 1}"
