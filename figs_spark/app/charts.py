"""The pictures of an evaluation, by matplotlib: one panel per group column, each with all rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from figs_spark.pictures.axes import pyplot

MOST_LINES = 10  # the tables have the other groups too


def _panels(table: Any) -> tuple[Any, Iterator[tuple[Any, Any, list[tuple[Any, Any]]]]]:
    """A figure, and for each of its axes the part of the table for all rows and for each group."""
    columns = [by for by in dict.fromkeys(table["by"]) if by != "all"] or [None]
    figure = pyplot().figure(figsize=(5.5 * len(columns), 5), layout="constrained")
    whole = table[table["by"] == "all"]

    def panels() -> Iterator[tuple[Any, Any, list[tuple[Any, Any]]]]:
        for k, by in enumerate(columns, start=1):
            lines = table[table["by"] == by]
            named = lines.assign(group=lines["group"].where(lines["group"].notna(), "missing"))
            groups = named.groupby("group", sort=False)
            ax = figure.add_subplot(1, len(columns), k)
            if by is not None:
                ax.set_title(f"by {by}")
            yield ax, whole, list(groups)[:MOST_LINES]

    return figure, panels()


def draw_roc(tables: dict[str, Any]) -> Any:
    """The ROC curve of all rows with its operating points, and the curve of each group."""
    figure, panels = _panels(tables["roc"])
    summary = tables["summary"]
    names = summary["group"].where(summary["group"].notna(), "missing")
    areas = dict(zip(zip(summary["by"], names), summary["auc"]))

    def draw(ax: Any, curve: Any, group: Any, **style: Any) -> None:
        area = areas.get((curve["by"].iloc[0], group))
        label = str(group) if area is None else f"{group}: AUC {area:.3f}"
        ax.plot(1 - curve["specificity"], curve["sensitivity"], label=label, **style)

    for ax, whole, groups in panels:
        draw(ax, whole, "all", linewidth=2.5, color="black")
        for group, curve in groups:
            draw(ax, curve, group, linewidth=1.2)
        _mark(ax, tables["operating_points"])
        ax.plot([0, 1], [0, 1], ":", color="grey")
        ax.set(xlabel="1 - specificity", ylabel="sensitivity", aspect="equal")
        ax.legend(loc="lower right", fontsize=8)
    return figure


def _mark(ax: Any, points: Any) -> None:
    """The operating points of all rows; levels that share a point share a label."""
    whole = points[points["by"] == "all"]
    ax.plot(1 - whole["specificity"], whole["sensitivity"], "ko", label="operating points")
    for (specificity, sensitivity), shared in whole.groupby(["specificity", "sensitivity"]):
        levels = ", ".join(f"{level:g}" for level in shared["level"])
        spot = (1 - specificity, sensitivity)
        ax.annotate(
            levels, spot, xytext=(-6, 6), textcoords="offset points", fontsize=8, ha="right"
        )


def draw_calibration(tables: dict[str, Any]) -> Any:
    """Observed against predicted rates, with intervals for all rows."""
    figure, panels = _panels(tables["calibration"])
    for ax, whole, groups in panels:
        rate = whole["observed"]
        interval = [rate - whole["observedLow"], whole["observedHigh"] - rate]
        for group, bins in groups:
            ax.plot(bins["predicted"], bins["observed"], ".-", linewidth=1, label=str(group))
        style = {"fmt": "o-", "capsize": 3, "linewidth": 2, "color": "black"}
        ax.errorbar(whole["predicted"], rate, interval, label="all, 95% interval", **style)
        ax.axline((0, 0), slope=1, linestyle=":", color="grey", label="perfect")
        ax.set(xlabel="predicted probability", ylabel="observed rate")
        ax.legend(fontsize=8)
    return figure


def draw_sizes(tables: dict[str, Any]) -> Any:
    """The loss by number of splits, on training rows and, if there are any, on held-out rows."""
    figure = pyplot().figure(figsize=(6, 4), layout="constrained")
    ax, sizes = figure.add_subplot(), tables["sizes"]
    folds = "trainingLoss" in sizes
    training = sizes["trainingLoss" if folds else "loss"]
    ax.plot(sizes["splits"], training, ":", color="grey", label="on training rows")
    if folds:
        style = {"fmt": "o-", "capsize": 3, "label": "held out (mean over folds, standard error)"}
        ax.errorbar(sizes["splits"], sizes["loss"], sizes["standardError"], **style)
    elif "validationLoss" in sizes:
        ax.plot(sizes["splits"], sizes["validationLoss"], "o-", label="on validation rows")
    ax.set(xlabel="splits", ylabel="loss (mean squared error)")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(fontsize=8)
    return figure
