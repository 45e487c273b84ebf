"""An export is run before it is written; a wrong one is refused, and nothing is left behind."""

from __future__ import annotations

import builtins
import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from figs_spark.exports import engines, targets
from figs_spark.exports.dialects import DIALECTS
from figs_spark.exports.files import write_files
from figs_spark.exports.proof import ExportDiffers
from figs_spark.exports.targets import Sql, export
from tests.support.instruments import FINGERPRINT, KINDS, random_instrument, stump

MODEL = random_instrument(Random(1), kind="sum", classes=2)
LOCAL: list[tuple[str, Any]] = [("model.py", {}), ("model.onnx", {})]
LOCAL += [("model.sql", {"sql": Sql.asked(MODEL, dialect)}) for dialect in ("duckdb", "sqlite")]


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


@pytest.mark.parametrize(("name", "asked"), LOCAL)
def test_files_carry_their_proof(name: str, asked: dict[str, Any], tmp_path: Path) -> None:
    written = export(MODEL, tmp_path / name, **asked)
    assert re.match(r"verified in \w+ \S+ on \d+ test vectors", written.proof)
    text = text_of(tmp_path / name)
    for word in (FINGERPRINT, MODEL.version):
        assert word in text
    assert written.proof[1:] in text  # a comment of SQL begins with a capital
    proof = json.loads((tmp_path / f"{name}.proof.json").read_text())
    assert proof["fingerprint"] == FINGERPRINT
    assert proof["proof"] == written.proof
    assert len(proof["vectors"]) >= 5
    assert {"row", "score", "probability", "prediction"} <= set(proof["vectors"][0])
    assert sorted(os.listdir(tmp_path)) == [name, f"{name}.proof.json"]


@pytest.mark.parametrize(("name", "asked"), LOCAL)
def test_the_same_model_gives_the_same_file(
    name: str, asked: dict[str, Any], tmp_path: Path
) -> None:
    first, again = tmp_path / "1" / name, tmp_path / "2" / name
    export(MODEL, first, **asked)
    export(MODEL, again, **asked)
    assert first.read_bytes() == again.read_bytes()


@pytest.mark.parametrize("name", ["model.py", "model.onnx", "model.sql"])
def test_a_wrong_export_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writers get another model than the one that is asked for."""
    root = MODEL.sums[0].trees[0]
    leaf = next(root.leaves())
    moved = replace(leaf, value=(leaf.value[0] + 1e-6,))

    def changed(node: Any) -> Any:
        if node is leaf:
            return moved
        if not node.branches:
            return node
        return replace(node, left=changed(node.left), right=changed(node.right))

    one = replace(MODEL.sums[0], trees=(changed(root), *MODEL.sums[0].trees[1:]))
    other = replace(MODEL, family=replace(MODEL.family, sums=(one,)))
    for writer in ("to_python", "to_onnx", "with_header"):
        real = getattr(targets, writer)
        monkeypatch.setattr(targets, writer, lambda _, *rest, real=real: real(other, *rest))
    with pytest.raises(ExportDiffers, match=r"differs from the model in .* nothing was written"):
        export(MODEL, tmp_path / name, sql=Sql.asked(MODEL, "sqlite", "score"))
    assert os.listdir(tmp_path) == []


def test_not_verified_is_said_in_file_and_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    written = export(MODEL, tmp_path / "m.sql", sql=Sql.asked(MODEL, "postgres"))
    assert written.proof == (
        "not verified: duckdb is not installed, which runs the dialect 'postgres' here"
    )
    assert "-- Not verified: duckdb is not installed" in text_of(tmp_path / "m.sql")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    written = export(MODEL, tmp_path / "m.onnx")
    assert written.proof.startswith("not verified: onnxruntime is not installed")
    assert "not verified: onnxruntime" in text_of(tmp_path / "m.onnx")


def test_verification_can_be_switched_off(tmp_path: Path) -> None:
    for name in ("m.py", "m.sql", "m.onnx", "m.pmml"):
        written = export(MODEL, tmp_path / name, verify=False)
        assert written.proof == "not verified: this was switched off"
        assert "verified: this was switched off" in text_of(tmp_path / name)


def test_without_onnx_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "onnx":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'figs_spark\[onnx\]'"):
        targets.to_onnx(MODEL)


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match=r"model.py exists. Choose another path"):
        export(MODEL, path)
    assert path.read_text() == "mine"
    proof = tmp_path / "other.py.proof.json"
    proof.write_text("mine")
    with pytest.raises(FileExistsError, match=r"other.py.proof.json exists"):
        export(MODEL, tmp_path / "other.py")
    export(MODEL, path, overwrite=True)
    assert path.read_text().startswith('"""')


