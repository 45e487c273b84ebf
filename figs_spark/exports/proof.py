"""The proof of an export: it is run on test vectors before it is written, or says that it was not.

An export is refused if any vector differs by more than the tolerance from what the model says.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from figs_spark.exports.engines import Engine, NoEngine, Rows
from figs_spark.exports.instrument import Instrument, Patient, Result
from figs_spark.exports.vectors import Vectors, make_vectors

TOLERANCE = 1e-12  # times the scale of the scores; 1 for probabilities
DIFFERENCES_SHOWN = 3
BASIC = ("score", "probability", "prediction")

Runner = Callable[[Sequence[Patient]], Rows]


class ExportDiffers(ValueError):
    """What was exported gives other results than the model; nothing was written."""


@dataclass(frozen=True)
class Proof:
    """Which engine ran the export on how many vectors; or why none did."""

    sentence: str
    engine: str | None
    vectors: Vectors

    def to_json(self, model: Instrument, target: dict[str, Any]) -> str:
        """The file beside an export: what anybody needs to check it again."""
        content = {
            "format": "figs_spark.proof",
            "version": 1,
            "fingerprint": model.fingerprint,
            "figs_spark": model.version,
            "model": model.title,
            **target,
            "proof": self.sentence,
            "tolerance": TOLERANCE * model.scale,
            "vectors": self.vectors.to_list(),
        }
        return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=True) + "\n"


def not_verified(model: Instrument, reason: str) -> Proof:
    return Proof(f"not verified: {reason}", None, make_vectors(model))


def prove(
    model: Instrument,
    find_engine: Callable[[], tuple[Engine, Callable[[Any, Sequence[Patient]], Rows]]],
    write: Callable[[str], Any],
    outputs: Sequence[str] = BASIC,
) -> tuple[Any, Proof]:
    """The export as `write` writes it with the sentence of its proof in it, once it has been run.

    `find_engine` raises NoEngine if there is none: then the export says so.
    """
    try:
        engine, run = find_engine()
    except NoEngine as error:
        proof = not_verified(model, str(error))
        return write(proof.sentence), proof
    every = make_vectors(model)
    vectors = every.without(infinities=not engine.infinities, nans=not engine.nans)
    sentence = f"verified in {engine.name} on {len(vectors.patients)} test vectors"
    artefact = write(sentence)
    compare(model, vectors, run(artefact, vectors.patients), outputs)
    return artefact, Proof(sentence, engine.name, every)


def compare(
    model: Instrument, vectors: Vectors, rows: Rows, outputs: Sequence[str] = BASIC
) -> None:
    """Raise ExportDiffers if the rows are not those that the model gives."""
    if len(rows) != len(vectors.patients):
        raise ExportDiffers(f"{len(vectors.patients)} rows were scored, {len(rows)} came back.")
    problems = []
    for patient, result, row in zip(vectors.patients, vectors.expected, rows, strict=True):
        expected = flat(model, result, outputs)
        got = [None] * len(expected) if row is None else flattened(row)
        if not agrees(model, result, expected, got):
            problems.append(f"  for {patient}\n    expected {expected}\n    got      {got}")
    if problems:
        shown = "\n".join(problems[:DIFFERENCES_SHOWN])
        raise ExportDiffers(
            f"The export of {model.title} differs from the model in {len(problems)} of {len(rows)} "
            f"test vectors, and nothing was written:\n{shown}"
        )


def flat(model: Instrument, result: Result, outputs: Sequence[str]) -> list[Any]:
    """The values of the outputs in the order of their columns; None in a row without result."""
    trees = max(len(one.trees) for one in model.sums)
    width = {
        "score": model.outputs,
        "probability": 0 if not model.classes else 1 if model.classes == 2 else model.classes,
        "contributions": trees * model.outputs,
        "rules": trees,
    }
    cells: list[Any] = []
    for output in outputs:
        value = getattr(result, output)
        values = flattened(value) if isinstance(value, tuple) else [value]
        cells += values + [None] * (width.get(output, 1) - len(values))
    return cells


def flattened(values: Any) -> list[Any]:
    cells: list[Any] = []
    for value in values:
        cells += flattened(value) if isinstance(value, (list, tuple)) else [value]
    return cells


def agrees(model: Instrument, result: Result, expected: list[Any], got: list[Any]) -> bool:
    """Equal up to the tolerance; a class may differ if the probabilities are that near."""
    if len(expected) != len(got):
        return False
    limit = TOLERANCE * model.scale
    free = _classes(model) if is_near(model, result) else set()
    return all(a in free or _equal(a, b, limit) for a, b in zip(expected, got))


def _classes(model: Instrument) -> set[Any]:
    return {*map(float, range(model.classes)), "high", "low"} if model.classes else set()


def is_near(model: Instrument, result: Result) -> bool:
    """Whether a rounding of the last digits could decide for another class."""
    if not model.classes or not result.probability:
        return False
    limit = TOLERANCE * model.scale
    if model.classes == 2 and model.thresholds is None:
        return 0 < abs(result.probability[0] - model.threshold) <= limit
    shares = result.probability
    if model.classes == 2:
        shares = (1 - shares[0], shares[0])
    limits = model.thresholds or (1.0,) * len(shares)
    ranked = sorted((p / t if t > 0 else math.inf) for p, t in zip(shares, limits))
    return 0 < ranked[-1] - ranked[-2] <= limit


def _equal(a: Any, b: Any, limit: float) -> bool:
    if isinstance(a, float) and isinstance(b, (int, float)):
        return a == b or abs(a - b) <= limit
    return bool(a == b)
