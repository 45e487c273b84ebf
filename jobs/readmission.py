"""FIGS beside other models on a raw hospital extract, on the same rows: AUC with intervals.

    spark-submit jobs/readmission.py --input diabetic_data.csv.gz --output build/readmission

The input is the UCI extract "Diabetes 130-US hospitals" as it is downloaded. Without one, a table
of the same shape is generated. Early readmission is predicted from all columns, and from all but
the ICD-9 codes. Patients are divided 70 to 30 by a hash; those who died are left out. Intervals are
by the bootstrap over patients of the test rows, and so are the differences to FIGS. The scores of
each model are kept in the output folder, so models may be run one by one: `--models figs tree`.

EBM needs `pip install interpret-core`; it is left out if that is not installed. It has no
interactions and few bags: with its defaults it takes more than a quarter of an hour.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyspark.ml import Pipeline
from pyspark.ml.classification import DecisionTreeClassifier, RandomForestClassifier
from pyspark.ml.feature import StringIndexer, VectorAssembler
from pyspark.ml.functions import vector_to_array
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import BaggedFIGSClassifier, FIGSClassifier
from figs_spark.datasets import encounters

LABEL, ROW, PERSON = "early", "encounter_id", "patient_nbr"
DIAGNOSES = ["diag_1", "diag_2", "diag_3"]
CODES = ["admission_type_id", "discharge_disposition_id", "admission_source_id"]
DIED = 11
MOST_CATEGORIES = 254  # of HistGradientBoosting, besides the one for others
SAMPLES = 500  # of the bootstrap


@dataclass(frozen=True)
class Stays:
    """The rows to train on and to test on, and the columns to predict from."""

    train: DataFrame
    test: DataFrame
    features: list[str]

    @property
    def texts(self) -> list[str]:
        kinds = dict(self.train.dtypes)
        return [name for name in self.features if kinds[name] == "string"]

    def tables(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The same rows for pandas; codes are text."""
        tables: list[Any] = [part.orderBy(ROW).toPandas() for part in (self.train, self.test)]
        for table in tables:
            table[CODES] = table[CODES].astype(str)
        return tables[0], tables[1]


Scores = Any  # a pandas Series: the risk of each test row, by ROW


def figs(stays: Stays) -> Scores:
    model = FIGSClassifier(
        featuresCols=stays.features, categoricalCols=CODES, labelCol=LABEL, maxSplits=16
    )
    return _by_row(model.fit(stays.train).transform(stays.test))


def bagged(stays: Stays) -> Scores:
    model = BaggedFIGSClassifier(
        featuresCols=stays.features, categoricalCols=CODES, labelCol=LABEL,
        numEstimators=50, maxSplits=16, idCol=ROW,
    )  # fmt: skip
    return _by_row(model.fit(stays.train).transform(stays.test))


def tree(stays: Stays) -> Scores:
    return _indexed(stays, DecisionTreeClassifier(maxDepth=4, **_columns()))


def forest(stays: Stays) -> Scores:
    return _indexed(stays, RandomForestClassifier(numTrees=100, maxDepth=8, seed=0, **_columns()))


def _columns() -> dict[str, Any]:
    return {"labelCol": "number", "featuresCol": "vector", "maxBins": 1024}


def _indexed(stays: Stays, estimator: Any) -> Scores:
    """A model of MLlib behind StringIndexer and VectorAssembler."""
    texts = [*stays.texts, *(code for code in CODES if code in stays.features)]
    indices = [f"{name} index" for name in texts]
    inputs = [*indices, *(name for name in stays.features if name not in texts)]
    stages = [
        StringIndexer(inputCols=texts, outputCols=indices, handleInvalid="keep"),
        VectorAssembler(inputCols=inputs, outputCol="vector", handleInvalid="keep"),
        estimator,
    ]
    train, test = (
        part.withColumn("number", F.col(LABEL).cast("double")).fillna("?", stays.texts)
        for part in (stays.train, stays.test)
    )
    return _by_row(Pipeline(stages=stages).fit(train).transform(test))


def boosting(stays: Stays) -> Scores:
    from sklearn.ensemble import HistGradientBoostingClassifier

    train, test = stays.tables()
    texts = [*stays.texts, *(code for code in CODES if code in stays.features)]
    for name in texts:
        frequent = train[name].value_counts().index[:MOST_CATEGORIES]
        kind = pd.CategoricalDtype([*frequent, "other"])
        for table in (train, test):
            known = table[name].where(table[name].isin(frequent) | table[name].isna(), "other")
            table[name] = known.astype(kind)
    model = HistGradientBoostingClassifier(
        categorical_features="from_dtype", early_stopping=True, random_state=0
    )
    model.fit(train[stays.features], train[LABEL])
    return pd.Series(model.predict_proba(test[stays.features])[:, 1], index=test[ROW])


def ebm(stays: Stays) -> Scores:
    glassbox: Any = import_module("interpret.glassbox")
    train, test = stays.tables()
    model = glassbox.ExplainableBoostingClassifier(
        random_state=0, n_jobs=2, outer_bags=4, interactions=0, max_rounds=5_000
    )
    model.fit(train[stays.features], train[LABEL])
    return pd.Series(model.predict_proba(test[stays.features])[:, 1], index=test[ROW])


