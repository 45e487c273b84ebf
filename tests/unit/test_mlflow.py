"""Models in MLflow: logged to a local folder, served without Spark, loaded as stages again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest

import figs_spark
from figs_spark.mlflow import Served, load_model, log_model, save_model, signature, to_entry
from tests.support.fitted import KINDS, NAMES, OUTCOMES, fitted, rows
from tests.support.treesums import FEATURES

mlflow = pytest.importorskip("mlflow")
pytestmark = pytest.mark.filterwarnings("ignore:.*input example was not provided")


def by_stage(model: Any, table: pd.DataFrame) -> pd.DataFrame:
    """What the stage itself predicts without Spark."""
    if not hasattr(model, "groups"):
        return outputs(model, table)
    parts = [outputs(model.models[g], part) for g, part in table.groupby("group")]
    return pd.concat(parts).loc[table.index]


def outputs(model: Any, table: pd.DataFrame) -> pd.DataFrame:
    found = pd.DataFrame({"prediction": model.predict(table)["prediction"]}, index=table.index)
    if model._classes == 2:
        found["probability"] = model.predictProbability(table)[:, 1]
    elif model._classes:
        shares = model.predictProbability(table)
        for k in range(model._classes):
            found[f"probability_{k}"] = shares[:, k]
    return found


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A local folder takes what is tracked."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("DO_NOT_TRACK", "true")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    yield
    mlflow.set_tracking_uri(before)


@pytest.mark.parametrize("classes", OUTCOMES)
@pytest.mark.parametrize("kind", KINDS)
def test_served_as_the_stage_predicts(kind: str, classes: int, tmp_path: Path) -> None:
    model, table = fitted(kind, classes), rows(Random(1))
    save_model(model, str(tmp_path / "saved"))
    served = mlflow.pyfunc.load_model(str(tmp_path / "saved")).predict(table)
    pd.testing.assert_frame_equal(served, by_stage(model, table))
    assert served.nunique().max() > 1


@pytest.mark.parametrize("kind", KINDS)
def test_logged_and_loaded_it_is_the_same_stage(kind: str) -> None:
    model = fitted(kind, 2, threshold=0.3)
    with mlflow.start_run():
        info = log_model(model, name="risk")
    again = load_model(info.model_uri)
    assert type(again) is type(model)
    assert (str(again), again.uid) == (str(model), model.uid)
    assert again.getOrDefault("threshold") == 0.3
    assert again._contents() == model._contents()
    assert info.signature == signature(model)


@pytest.mark.parametrize("params", [{"threshold": 0.1}, {"thresholds": [0.9, 0.1]}])
def test_thresholds_are_served(params: dict[str, Any], tmp_path: Path) -> None:
    model, table = fitted("FIGS", 2, seed=3, **params), rows(Random(2))
    save_model(model, str(tmp_path / "saved"))
    served = mlflow.pyfunc.load_model(str(tmp_path / "saved")).predict(table)
    np.testing.assert_array_equal(served["prediction"], model.predict(table)["prediction"])


def test_a_signature_names_and_types_the_features() -> None:
    model = fitted("GFIGS", 2)
    found = signature(model)
    kinds = {column.name: column.type.name for column in found.inputs}
    assert list(kinds) == [*NAMES, "group"]
    assert kinds["age"] == kinds["code"] == "double"
    assert (kinds["hurt?"], kinds["site's \\name"], kinds["group"]) == (
        "boolean",
        "string",
        "string",
    )
    assert found.outputs.input_names() == ["prediction", "probability"]
    needed = {FEATURES[j].name for j in model._used} | {"group"}
    assert {column.name for column in found.inputs if column.required} == needed


def test_a_column_that_is_needed_is_not_taken_for_missing(tmp_path: Path) -> None:
    model = fitted("FIGS", 0)
    save_model(model, str(tmp_path / "saved"))
    served = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    lost = NAMES[min(model._used)]
    with pytest.raises(mlflow.exceptions.MlflowException, match="missing inputs"):
        served.predict(rows(Random(1)).drop(columns=lost))
    with pytest.raises(ValueError, match="are needed by the model"):  # without MLflow's check
        Served.of(to_entry(model)).predict(rows(Random(1)).drop(columns=lost))


def test_an_unknown_group_is_an_error(tmp_path: Path) -> None:
    save_model(fitted("GFIGS", 2), str(tmp_path / "saved"))
    served = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    with pytest.raises(ValueError, match=r"'group' \(groupCol\) is 'c' in 60 of 60 rows"):
        served.predict(rows(Random(1)).assign(group="c"))


def test_a_server_needs_no_pyspark(tmp_path: Path) -> None:
    """In a Python that refuses to import pyspark and knows figs_spark from the logged code only."""
    model, table = fitted("BaggedFIGS", 2), rows(Random(1))
    save_model(model, str(tmp_path / "saved"))
    table.to_pickle(tmp_path / "rows.pickle")
    script = """
import sys
from importlib.abc import MetaPathFinder

class Refuses(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"pyspark", "numba", "py4j"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Refuses())
import mlflow, pandas
served = mlflow.pyfunc.load_model("saved").predict(pandas.read_pickle("rows.pickle"))
import figs_spark
assert "saved" in figs_spark.__file__, figs_spark.__file__
served.to_pickle("served.pickle")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    served = pd.read_pickle(tmp_path / "served.pickle")
    pd.testing.assert_frame_equal(served, by_stage(model, table))


def test_what_cannot_be_logged_is_said() -> None:
    with pytest.raises(ValueError, match=r"got FIGSClassifier.*stages\[-1\]"):
        signature(figs_spark.FIGSClassifier())
    with pytest.raises(ValueError, match="unseenGroup is 'mixture'"):
        signature(fitted("GFIGS", 2, unseenGroup="mixture"))


def test_of_another_flavor(tmp_path: Path) -> None:
    mlflow.pyfunc.save_model(
        str(tmp_path / "other"),
        loader_module="json",
        data_path=__file__,
        pip_requirements=[],
    )
    with pytest.raises(ValueError, match="not 'figs_spark'"):
        load_model(str(tmp_path / "other"))


@pytest.mark.parametrize("call", [log_model, load_model, signature])
def test_without_mlflow(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mlflow", "mlflow.artifacts", "mlflow.models", "mlflow.pyfunc"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'figs_spark\[mlflow\]'"):
        call(fitted("FIGS", 2))
