"""What the fitted FIGS models share: the tree sum, scoring as native Columns, text, saving."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.ml import Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import DenseVector, Vector, Vectors
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from figs_spark.engine.blocks import Target
from figs_spark.stages.inputs import check_outputs, column, scoring_columns, with_scoring_array
from figs_spark.stages.params import DeclaredParams
from figs_spark.stages.persistence import Persistent
from figs_spark.treesum import Node, TreeSum
from figs_spark.treesum.expressions import contribution_columns, leaf_columns, score_columns
from figs_spark.treesum.serialization import from_dict, to_dict
from figs_spark.treesum.text import describe, rules

if TYPE_CHECKING:
    import pandas as pd

NOT_FITTED = TreeSum((), (Node((0.0,), 0, 0.0),), (0.0,), (0.0,))


class FIGSModel(DeclaredParams, Persistent, Model):
    """A fitted sum of trees."""

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self.treeSum: TreeSum = NOT_FITTED
        self._classes = 0
        self._class_names: tuple[str, ...] | None = None
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
    def numFeatures(self) -> int:
        return len(self.treeSum.features)

    @property
    def featureNames(self) -> list[str]:
        return self.treeSum.feature_names

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

    def _outcome(self) -> str:
        """Ends the sentence "the sum is ..."."""
        raise NotImplementedError

    def _output_names(self) -> Sequence[str] | None:
        return None

    # Scoring

    def _transform(self, dataset: DataFrame) -> DataFrame:
        """Native Columns only: no Python in the plan. What other expressions build on gets a
        column of its own for the time being, so that Spark computes it once."""
        check_outputs(dataset, self)
        model, names = self.treeSum, self.getOrDefault("featuresCols")
        own = [f"{self.uid}_{name}" for name in ("features", "scores", "predicted")]
        if names is None:
            name = self.getOrDefault("featuresCol")
            dataset = with_scoring_array(dataset, name, self.numFeatures, own[0])
            features = [column(own[0])[j] for j in range(self.numFeatures)]
        else:
            features = scoring_columns(dataset, model, names)
        dataset = dataset.withColumn(own[1], F.array(*score_columns(model, features)))
        scores = [column(own[1])[c] for c in range(model.outputs)]
        dataset = dataset.withColumn(own[2], F.array(*self._predicted(scores)))
        predicted = [column(own[2])[c] for c in range(max(1, self._classes))]
        outputs = self._outputs(scores, predicted) | self._details(features)
        for name, expression in outputs.items():
            dataset = dataset.withColumn(name, expression)
        return dataset.drop(*own)

    def _predicted(self, scores: Sequence[Column]) -> list[Column]:
        """What the scores predict."""
        return list(scores)

    def _outputs(self, scores: Sequence[Column], predicted: Sequence[Column]) -> dict[str, Column]:
        """The output columns by name, in order."""
        raise NotImplementedError

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

    def _scores(self, values: Any) -> tuple[np.ndarray, bool]:
        """Raw scores, and whether a single row was given."""
        single = isinstance(values, Vector) or np.ndim(values) == 1
        if single:
            cells = values.toArray() if isinstance(values, Vector) else values
            values = np.array([list(cells)], dtype=object)
        return self.treeSum.predict(values), single

    # Saving

    def _contents(self) -> dict[str, Any]:
        return {
            "treeSum": to_dict(self.treeSum),
            "classes": self._classes,
            "classNames": self._class_names,
            "validationLosses": self._validation_losses,
        }

    def _set_contents(self, contents: dict[str, Any], source: str) -> None:
        self.treeSum = from_dict(contents.get("treeSum"), source)
        self._classes = contents.get("classes", "missing")
        names, losses = contents.get("classNames"), contents.get("validationLosses")
        outputs = self.treeSum.outputs
        if not isinstance(self._classes, int) or Target(self._classes).outputs != outputs:
            raise ValueError(
                f"{source} is damaged: the entry 'classes' is {self._classes}, and a leaf has "
                f"{outputs} value(s)."
            )
        self._class_names = tuple(names) if names else None
        self._validation_losses = None if losses is None else tuple(losses)
