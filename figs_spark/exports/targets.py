"""One door for all targets: what is asked for, the text or bytes, the proof, the files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from figs_spark.exports import engines
from figs_spark.exports.engines import Engine, NoEngine, Rows, SqlRunner, TableSpec
from figs_spark.exports.fhir import risk_assessment
from figs_spark.exports.files import check_absent, write_files
from figs_spark.exports.instrument import Instrument, Patient
from figs_spark.exports.onnx_model import to_onnx
from figs_spark.exports.pmml import to_pmml
from figs_spark.exports.proof import Proof, compare, flat, not_verified, prove
from figs_spark.exports.python_source import to_python
from figs_spark.exports.sql import OUTPUTS
from figs_spark.exports.statements import expression, function, select

FORMATS = {"sql": ".sql", "pmml": ".pmml", "onnx": ".onnx", "python": ".py", "fhir": ".json"}
PROOF_SUFFIX = ".proof.json"


@dataclass(frozen=True)
class Sql:
    """What SQL is asked for: an expression, a SELECT over `table`, or a `function`."""

    dialect: str = "spark"
    outputs: tuple[str, ...] = ()
    table: tuple[str, ...] = ()
    keep: tuple[str, ...] | None = None
    function: tuple[str, ...] = ()

    @classmethod
    def asked(
        cls,
        model: Instrument,
        dialect: str = "spark",
        output: str | Sequence[str] | None = None,
        table: str | Sequence[str] | None = None,
        keep: Sequence[str] | None = None,
        function: str | Sequence[str] | None = None,
    ) -> Sql:
        """Checked against one another; without an output the probability, or the number."""
        outputs = _parts(output) or default_outputs(model, bool(table))
        if table and function:
            raise ValueError("A table and a function are both named. Name one of them.")
        if keep is not None and not table:
            raise ValueError("Columns to keep are named, and no table. Name the table.")
        if len(outputs) > 1 and not table:
            raise ValueError(f"{len(outputs)} outputs need a table. Name one output, or a table.")
        kept = None if keep is None else tuple(keep)
        return cls(dialect, outputs, _parts(table), kept, _parts(function))

    def text(self, model: Instrument) -> str:
        if self.function:
            return function(model, self.dialect, self.function, self.outputs[0])
        if self.table:
            return select(model, self.dialect, self.table, self.outputs, self.keep)
        return expression(model, self.dialect, self.outputs[0])


def default_outputs(model: Instrument, table: bool) -> tuple[str, ...]:
    if table:
        return ("score", "probability", "prediction") if model.classes else ("prediction",)
    return ("probability",) if model.classes else ("prediction",)


def _parts(value: str | Sequence[str] | None) -> tuple[str, ...]:
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)


@dataclass(frozen=True)
class Exported:
    """The files that an export wrote, and its proof in a sentence."""

    __module__ = "figs_spark"

    path: Path
    proof_path: Path | None
    proof: str
    fingerprint: str

    def __str__(self) -> str:
        return f"{self.path}: {self.proof}; fingerprint {self.fingerprint}"


def format_of(path: str | Path, name: str | None) -> str:
    """The format by its name, or by the end of the file's name."""
    if name is not None:
        if name not in FORMATS:
            raise ValueError(f"The format {name!r} is not known. There are {', '.join(FORMATS)}.")
        return name
    suffix = Path(path).suffix.lower()
    known = {**{s: f for f, s in FORMATS.items()}, ".xml": "pmml"}
    if suffix not in known:
        raise ValueError(f"'{path}' does not end in {', '.join(known)}. Name the format.")
    return known[suffix]


def export(
    model: Instrument,
    path: str | Path,
    format: str | None = None,
    sql: Sql | None = None,
    verify: bool = True,
    overwrite: bool = False,
    spark_sql: tuple[Engine, SqlRunner] | None = None,
    patient: Patient | None = None,
    subject: str | None = None,
) -> Exported:
    """Write a model to a file, with its proof beside it.

    `spark_sql` runs the dialects of Spark. `patient` and `subject` are for FHIR, which is about one
    patient and has no proof file.
    """
    kind, target = format_of(path, format), Path(path)
    if kind == "fhir":
        return _write_fhir(model, target, overwrite, patient, subject)
    beside = target.with_name(target.name + PROOF_SUFFIX)
    check_absent([target, beside], overwrite)
    details: dict[str, Any] = {"target": kind}
    artefact: Any
    if kind == "sql":
        asked = sql or Sql.asked(model)
        artefact, proof = _proved_sql(model, asked, verify, spark_sql)
        details |= {"dialect": asked.dialect, "outputs": list(asked.outputs)}
    else:
        artefact, proof = _proved(model, kind, verify)
    content = artefact if isinstance(artefact, bytes) else artefact.encode()
    write_files({beside: proof.to_json(model, details).encode(), target: content}, overwrite)
    return Exported(target, beside, proof.sentence, model.fingerprint)


