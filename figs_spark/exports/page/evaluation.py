"""The evaluation as sections of the page: pictures with tables that say the same."""

from __future__ import annotations

from collections.abc import Sequence

from figs_spark.exports.page.document import figures, picture
from figs_spark.exports.page.evaluated import Evaluated, Figure, Line, Points
from figs_spark.exports.page.markup import NOTHING, Html, element, joined, table
from figs_spark.pictures.charts import (
    Axis,
    Interval,
    Mark,
    Series,
    draw_chart,
    draw_forest,
)
from figs_spark.treesum.reading import MINUS
from figs_spark.treesum.small_cells import HIDDEN
from figs_spark.treesum.text import number

FIGURES = {
    "auc": "AUC",
    "sensitivity": "Sensitivity",
    "specificity": "Specificity",
    "oe": "Observed / expected",
}


# Figures as text


def shown(value: Figure, decimals: int = 3, percent: bool = False) -> str:
    """A number, the text in its place, or a dash."""
    if value is None:
        return "\u2013"
    if isinstance(value, str):
        return value
    text = f"{100 * value:.1f}%" if percent else f"{value:.{decimals}f}"
    return text.replace("-", MINUS)


def with_interval(line: Line, name: str, decimals: int = 3, percent: bool = False) -> str:
    """`0.871 (0.850 to 0.892)`."""
    value, low, high = (line.get(key) for key in (name, f"{name}Low", f"{name}High"))
    text = shown(value, decimals, percent)
    if not isinstance(value, (int, float)) or low is None or high is None:
        return text
    return f"{text} ({shown(low, decimals, percent)} to {shown(high, decimals, percent)})"


def count(value: Figure) -> str:
    return f"{value:,.0f}" if isinstance(value, (int, float)) else shown(value)


def _known(line: Line, *names: str) -> bool:
    return all(isinstance(line.get(name), (int, float)) for name in names)


def _number(line: Line, name: str) -> float:
    value = line[name]
    assert isinstance(value, (int, float))
    return float(value)


# All rows


def discrimination(results: Evaluated) -> Html:
    """The ROC curve, and what the thresholds do."""
    whole = results.overall
    words = f"AUC {with_interval(whole, 'auc')}. Brier score {shown(whole['brier'])}."
    parts = [element("p", words)]
    if results.roc:
        marks = [
            Mark(1 - _number(line, "specificity"), _number(line, "sensitivity"),
                 _number(line, "sensitivityLow"), _number(line, "sensitivityHigh"),
                 f"threshold {shown(line['threshold'], percent=True)}")
            for line in results.operating_points
            if _known(line, "specificity", "sensitivity", "sensitivityLow", "sensitivityHigh")
        ]  # fmt: skip
        chart = draw_chart(
            f"ROC curve, AUC {shown(whole['auc'])}",
            Axis(f"1 {MINUS} specificity", 0, 1),
            Axis("Sensitivity", 0, 1),
            [
                Series("model", results.roc),
                Series("operating points, 95% interval", marks=marks),
                Series("by chance", ((0, 0), (1, 1)), dashed=True),
            ],
        )
        parts.append(figures(picture(chart), _decision_picture(results)))
    else:
        parts.append(_decision_picture(results))
    parts.append(operating_table(results))
    return joined(parts)


def operating_table(results: Evaluated) -> Html:
    """What each threshold does: rates with intervals, and counts per 1,000 patients."""
    header = ("Threshold", "Sensitivity", "Specificity", "PPV", "NPV")
    rates = [
        (
            _threshold(line),
            *(with_interval(line, n, percent=True) for n in ("sensitivity", "specificity")),
            *(with_interval(line, n, percent=True) for n in ("ppv", "npv")),
        )
        for line in results.operating_points
    ]
    thousand = ("Threshold", "Flagged", "of them with the outcome", "of them without", "Missed")
    counts = [
        (
            _threshold(line),
            *(count(line.get(f"{name}PerThousand")) for name in ("flagged", "tp", "fp", "fn")),
        )
        for line in results.operating_points
    ]
    return table("Operating points, with 95% intervals", header, rates, "numbers dense") + table(
        "Of 1,000 patients", thousand, counts, "numbers dense"
    )


