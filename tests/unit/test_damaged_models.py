"""Damaged models: each of thousands of mutations is refused by name, or predicts the same.

A file of format 1 has no fingerprint, so a change that gives another model of its kind cannot be
seen there. It must still work: predict, print, draw, write SQL. So must a newer one whose
fingerprint was left out, or made anew by whoever changed it. FUZZ_MUTATIONS sets how many are
tried (`make fuzz`: 100,000).
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import figs_spark
from figs_spark.clinical.curves import OperatingPoint
from figs_spark.mlflow import Served, checked_entry, from_entry, to_entry
from figs_spark.stages.base.persistence import (
    metadata_of,
    model_text,
    part_classes,
    set_model,
    stage_from,
)
from figs_spark.stages.gfigs.membership import Membership
from figs_spark.stages.gfigs.membership_columns import CODE, NUMBER, TEXT, MembershipColumn
from figs_spark.treesum import Feature, TreeSum
from figs_spark.treesum.adjustments import as_path
from figs_spark.treesum.own_rows import with_own_rows
from figs_spark.treesum.serialization import from_dict, from_json, to_dict, to_json
from figs_spark.treesum.strict_json import parse
from tests.support.instruments import logarithms, score_sql
from tests.support.mutations import mutated
from tests.support.treesums import FEATURES, random_path, random_rows, random_tree_sum

MUTATIONS = int(os.environ.get("FUZZ_MUTATIONS", "3000"))
SOURCE = "a/folder/model.json"
OTHER_ROWS = ("and the model was trained on", "predict takes a table of shape")  # the damaged one
NEWER = (  # all that features may have beside categories
    Feature("seen", kind="date"),
    Feature("moment", kind="timestamp"),
    Feature("grade", ("I", "II", "III"), ordered=True, others=3),
    Feature("diagnosis", ("250", "250.1", "390-459", "428*"), system="icd9", others=12),
    Feature("sex", (0.0, 1.0), ("female", "male")),
    Feature("note", (), kind="text"),
    Feature("hurt", (False, True)),
)
POINT = OperatingPoint(0.9, 0.25, 9.0, 4.0, 20.0, 1.0, (9.0, 4.0, 20.0, 1.0))
COLUMNS = (
    MembershipColumn("age", NUMBER, 0, 41.5, True),
    MembershipColumn("code", CODE, 6, categories=("0.0", "1.0")),
    MembershipColumn("city", TEXT, None, missing=True, categories=("A", "b")),
)


@cache
def rows_of(features: tuple[Feature, ...]) -> list[Any]:
    return random_rows(Random(5), 40, features)


@dataclass(frozen=True)
class Document:
    """A saved model as text, how it is read, and whether a change of it can always be seen."""

    text: str
    load: Callable[[str], Any]
    sealed: bool
    features: tuple[Feature, ...] = FEATURES

    @property
    def rows(self) -> list[Any]:
        return rows_of(self.features)


def stage(kind: str, classes: int, random: Random, features: tuple[Feature, ...] = FEATURES) -> Any:
    outcome = "Classification" if classes else "Regression"
    names = [feature.name for feature in features]
    model = getattr(figs_spark, f"{kind}{outcome}Model")(featuresCols=names, labelCol="y")
    sums = [random_tree_sum(random, 4, classes if classes > 2 else 1) for _ in range(2)]
    model._classes = classes
    if classes == 3:
        model._class_names = ("low", "|middle|", "high")
        model._set(thresholds=[0.2, 0.3, 0.5])
    if classes == 2:
        model._operating_point = POINT
        model._set(threshold=POINT.threshold)
    if kind == "FIGS":
        model.treeSum = sums[0]
        model._validation_losses = (0.5, 0.4, 0.3, 0.2, 0.1, 0.2)
    elif kind == "BaggedFIGS":
        model.members, model.oobScore = tuple(sums), 0.75
    else:
        model._set(groupCol="site")
        model._sums, model._effective = dict(zip("ab", sums)), {"a": 10.0, "b": 20.5}
        model._membership = Membership(("a", "b"), COLUMNS, None)
    return model


def newer_sum(random: Random) -> TreeSum:
    """Log odds with all that newer sums hold: fitted values, samples of them, own rows, remarks."""
    grown = logarithms(random_path(random, 6, features=NEWER)[-1])
    grown = grown.with_path(as_path(grown))
    leaves = [[random.randrange(50) for _ in tree.leaves()] for tree in grown.trees]
    samples = [[(random.gauss(0, 0.3),) for _ in range(7)] for _ in range(5)]
    counted = with_own_rows(grown, leaves)
    return replace(counted, samples=tuple(map(tuple, samples)), remarks=("fitted", "rounded"))


def newer_stage(kind: str, random: Random) -> Any:
    """A classifier of such sums, with the Params that belong to them."""
    model = stage(kind, 2, random, NEWER)
    model._class_names = ("alive", "dead")
    sums = [newer_sum(random) for _ in range(2)]
    if kind == "FIGS":
        model.treeSum = sums[0]
        model._validation_losses = (0.5,) * 7
        model._set(riskIntervalCol="between", intervalSamples=5)
    elif kind == "BaggedFIGS":
        model.members, model.oobAuc = tuple(sums), 0.8
    else:
        model._sums = dict(zip((True, False), sums))
        model._effective = dict(zip((True, False), (10.0, 20.5)))
        model._membership = Membership((True, False), COLUMNS, None)
    return model


def like(model: Any) -> Any:
    """A stage with the same Params that holds no model yet."""
    given = {param.name: value for param, value in model._paramMap.items()}
    return type(model)()._set(**given)


def loaded_as(model: Any, text: str) -> Any:
    again = like(model)
    set_model(again, parse(text, SOURCE), SOURCE)
    return again


def first_format(model: Any) -> str:
    """What figs_spark 0.1 saved."""
    contents = json.loads(json.dumps(model._contents()))
    head = {"format": "figs_spark.treesum", "version": 1}
    if "treeSum" in contents:
        contents["treeSum"] |= head
    for inner in (*contents.get("members", ()), *contents.get("models", ())):
        inner |= head
    return json.dumps(contents)


def first_entry(model: Any) -> str:
    """What figs_spark 0.1 logged to MLflow."""
    contents = json.loads(first_format(model)) | {"membershipColumns": None}
    entry = to_entry(model) | {"format": 1, "contents": contents}
    return json.dumps({k: v for k, v in entry.items() if k not in ("fingerprint", "digest")})


def from_mlflow(text: str) -> Any:
    entry = checked_entry(parse(text, SOURCE), SOURCE)
    return Served.of(entry, SOURCE), from_entry(entry, SOURCE)


@cache
def documents() -> list[Document]:
    random = Random(11)
    found = []
    for outputs in (1, 3):
        model = random_tree_sum(random, 6, outputs)
        head = {"format": "figs_spark.treesum", "version": 1}
        found.append(Document(to_json(model), lambda t: from_json(t, SOURCE), True))
        first = json.dumps(head | to_dict(model))
        found.append(Document(first, lambda t: from_json(t, SOURCE), False))
    for outputs in (1, 3):  # values fitted together, and a remark
        fitted = logarithms(random_tree_sum(random, 6, outputs))
        fitted = replace(fitted.with_path(as_path(fitted)), remarks=("fitted",))
        found.append(Document(to_json(fitted), lambda t: from_json(t, SOURCE), True))
    for kind in ("FIGS", "BaggedFIGS", "GFIGS"):
        for classes in (0, 2, 3):
            made = stage(kind, classes, random)
            load = partial(loaded_as, made)
            found.append(Document(model_text(made), load, True))
            found.append(Document(first_format(made), load, False))
            found.append(Document(json.dumps(to_entry(made)), from_mlflow, True))
            found.append(Document(first_entry(made), from_mlflow, False))
    newer = newer_sum(random)
    found.append(Document(to_json(newer), lambda t: from_json(t, SOURCE), True, NEWER))
    unsealed = json.dumps(to_dict(newer))  # so that each entry is checked, not only the seal
    found.append(Document(unsealed, lambda t: from_dict(parse(t, SOURCE), SOURCE), False, NEWER))
    for kind in ("FIGS", "BaggedFIGS", "GFIGS"):
        made = newer_stage(kind, random)
        load = partial(loaded_as, made)
        found.append(Document(model_text(made), load, True, NEWER))
        found.append(Document(json.dumps(made._contents()), load, False, NEWER))
        found.append(Document(json.dumps(to_entry(made)), from_mlflow, True, NEWER))
    return found


# What a model says


def outputs(model: Any, rows: list[Any]) -> list[Any]:
    """All that a loaded model predicts for the rows."""
    if isinstance(model, tuple):
        served, made = model
        return [*served_outputs(served, rows), *outputs(made, rows)]
    if hasattr(model, "models"):
        return [each for own in model.models.values() for each in outputs(own, rows)]
    found = [model.predict(rows)]
    if hasattr(model, "predictProbability"):
        found.append(model.predictProbability(rows))
    return found


def served_outputs(served: Served, rows: list[Any]) -> list[Any]:
    import pandas as pd

    table = pd.DataFrame(rows, columns=list(served.names))
    if served.group is None:
        return [served.predict(table)]
    if served.group in table:
        return []
    tables = [table.assign(**{served.group: group}) for group in served.groups]
    return [served.predict(table) for table in tables]


def used(model: Any, rows: list[Any]) -> None:
    """Everything that a loaded model can show."""
    if isinstance(model, tuple):
        used(model[1], rows)
        return
    outputs(model, rows)
    if isinstance(model, TreeSum):
        written_as_sql(model)
        return
    assert str(model)
    assert model.toSVG().startswith("<svg")
    assert model._repr_html_()
    assert len(model.rules())
    for single in model.models.values() if hasattr(model, "models") else [model]:
        if hasattr(single, "treeSum"):
            assert len(single.summary)
            assert str(single.explain(rows[0]))
            used(single.treeSum, rows)


def written_as_sql(model: TreeSum) -> None:
    """Every output as SQL; only a name or a category that SQL cannot hold may be refused."""
    texts = [feature.name for feature in model.features]
    texts += [c for split in model.splits for c in split.categories or () if type(c) is str]
    if any("\0" in text for text in texts):
        _, refusal = attempt(lambda _: [score_sql(model, k) for k in range(model.outputs)], "")
        assert refusal is None or "cannot be written in the dialect 'spark'" in refusal
    else:
        assert all(score_sql(model, k) for k in range(model.outputs))


def same(one: list[Any], other: list[Any]) -> bool:
    pairs = zip(one, other, strict=True)
    return all(np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True) for a, b in pairs)


def attempt(load: Callable[[str], Any], text: str) -> tuple[Any, str | None]:
    """What was loaded; or why not, which only a ValueError may say."""
    try:
        return load(text), None
    except ValueError as error:
        return None, str(error)


def tried(document: Document, text: str, expected: list[Any]) -> str:
    """What became of a damaged text: refused, same, or other, if it has no fingerprint."""
    model, refusal = attempt(document.load, text)
    if refusal is not None:
        assert SOURCE in refusal, f"no file is named: {refusal}"
        assert len(refusal) < 2_000
        return "refused"
    if not document.sealed:
        _, refusal = attempt(lambda _: used(model, document.rows), text)
        assert refusal is None or any(words in refusal for words in OTHER_ROWS), refusal
        return "other"
    used(model, document.rows)
    assert same(outputs(model, document.rows), expected), "accepted, with other predictions"
    return "same"


@pytest.mark.parametrize("number", range(len(documents())))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_damage_is_refused_by_name_or_makes_no_difference(number: int) -> None:
    every = documents()
    document, random = every[number], Random(number)
    expected = outputs(document.load(document.text), document.rows)
    used(document.load(document.text), document.rows)
    ends: Counter[str] = Counter()
    for k in range(-(-MUTATIONS // len(every))):
        text = mutated(random, document.text)
        try:
            ends[tried(document, text, expected)] += 1
        except Exception as error:
            file = Path(os.environ.get("FUZZ_FOLDER", "/tmp")) / f"damaged_{number}_{k}.json"
            file.write_text(text, "utf-8", "surrogatepass")
            raise AssertionError(f"mutation {k} of document {number}, see {file}") from error
    assert ends["refused"] > 0.5 * sum(ends.values())
    print(f"document {number}: {dict(ends)}")


def test_there_are_enough_mutations() -> None:
    assert MUTATIONS >= 3_000


# The metadata of a stage


def test_damaged_metadata_is_refused_by_name_or_makes_no_difference() -> None:
    model = stage("GFIGS", 3, Random(1))
    text, random = json.dumps(metadata_of(model, "4.0.0")), Random(2)
    for _ in range(MUTATIONS // 10):
        damaged = mutated(random, text)
        again, refusal = attempt(
            lambda text: stage_from(parse(text, "m/metadata"), type(model), "m"), damaged
        )
        if refusal is not None:
            assert refusal.startswith("m")
        elif "digest" in json.loads(damaged):
            params = [{p.name: v for p, v in s._paramMap.items()} for s in (again, model)]
            assert params[0] == params[1]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"../x": "pyspark.ml.feature.Binarizer"}, "'../x' is not the name of a part"),
        ({"/etc": "pyspark.ml.feature.Binarizer"}, "'/etc' is not the name of a part"),
        ({"x": "os.system"}, "a class of pyspark.ml or figs_spark is needed"),
        ({"x": "pyspark.mlx.Binarizer"}, "a class of pyspark.ml or figs_spark is needed"),
        ({"x": "pyspark.sql.SparkSession"}, "a class of pyspark.ml or figs_spark is needed"),
        ({"x": "pyspark.ml.feature.Any"}, "a stage that can be loaded is needed"),
        ({"x": "pyspark.ml.feature.Nothing"}, "cannot be imported"),
        ({"x": 3}, "a text is needed"),
        (["x"], "an object with named entries is needed"),
    ],
)
def test_parts_are_stages_in_the_folder(parts: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^m/metadata.*{message}"):
        part_classes(parts, "m/metadata")