def _proved(model: Instrument, kind: str, verify: bool) -> tuple[Any, Proof]:
    write: Callable[..., Any] = {"pmml": to_pmml, "onnx": to_onnx, "python": to_python}[kind]
    if not verify:
        proof = not_verified(model, "this was switched off")
        return write(model, proof.sentence), proof
    runs: dict[str, Callable[..., Rows]] = {
        "pmml": engines.run_pmml,
        "onnx": engines.run_onnx,
        "python": engines.run_python,
    }
    run = runs[kind]
    return prove(
        model,
        lambda: (engines.engine_of(kind), lambda artefact, rows: run(artefact, model, rows)),
        lambda sentence: write(model, sentence),
    )


def _proved_sql(
    model: Instrument, sql: Sql, verify: bool, spark_sql: tuple[Engine, SqlRunner] | None
) -> tuple[str, Proof]:
    def write(sentence: str) -> str:
        return with_header(model, sql, sentence)

    if not verify:
        proof = not_verified(model, "this was switched off")
        return write(proof.sentence), proof
    return prove(model, lambda: _sql_runner(model, sql, spark_sql), write, sql.outputs)


def _sql_runner(
    model: Instrument, sql: Sql, spark_sql: tuple[Engine, SqlRunner] | None
) -> tuple[Engine, Callable[[Any, Sequence[Patient]], Rows]]:
    """An engine, and how it runs what was written.

    A function is run as the expression in its body. Spark reads a view with a name of its own.
    """
    in_spark = sql.dialect in ("spark", "databricks") and spark_sql is not None
    engine, run = spark_sql if in_spark and spark_sql else engines.sql_engine(sql.dialect)
    table = TableSpec(model, (engine.table,), sql.keep or ())

    def rows(artefact: str, patients: Sequence[Patient]) -> Rows:
        if not sql.table or sql.function:
            body = replace(sql, function=()).text(model) if sql.function else artefact
            return run(f"SELECT\n{body}\nFROM {engine.table}", table, patients)
        if in_spark:
            text = replace(sql, table=table.name).text(model)
            return _outputs(model, sql, run(text, table, patients))
        return _outputs(model, sql, run(artefact, replace(table, name=sql.table), patients))

    return engine, rows


def _outputs(model: Instrument, sql: Sql, rows: Rows) -> Rows:
    """Without the columns of the table, which stand first."""
    width = len(flat(model, model.evaluate([{}])[0], sql.outputs)) if rows else 0
    return [row[len(row) - width :] for row in rows]


def with_header(model: Instrument, sql: Sql, proof: str) -> str:
    """The SQL below comments that say what it is."""
    about = [
        model.subject,
        f"{model.title}, written by figs_spark {model.version} for {sql.dialect}",
    ]
    about += [f"Fingerprint of the model: {model.fingerprint}", proof[0].upper() + proof[1:]]
    if sql.function and not proof.startswith("not"):
        about.append("(it was the expression in the body that was run)")
    about.append(f"It reads: {', '.join([*model.inputs, *_group_name(model)]) or 'nothing'}")
    about.append("A missing value is null, or NaN in a database that has it.")
    if model.kind == "groups":
        about.append("A row of a group that the model does not know gets null.")
    if model.operating_point:
        about.append(model.operating_point)
    about += model.notes
    end = ";" if sql.table or sql.function else ""
    return "\n".join([*(f"-- {_comment(line)}" for line in about), sql.text(model)]) + f"{end}\n"


def _group_name(model: Instrument) -> list[str]:
    return [] if model.group_column is None else [model.group_column]


def _comment(text: str) -> str:
    """On one line, and without what a client or a template would act on."""
    flat_text = "".join(c if c.isprintable() else " " for c in text)
    return "".join("?" if c in "${}&%;\\/*" and not c.isalnum() else c for c in flat_text)[:2000]


def _write_fhir(
    model: Instrument, path: Path, overwrite: bool, patient: Patient | None, subject: str | None
) -> Exported:
    if patient is None or subject is None:
        raise ValueError("FHIR is about one patient: give the row as `patient`, and `subject`.")
    resource: Mapping[str, Any] = risk_assessment(model, patient, subject)
    text = json.dumps(resource, indent=2, allow_nan=False) + "\n"
    write_files({path: text.encode()}, overwrite)
    return Exported(path, None, "one patient's result", model.fingerprint)


__all__ = ["FORMATS", "OUTPUTS", "Exported", "NoEngine", "Sql", "compare", "export"]