def _threshold(line: Line) -> str:
    level, limit = line.get("level"), line["threshold"]
    text = number(round(100 * limit, 2)) + "%" if isinstance(limit, (int, float)) else shown(limit)
    if isinstance(limit, (int, float)) and limit < 0:
        text = "everyone"
    return f"{text}, in use" if level is None else f"{text}, for sensitivity {level}"


def _decision_picture(results: Evaluated) -> Html:
    if results.decision is None:
        return NOTHING
    benefit = results.decision
    ys = [y for _, y in (*benefit.model, *benefit.all) if y > -0.25]
    high = max(0.01, *ys) * 1.08
    low = min(0.0, max(min(ys), -0.25 * high))
    xs = [x for x, _ in benefit.all]
    chart = draw_chart(
        "Decision curve: net benefit by threshold",
        Axis("Threshold", 0, max(xs)),
        Axis("Net benefit", low, high, percent=False),
        [
            Series("model", benefit.model),
            Series("treat all", _above(benefit.all, low)),
            Series("treat none", ((0.0, 0.0), (max(xs), 0.0)), dashed=True),
        ],
    )
    words = (
        "A model helps at a threshold if its line is the highest. Net benefit is true positives "
        "per patient, less false positives weighted by the odds of the threshold."
    )
    return picture(chart, words)


def _above(points: Points, low: float) -> Points:
    """The part of a falling line above this height, cut where it crosses it."""
    inside = [point for point in points if point[1] >= low]
    if len(inside) == len(points) or not inside:
        return tuple(inside)
    (x0, y0), (x1, y1) = inside[-1], points[len(inside)]
    return (*inside, (x0 + (x1 - x0) * (y0 - low) / (y0 - y1), low))


def calibration(results: Evaluated) -> Html:
    """Predicted against observed risk."""
    bins = [line for line in results.calibration if _known(line, "predicted", "observed")]
    tops = [_number(line, "predicted") for line in bins] + [
        _number(line, "observedHigh") for line in bins
    ]
    top = min(1.0, 1.05 * max([0.05, *tops]))
    marks = [
        Mark(
            _number(line, "predicted"),
            _number(line, "observed"),
            _number(line, "observedLow"),
            _number(line, "observedHigh"),
        )
        for line in bins
    ]
    chart = draw_chart(
        "Calibration: observed by predicted risk",
        Axis("Predicted risk", 0, top),
        Axis("Observed rate", 0, top),
        [
            Series("smooth curve", tuple(p for p in results.smooth if p[0] <= top)),
            Series("groups of similar risk, 95% interval", marks=marks),
            Series("right", ((0, 0), (top, top)), dashed=True),
        ],
    )
    whole = results.overall
    rows = [
        ("Slope", with_interval(whole, "slope"), "1 is right; below 1 the risks are too extreme"),
        (
            "Intercept",
            with_interval(whole, "intercept"),
            "0 is right; below 0 the risks are too high on average",
        ),
        ("Observed / expected", with_interval(whole, "oe"), "1 is right"),
        ("ICI", shown(whole["ici"], 4), "mean distance of the risks from the smooth curve"),
        ("Brier score", shown(whole["brier"], 4), "0 is perfect"),
    ]
    summary = table("Calibration, with 95% intervals", ("Figure", "Value", "Meaning"), rows)
    return figures(picture(chart), summary) + _bins(results)


def _bins(results: Evaluated) -> Html:
    rows = [
        (
            f"{shown(line['low'], percent=True)} to {shown(line['high'], percent=True)}",
            count(line["rows"]),
            shown(line["predicted"], percent=True),
            HIDDEN if line["observed"] is None else with_interval(line, "observed", percent=True),
        )
        for line in results.calibration
    ]
    inside = table(
        "Groups of similar risk", ("Risk", "Rows", "Predicted", "Observed"), rows, "numbers"
    )
    return element("details", element("summary", "The same as a table"), inside)


