"""A fitted sum of trees: what is in it, its text and picture, its scores as Columns, saving."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import DenseVector, Vectors
from pyspark.sql import Column
from pyspark.sql import functions as F

from figs_spark.engine.blocks import Target
from figs_spark.engine.paths import probabilities
from figs_spark.pictures.explanation import Explanation, explain
from figs_spark.pictures.shapes import Drawing
from figs_spark.pictures.trees import draw_model
from figs_spark.stages.drawing import DrawnModel
from figs_spark.treesum import Feature, Node, TreeSum
from figs_spark.treesum.expressions import contribution_columns, leaf_columns, score_columns
from figs_spark.treesum.serialization import from_dict, to_dict
from figs_spark.treesum.text import describe, rules

if TYPE_CHECKING:
    import pandas as pd

NOT_FITTED = TreeSum((), (Node((0.0,), 0, 0.0),), (0.0,), (0.0,))


class FIGSModel(DrawnModel):
    """A fitted sum of trees."""

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self.treeSum: TreeSum = NOT_FITTED
        self._validation_losses: tuple[float, ...] | None = None

    # What is in it

    @property
    def trees(self) -> tuple[Node, ...]:
        """The root of each tree."""
        return self.treeSum.trees

    @property
    def numTrees(self) -> int:
        return len(self.treeSum.trees)

    @property
    def numSplits(self) -> int:
        return len(self.treeSum.splits)

    @property
    def featureImportances(self) -> DenseVector:
        """Share of the total gain by feature."""
        return Vectors.dense(self.treeSum.importances().tolist())

    @property
    def summary(self) -> pd.DataFrame:
        """One row per split: feature, gain, and the loss after it; row 0 is the constant model.

        The loss is the weighted mean squared error on the training rows; with a
        `validationIndicatorCol` also that of the predictions on the validation rows, up to the
        largest size that was tried.
        """
        import pandas as pd

        made = self.treeSum.splits
        tree = {n.split.step: k for k, t in enumerate(self.trees, 1) for n in t.walk() if n.split}
        table = pd.DataFrame(
            {
                "splits": range(len(made) + 1),
                "tree": pd.array([None, *(tree[s.step] for s in made)], dtype="Int64"),
                "feature": [None, *(self.featureNames[s.feature] for s in made)],
                "gain": [np.nan, *(s.gain for s in made)],
                "loss": self.treeSum.losses,
            }
        )
        if self._validation_losses is not None:
            tried = range(len(self._validation_losses))
            table = table.set_index("splits").reindex(tried).rename_axis("splits").reset_index()
            table["validationLoss"] = self._validation_losses
        return table

    def rules(self) -> pd.DataFrame:
        """One row per leaf: tree, leaf, path as text, value, rows, weight."""
        return rules(self.treeSum, self._output_names())

    def truncate(self, k: int) -> Any:
        """The model as it was after its first k splits."""
        smaller = self.copy()
        smaller.treeSum = self.treeSum.truncate(k)
        return smaller

    def __str__(self) -> str:
        return describe(self.treeSum, type(self).__name__, self._outcome(), self._output_names())

    @property
    def toDebugString(self) -> str:
        return str(self)

    def explain(self, row: Any) -> Explanation:
        """What each tree adds for one row, and by which conditions: a waterfall in a notebook.

        `row` is a dict, a Spark Row, a pandas Series, or an array or vector with the values in the
        order of `featureNames`; None and NaN are missing.
        """
        cells = self._cells(row)
        scores, _ = self._scores(cells)
        prediction = probabilities(scores, Target(self._classes))[0]
        return explain(self.treeSum, self._labels(), cells, prediction)

    def _drawing(self, width: float) -> Drawing:
        return draw_model(self.treeSum, self._labels(), width)

    # Scoring

    @property
    def _features(self) -> tuple[Feature, ...]:
        return self.treeSum.features

    @property
    def _used(self) -> set[int]:
        return {split.feature for split in self.treeSum.splits}

    def _score_array(self, features: Sequence[Column]) -> Column:
        return F.array(*score_columns(self.treeSum, features))

    def _raw_scores(self, values: Any) -> np.ndarray:
        return self.treeSum.predict(values)

    def _details(self, features: Sequence[Column]) -> dict[str, Column]:
        """The optional outputs: the leaf in each tree, and what each tree adds."""
        found: dict[str, Column] = {}
        if name := self.getOrDefault("leafCol"):
            leaves = [leaf.cast("double") for leaf in leaf_columns(self.treeSum, features)]
            found[name] = array_to_vector(F.array(*leaves))
        if name := self.getOrDefault("contributionsCol"):
            trees = contribution_columns(self.treeSum, features)
            found[name] = F.array(*[t[0] if len(t) == 1 else F.array(*t) for t in trees])
        return found

    # Saving

    def _contents(self) -> dict[str, Any]:
        return {
            "treeSum": to_dict(self.treeSum),
            **self._class_contents(),
            "validationLosses": self._validation_losses,
        }

    def _set_contents(self, contents: dict[str, Any], source: str) -> None:
        self.treeSum = from_dict(contents.get("treeSum"), source)
        self._set_classes(contents, self.treeSum.outputs, source)
        losses = contents.get("validationLosses")
        self._validation_losses = None if losses is None else tuple(losses)