def test_a_file_that_comes_in_the_meantime_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, real = tmp_path / "m.py", os.fsync

    def other(handle: int) -> None:
        path.write_text("mine")
        real(handle)

    monkeypatch.setattr(os, "fsync", other)
    with pytest.raises(FileExistsError):
        write_files({path: b"ours"}, overwrite=False)
    assert path.read_text() == "mine"
    assert os.listdir(tmp_path) == ["m.py"]


def test_a_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("old")

    def full(*_: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        write_files({tmp_path / "a.txt": b"new", tmp_path / "b.txt": b"new"}, overwrite=True)
    assert os.listdir(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"dialect": "db2"}, "dialect 'db2' is not known. There are spark, databricks"),
        ({"output": "risk"}, r"\['risk'\] is not known. There are score, probability"),
        ({"output": ["score", "prediction"]}, "2 outputs need a table"),
        ({"keep": ["id"]}, "Columns to keep are named, and no table"),
        ({"table": "t", "function": "f"}, "both named"),
        ({"dialect": "sqlite", "function": "f"}, "Functions are written for .* not for 'sqlite'"),
        ({"dialect": "tsql", "output": "rules"}, "has no arrays. Name a table"),
        ({"table": "t", "keep": ["Score"], "output": "score"}, "'Score'.* Rename them"),
        ({"dialect": "postgres", "output": "contributions", "function": "f"}, "one value, and"),
    ],
)
def test_what_cannot_be_asked_for(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sql.asked(MODEL, **asked).text(MODEL)


def test_outputs_that_a_model_does_not_have() -> None:
    number = random_instrument(Random(2), kind="sum", classes=0)
    mean = random_instrument(Random(2), kind="mean", classes=2)
    for model, output in ((number, "probability"), (number, "risk_group"), (mean, "rules")):
        with pytest.raises(ValueError, match=f"it has no output '{output}'"):
            Sql.asked(model, output=output).text(model)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres"])
@pytest.mark.parametrize("keep", [None, ("id",)])
def test_a_select_of_all_outputs(
    kind: Any, classes: int, dialect: str, keep: Any, tmp_path: Path
) -> None:
    model = random_instrument(Random(classes), 4, kind=kind, classes=classes)
    outputs = ["score", "prediction"]
    outputs += ["probability"] if classes else []
    outputs += ["risk_group"] if classes == 2 else []
    outputs += ["contributions", "rules"] if kind != "mean" else []
    if keep is None and (kind, classes) == ("mean", 3):
        outputs = ["score"]
    sql = Sql.asked(model, dialect, outputs, ["clinic", "the visits"], keep)
    written = export(model, tmp_path / "m.sql", sql=sql)
    assert written.proof.startswith("verified in")


def test_sql_that_would_be_too_long_is_refused_at_once() -> None:
    model = random_instrument(Random(9), 40, kind="mean", classes=3)
    with pytest.raises(ValueError, match="Name a table and the columns to keep"):
        Sql.asked(model, "duckdb", "prediction").text(model)
    assert engines.sql_engine("duckdb")[0].name.startswith("DuckDB")


def test_text_that_oracle_and_tsql_take_for_equal() -> None:
    with pytest.raises(ValueError, match="empty text among its categories, which oracle takes"):
        Sql.asked(stump("site", ""), "oracle").text(stump("site", ""))
    model = stump("site", "other ")
    with pytest.raises(ValueError, match="differ by spaces at the end only, which tsql takes"):
        Sql.asked(model, "tsql").text(model)


def test_without_java_a_pmml_file_says_that_nothing_ran_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jpmml_evaluator")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    engines._java.cache_clear()
    written = export(MODEL, tmp_path / "model.pmml")
    assert written.proof == "not verified: no Java is here; set JAVA_HOME"
    assert written.proof in (tmp_path / "model.pmml").read_text()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_written_with_its_proof(dialect: str, tmp_path: Path) -> None:
    model = stump("site", "Bern")
    written = export(model, tmp_path / "model.sql", sql=Sql.asked(model, dialect, table="visits"))
    known = "not verified: nothing here runs" if dialect == "oracle" else "verified in "
    assert written.proof.startswith(known)
    assert f"-- {written.proof[0].upper()}{written.proof[1:]}" in text_of(tmp_path / "model.sql")