def before_and_after(before: Evaluated, after: Evaluated) -> Html:
    """The model that this one was made from, and this one, on the same rows."""
    names = {**FIGURES, "brier": "Brier score", "logLoss": "Log-loss", "slope": "Slope"}
    rows = [
        (title, *(with_interval(results.overall, name) for results in (before, after)))
        for name, title in names.items()
    ]
    caption = "Before and after the change, on the same rows"
    return table(caption, ("Figure", "Before", "After"), rows, "numbers")


# Groups


def groups(results: Evaluated, columns: Sequence[str]) -> Html:
    """For each column a table, forest plots and the gaps between its groups."""
    return joined(_column(results, column) for column in columns)


def _column(results: Evaluated, column: str) -> Html:
    lines = results.of_column(column)
    header = ("Group", "Rows", "Events", "AUC", "Sensitivity", "Specificity", "Obs. / exp.",
              "Slope", "ICI")  # fmt: skip
    rows = [
        (
            str(line["group"]),
            count(line.get("rows")),
            count(line.get("positives")),
            with_interval(line, "auc", 2),
            with_interval(line, "sensitivity", percent=True),
            with_interval(line, "specificity", percent=True),
            with_interval(line, "oe", 2),
            shown(line.get("slope"), 2),
            shown(line.get("ici"), 3),
        )
        for line in (results.overall, *lines)
    ]
    parts = [
        element("h3", f"By {column}"),
        table(f"Figures by {column}", header, rows, "numbers dense"),
    ]
    plots = [
        _forest(results.overall, lines, name, column)
        for name in FIGURES
        if sum(_known(line, name, f"{name}Low", f"{name}High") for line in lines) > 0
    ]
    parts.append(figures(*plots))
    parts.append(_gaps(results, column))
    return joined(parts)


def _forest(whole: Line, lines: Sequence[Line], name: str, column: str) -> Html:
    title, percent = FIGURES[name], name not in ("auc", "oe")
    intervals = [
        _interval("all" if line is whole else str(line["group"]), line, name, line is whole)
        for line in (whole, *lines)
    ]
    ends = [v for i in intervals for v in (i.low, i.high) if v is not None]
    low, high = min(ends), max(ends)
    room = max(0.02, 0.08 * (high - low))
    low, high = max(0.0, low - room), high + room
    if name != "oe":
        high = min(1.0, high)
    axis = Axis(title, low, high, percent=percent)
    reference = _number(whole, name) if _known(whole, name) else None
    return picture(draw_forest(f"{title} by {column}", intervals, axis, reference))


def _interval(group: str, line: Line, name: str, is_whole: bool) -> Interval:
    text = with_interval(line, name, 2, percent=name not in ("auc", "oe"))
    if not _known(line, name, f"{name}Low", f"{name}High"):
        return Interval(group, text=text, is_whole=is_whole)
    ends = _number(line, f"{name}Low"), _number(line, f"{name}High")
    return Interval(group, _number(line, name), *ends, text, is_whole)


def _gaps(results: Evaluated, column: str) -> Html:
    gaps = [line for line in results.gaps if line["by"] == column]
    if not gaps:
        return NOTHING
    rows = [
        (
            f"{line['group']} {MINUS} {line['than']}",
            FIGURES[str(line["figure"])],
            with_interval(line, "gap"),
        )
        for line in gaps
    ]
    caption = f"Gaps between groups of {column}, with 95% intervals"
    inside = table(caption, ("Groups", "Figure", "Difference"), rows, "numbers")
    words = f"Gaps to the largest group, {gaps[0]['than']}"
    return element("details", element("summary", words), inside)


def rows_sentence(results: Evaluated) -> str:
    """Which rows, and what is hidden."""
    whole = results.overall
    return (
        f"{count(whole['rows'])} rows, {count(whole['positives'])} with the outcome. Counts below "
        f"{results.small_cell} are not shown, nor what would tell them."
    )
