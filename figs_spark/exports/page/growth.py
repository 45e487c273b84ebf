"""How the model came to its size, and whether it would look the same on other rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from figs_spark.exports.page.document import figures, picture
from figs_spark.exports.page.markup import NOTHING, Html, element, joined, table
from figs_spark.pictures.charts import Axis, Mark, Series, draw_chart


@dataclass(frozen=True)
class Size:
    """The loss of the model with this number of splits."""

    splits: int
    training: float
    held_out: float | None = None
    error: float | None = None  # standard error of `held_out`


@dataclass(frozen=True)
class Returning:
    """How often a feature returns if the model is grown again on perturbed rows."""

    group: str
    feature: str
    in_model: bool
    shares: Mapping[str, float]  # by perturbation
    first: Mapping[str, float]  # of the repeats whose first split is on it


@dataclass(frozen=True)
class Growth:
    """Sizes by group ("" if there is one model), the size in use, and stability."""

    sizes: Mapping[str, tuple[Size, ...]]
    chosen: Mapping[str, int]
    returning: tuple[Returning, ...] = ()
    jaccard: Mapping[str, float] | None = None  # mean similarity by perturbation
    optimism: Mapping[str, float] | None = None  # apparent and corrected figures by name

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def growth_section(growth: Growth) -> Html:
    parts = [_path(group, sizes, growth.chosen[group]) for group, sizes in growth.sizes.items()]
    if growth.optimism:
        parts.append(_optimism(growth.optimism))
    if growth.returning:
        parts.append(element("h3", "Would it look the same on other rows?"))
        parts.append(_similarity(growth.jaccard or {}))
        parts.append(_returning(growth.returning))
    return joined(parts)


def _path(group: str, sizes: Sequence[Size], chosen: int) -> Html:
    """The loss by the number of splits, with the size in use marked."""
    if len(sizes) < 2:
        return element("p", "The model has no split.")
    training = tuple((float(size.splits), size.training) for size in sizes)
    series = [Series("on training rows", training)]
    validated = [size for size in sizes if size.held_out is not None]
    if validated:
        marks = [
            Mark(size.splits, size.held_out or 0.0, (size.held_out or 0.0) - (size.error or 0.0),
                 (size.held_out or 0.0) + (size.error or 0.0))
            for size in validated
        ]  # fmt: skip
        series.append(Series("held out, with standard error", marks=marks))
    losses = [y for _, y in training]
    losses += [y for one in series for m in one.marks for y in (m.low, m.high) if y is not None]
    low, high = min(losses), max(losses)
    room = 0.06 * (high - low) or 0.01
    axis = Axis("Mean squared error", max(0.0, low - room), high + room, percent=False)
    series.append(
        Series(f"in use: {chosen}", ((chosen, axis.low), (chosen, axis.high)), dashed=True)
    )
    title = f"Loss by the number of splits{f', {group}' if group else ''}"
    chart = draw_chart(title, Axis("Splits", 0, len(sizes) - 1, percent=False), axis, series)
    heading = element("h3", group) if group else NOTHING
    return heading + figures(picture(chart))


def _optimism(figures: Mapping[str, float]) -> Html:
    rows = [
        (title, *(f"{figures[f'{kind}{name}']:.3f}" for kind in ("apparent", "corrected")))
        for name, title in (("Auc", "AUC"), ("Slope", "Calibration slope"))
    ]
    caption = f"On training rows, and corrected by {figures['repeats']:.0f} bootstrap samples"
    return table(caption, ("Figure", "On training rows", "Corrected for optimism"), rows, "numbers")


def _similarity(jaccard: Mapping[str, float]) -> Html:
    rows = [(name, f"{100 * value:.0f}%") for name, value in jaccard.items()]
    caption = "Mean share of features in common with the model (Jaccard)"
    return table(caption, ("Rows", "In common"), rows, "numbers") if rows else NOTHING


def _returning(returning: Sequence[Returning]) -> Html:
    kinds = list(returning[0].shares)
    grouped = len({line.group for line in returning}) > 1
    header = ["Feature", *(["Group"] if grouped else []), "In the model"]
    for kind in kinds:
        header += [f"Returns: {kind}", f"First split: {kind}"]
    rows = []
    for line in returning:
        cells = [line.feature, *([line.group] if grouped else []), "yes" if line.in_model else "no"]
        for kind in kinds:
            cells += [f"{100 * share.get(kind, 0.0):.0f}%" for share in (line.shares, line.first)]
        rows.append(cells)
    return table("How often a feature returns, and how often first", header, rows, "numbers")
