"""All figures of an evaluation from rows by score, and only those that are safe to show.

Curves are drawn through those points only between which no row stands alone: from one to the next,
no or at least `least` positives change sides, and so with negatives.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from figs_spark.clinical.calibrated import calibration_line, smooth_curve
from figs_spark.clinical.curves import Curve, Floats, RowsByScore
from figs_spark.clinical.decisions import decision_curve_of, per_thousand, usual_thresholds
from figs_spark.clinical.figures import at_threshold, gap, of_score
from figs_spark.clinical.measures import bin_line
from figs_spark.clinical.small_cells import safe_line, safe_tables
from figs_spark.exports.page.evaluated import Decision, Evaluated, Line, Points
from figs_spark.treesum.small_cells import STRICT

if TYPE_CHECKING:
    import pandas as pd

Parts = Sequence[tuple[Any, RowsByScore]]  # "all", then the groups of one column
GAPS = ("auc", "sensitivity", "specificity", "oe")
BINS = 10
SMOOTH_POINTS = 60


def evaluated(
    whole: RowsByScore,
    by_column: Mapping[str, Parts],
    threshold: float,
    levels: Sequence[float] = (),
    least: int = STRICT,
    over_time_and_place: Sequence[str] = (),
    most_bins: int = BINS,
) -> Evaluated:
    """The evaluation of all rows, and of the groups of each column.

    A score of at most `most_bins` values has a line of calibration for each of them.
    """
    lines = [_line("all", "all", whole, threshold)]
    for column, parts in by_column.items():
        lines += [_line(column, group, rows, threshold) for group, rows in parts[1:]]
    numbers = whole.bins(most_bins)
    bins = [
        {"by": "all", "group": "all", **bin_line(whole, numbers == k)}
        for k in range(numbers.max() + 1)
    ]
    safe = safe_tables({"summary": _frame(lines), "calibration": _frame(bins)}, least)
    summary = tuple(_plain(line) for line in safe["summary"].to_dict("records"))
    return Evaluated(
        threshold=threshold,
        summary=summary,
        operating_points=_operating_points(whole, threshold, levels, least),
        calibration=tuple(_plain(line) for line in safe["calibration"].to_dict("records")),
        smooth=_smooth(whole),
        roc=_roc(whole, least),
        decision=_decision(whole, threshold, least),
        gaps=tuple(_gaps(summary)),
        over_time_and_place=tuple(over_time_and_place),
        small_cell=least,
    )


def _line(column: str, group: Any, rows: RowsByScore, threshold: float) -> dict[str, Any]:
    figures = of_score(rows) | at_threshold(rows, threshold) | calibration_line(rows)
    name = "not known" if group is None else str(group)
    return {"by": column, "group": name, **figures}


def _frame(lines: list[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(lines).astype(object)


def _plain(line: Mapping[str, Any]) -> Line:
    """NaN and infinity as None."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in line.items()
    }


def _operating_points(
    rows: RowsByScore, threshold: float, levels: Sequence[float], least: int
) -> tuple[Line, ...]:
    """At the threshold in use, and at those that reach the sensitivities asked for."""
    curve = Curve(rows)
    lines: list[dict[str, Any]] = [{"level": math.nan, **at_threshold(rows, threshold)}]
    for level in levels:
        line: dict[str, Any] = curve.point(level).as_param().row()
        line["level"] = f"{level:g}"
        if lines[-1]["threshold"] == line["threshold"] and len(lines) > 1:
            line["level"] = f"{lines.pop()['level']}, {level:g}"
        lines.append(line)
    safe = []
    for line in lines:
        shares = {f"{name}PerThousand": value for name, value in per_thousand(line).items()}
        hidden = safe_line(line, least)
        if any(isinstance(hidden[name], str) for name in ("tp", "fp", "tn", "fn")):
            shares = dict.fromkeys(shares, "hidden")  # type: ignore[arg-type]
        safe.append(_plain({**hidden, **shares}))
    return tuple(safe)


def _smooth(rows: RowsByScore) -> Points:
    scores, fitted = smooth_curve(rows)
    if len(scores) > SMOOTH_POINTS:
        grid = np.linspace(scores[0], scores[-1], SMOOTH_POINTS)
        scores, fitted = grid, np.interp(grid, scores, fitted)
    return _points(scores, np.clip(fitted, 0, 1))


def _roc(rows: RowsByScore, least: int) -> Points:
    curve = Curve(rows)
    kept = safe_points(curve.tp, curve.fp, float(curve.tp[-1]), float(curve.fp[-1]), least)
    if not kept:
        return ()
    return _points(1 - curve.specificity[kept], curve.sensitivity[kept])


def _decision(rows: RowsByScore, threshold: float, least: int) -> Decision | None:
    curve = decision_curve_of(rows, usual_thresholds(rows, threshold))
    totals = float(rows.positives.sum()), float(rows.negatives.sum())
    # The largest threshold treats fewest.
    falling = safe_points(curve.tp[::-1], curve.fp[::-1], *totals, least)
    kept = [len(curve.tp) - 1 - k for k in reversed(falling)]
    if not kept:
        return None
    treated = _points(curve.thresholds[kept], curve.model[kept])
    return Decision(treated, _points(curve.thresholds, curve.all))


def safe_points(
    tp: Floats, fp: Floats, positives: float, negatives: float, least: int
) -> list[int]:
    """Which points of a rising curve may be shown, see above."""

    def apart(a: tuple[float, float], b: tuple[float, float]) -> bool:
        return all(abs(x - y) < 1e-9 or abs(x - y) >= least for x, y in zip(a, b))

    end = (positives, negatives)
    kept: list[int] = []
    last = (0.0, 0.0)
    for k, point in enumerate(zip(tp.tolist(), fp.tolist())):
        if apart(point, last) and apart(point, end):
            kept.append(k)
            last = point
    return kept


def _points(xs: Floats, ys: Floats) -> Points:
    return tuple((round(float(x), 6), round(float(y), 6)) for x, y in zip(xs, ys))


def _gaps(summary: Sequence[Line]) -> list[Line]:
    """Each group against the largest one of its column."""
    gaps: list[Line] = []
    for column in dict.fromkeys(line["by"] for line in summary[1:]):
        shown = [
            line
            for line in summary
            if line["by"] == column and isinstance(line.get("rows"), (int, float))
        ]
        if len(shown) < 2:
            continue
        largest = max(shown, key=lambda line: float(line["rows"] or 0))
        for line in shown:
            if line is largest:
                continue
            for name in GAPS:
                if (difference := gap(line, largest, name)) is not None:
                    about = {"by": column, "group": line["group"], "than": largest["group"]}
                    gaps.append({**about, "figure": name, **difference})
    return gaps