MODELS: dict[str, tuple[str, Callable[[Stays], Scores]]] = {
    "figs": ("FIGS, 16 splits", figs),
    "bagged": ("Bagging-FIGS, 50 x 16 splits", bagged),
    "tree": ("MLlib decision tree, depth 4", tree),
    "forest": ("MLlib random forest, 100 x depth 8", forest),
    "ebm": ("EBM (interpret), no interactions, 4 bags, at most 5,000 rounds", ebm),
    "boosting": ("HistGradientBoosting (scikit-learn)", boosting),
}


def _by_row(scored: DataFrame) -> Scores:
    risk = vector_to_array(F.col("probability"))[1].alias("risk")
    table: Any = scored.select(ROW, risk).toPandas()
    return table.set_index(ROW)["risk"]


def read(spark: SparkSession, path: str | None, rows: int) -> DataFrame:
    """The stays with the label, without patients who died."""
    if path is None:
        raw = encounters(spark, rows).replace("?", None)
    else:
        raw = spark.read.csv(path, header=True, inferSchema=True, nullValue="?")
    stays = raw.where(F.col("discharge_disposition_id") != DIED)
    return stays.withColumn(LABEL, F.col("readmitted") == "<30").drop("readmitted")


def divided(stays: DataFrame, with_codes: bool) -> Stays:
    in_training = F.pmod(F.xxhash64(PERSON), F.lit(10)) < 7
    left_out = {ROW, PERSON, LABEL, *([] if with_codes else DIAGNOSES)}
    features = [name for name in stays.columns if name not in left_out]
    return Stays(stays.where(in_training), stays.where(~in_training), features)


# Intervals


def area(labels: np.ndarray, risks: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The AUC under each row of weights; ties count half."""
    _, place = np.unique(risks, return_inverse=True)
    levels = place.max() + 1
    areas = []
    for weight in np.atleast_2d(weights):
        having = np.bincount(place, weight * labels, levels)
        without = np.bincount(place, weight * ~labels, levels)
        below = np.cumsum(without) - without / 2
        areas.append(below @ having / (having.sum() * without.sum()))
    return np.array(areas)


def bootstrap(persons: np.ndarray, samples: int, seed: int = 0) -> np.ndarray:
    """How often each row is in each sample of persons."""
    _, place = np.unique(persons, return_inverse=True)
    random, count = np.random.default_rng(seed), place.max() + 1
    draws = [np.bincount(random.integers(0, count, count), minlength=count) for _ in range(samples)]
    return np.array(draws)[:, place]


def results(test: pd.DataFrame, scores: dict[tuple[str, bool], Scores]) -> pd.DataFrame:
    """A line per model: AUC with and without codes, and the difference to FIGS, with intervals."""
    labels = test[LABEL].to_numpy()
    weights = np.vstack([np.ones(len(test)), bootstrap(test[PERSON].to_numpy(), SAMPLES)])
    areas = {
        key: area(labels, risks.reindex(test[ROW]).to_numpy(), weights)
        for key, risks in scores.items()
    }
    lines = []
    for name, (title, _) in MODELS.items():
        line = {"model": title}
        for with_codes, heading in ((True, "with ICD-9"), (False, "without")):
            if (name, with_codes) not in areas:
                continue
            own = areas[name, with_codes]
            line[f"AUC {heading}"] = _interval(own, ".3f")
            if name != "figs" and ("figs", with_codes) in areas:
                line[f"more than FIGS {heading}"] = _interval(
                    own - areas["figs", with_codes], "+.3f"
                )
        lines.append(line)
    return pd.DataFrame(lines).fillna("")


def _interval(values: np.ndarray, form: str) -> str:
    """The value of all rows, and the middle 95% of the samples."""
    low, high = np.quantile(values[1:], [0.025, 0.975])
    return f"{values[0]:{form}} ({low:{form}} to {high:{form}})"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--input", help="the extract; without one, a table is generated")
    parser.add_argument("--rows", type=int, default=20_000, help="of a generated table")
    parser.add_argument("--models", nargs="*", choices=MODELS, default=list(MODELS))
    parser.add_argument("--output", default="build/readmission", help="folder")
    options = parser.parse_args(arguments)
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    spark = SparkSession.builder.appName("readmission").getOrCreate()
    stays = read(spark, options.input, options.rows).cache()
    scores: dict[tuple[str, bool], Scores] = {}
    for with_codes in (True, False):
        part = divided(stays, with_codes)
        for name, (title, fit) in MODELS.items():
            file = folder / f"{name}_{'with' if with_codes else 'without'}.parquet"
            if name in options.models and not file.exists() and _is_there(name):
                started = time.perf_counter()
                fit(part).to_frame("risk").to_parquet(file)
                print(f"{title}: {time.perf_counter() - started:.0f} s", flush=True)
            if file.exists():
                scores[name, with_codes] = pd.read_parquet(file)["risk"]
    test: Any = divided(stays, True).test.select(ROW, PERSON, LABEL).toPandas()
    table = results(test, scores)
    table.to_csv(folder / "table.csv", index=False)
    print(
        f"{len(test):,} test stays, {test[LABEL].mean():.1%} early\n{table.to_string(index=False)}"
    )
    return 0


def _is_there(name: str) -> bool:
    if name != "ebm" or find_spec("interpret"):
        return True
    print("EBM is left out: interpret-core is not installed.")
    return False


if __name__ == "__main__":
    sys.exit(main())
