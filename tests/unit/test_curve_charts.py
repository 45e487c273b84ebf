"""Charts of an evaluation: a panel for each group, the same axes, small groups in a note."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.metrics import roc_auc_score

from figs_spark import (
    Feature,
    FIGSClassificationModel,
    Node,
    OperatingPoint,
    Split,
    TreeSum,
    plot_calibration,
    plot_roc,
    plot_sizes,
)
from figs_spark.app.charts import draw_calibration, draw_roc
from figs_spark.clinical.curves import Curve, RowsByScore
from figs_spark.clinical.measures import bin_line
from figs_spark.pictures.overview import questions
from tests.support.fitted import fitted

mpl.use("agg")


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    pyplot.close("all")


def rows(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    score = random.beta(2, 8, size=count).round(3)
    return score, random.random(count) < score


def by_score(score: np.ndarray, label: np.ndarray) -> RowsByScore:
    columns = {"positives": label, "negatives": ~label, "rows": np.ones(len(score))}
    columns |= {"positive_squares": label, "negative_squares": ~label, "scores": score}
    columns |= {"low": score, "high": score, "errors": (label - score) ** 2}
    floats = {name: np.asarray(c, dtype=float) for name, c in columns.items()}
    return RowsByScore.of(score, floats)


GROUPS = {"all": 4_000, "a": 2_000, "b": 1_000, "tiny": 15} | {f"g{k}": 500 for k in range(8)}


@pytest.fixture(scope="module")
def curves() -> pd.DataFrame:
    parts = []
    for seed, (name, count) in enumerate(GROUPS.items()):
        curve = Curve(by_score(*rows(count, seed)))
        columns = ("sensitivity", "specificity", "tp", "fp")
        part = pd.DataFrame({c: getattr(curve, c) for c in columns})
        part.insert(0, "threshold", curve.thresholds)
        part.insert(0, "group", name)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def bins() -> pd.DataFrame:
    lines = []
    for seed, (name, count) in enumerate(GROUPS.items()):
        found = by_score(*rows(count, seed))
        numbers = found.bins(8)
        lines += [
            {"group": name, **bin_line(found, numbers == k)} for k in range(numbers.max() + 1)
        ]
    return pd.DataFrame(lines)


def panels(figure: object) -> list[object]:
    return [ax for ax in figure.axes if ax.get_title()]


def test_a_panel_for_each_group_on_the_same_axes(curves: pd.DataFrame, bins: pd.DataFrame) -> None:
    for figure in (plot_roc(curves), plot_calibration(bins)):
        drawn = panels(figure)
        names = [ax.get_title().split("\n")[0] for ax in drawn]
        assert names == ["All rows", "a", "b", *(f"g{k}" for k in range(8))]
        assert len({(ax.get_xlim(), ax.get_ylim()) for ax in drawn}) == 1
        (note,) = [text.get_text().replace("\n", " ") for text in figure.texts]
        assert "fewer than 10 rows with or without the outcome: tiny. Grey: all rows." in note


def test_the_auc_has_delongs_interval(curves: pd.DataFrame) -> None:
    score, label = rows(2_000, 1)
    area, error = by_score(score, label).auc()
    assert area == pytest.approx(roc_auc_score(label, score))
    title = panels(plot_roc(curves))[1].get_title()
    low, high = area - 1.96 * error, area + 1.96 * error
    assert title == f"a\nAUC {area:.2f} ({low:.2f} to {high:.2f})"
    given = plot_roc(curves, areas={"a": (0.5, 0.4, 0.6)}, points={"a": (0.9, 0.3)})
    assert panels(given)[1].get_title() == "a\nAUC 0.50 (0.40 to 0.60)"
    marks = [line for line in panels(given)[1].lines if line.get_marker() == "o"]
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in marks] == [(0.7, 0.9)]


def test_without_groups(curves: pd.DataFrame, bins: pd.DataFrame) -> None:
    own = pyplot.figure().add_subplot()
    alone = curves[curves["group"] == "all"].drop(columns="group")
    assert plot_roc(alone, ax=own) is own.figure
    assert len(panels(plot_calibration(bins[bins["group"] == "all"].drop(columns="group")))) == 1
    with pytest.raises(ValueError, match="groups, which need a figure of their own"):
        plot_roc(curves, ax=own)
    few = curves[curves["group"] == "tiny"]
    with pytest.raises(ValueError, match="No group has 10 rows with and 10 without"):
        plot_roc(few)


def test_the_tables_of_an_evaluation(curves: pd.DataFrame, bins: pd.DataFrame) -> None:
    def table(frame: pd.DataFrame) -> pd.DataFrame:
        named = frame.assign(by=["all" if g == "all" else "ward" for g in frame["group"]])
        return named.replace({"group": {"b": None}})

    summary = pd.DataFrame(
        {"by": "ward", "group": ["a", None], "auc": 0.7, "aucLow": 0.6, "aucHigh": 0.8}
    ).assign(threshold=0.2, sensitivity=0.9, specificity=0.4)
    figure = draw_roc({"roc": table(curves), "summary": summary})
    assert [ax.get_title() for ax in panels(figure)[1:3]] == [
        "ward = a\nAUC 0.70 (0.60 to 0.80)",
        "ward = missing\nAUC 0.70 (0.60 to 0.80)",
    ]
    assert len(panels(draw_calibration({"calibration": table(bins)}))) == 11


def test_sizes_mark_the_one_that_was_chosen() -> None:
    table = pd.DataFrame({"splits": [0, 1, 2], "loss": [3.0, 2.0, 1.5], "trainingLoss": 1.0})
    for sizes in (table.assign(standardError=0.1), table.drop(columns="trainingLoss")):
        for chosen, words in ((1, "chosen: 1 split"), (2, "chosen: 2 splits")):
            legend = plot_sizes(sizes, chosen=chosen).axes[0].get_legend()
            assert words in [text.get_text() for text in legend.get_texts()]


# Groups and operating points in the pictures of a model


def test_which_features_each_group_uses() -> None:
    model = fitted("GFIGS", 2)
    table = model.featuresByGroup
    assert list(table.columns) == ["a", "b"]
    assert table.sum().tolist() == pytest.approx([1, 1])
    used = {f for s in model._sums.values() for f in (s.features[p.feature].name for p in s.splits)}
    assert set(table.index) == used
    text = "".join(ElementTree.fromstring(model.toOverviewSVG()).itertext())
    assert "Probability of y = 1: what is asked, by group" in text
    assert "8 splits" in text
    first = model._sums["a"].splits[0]
    assert questions(model._sums["a"], first.feature)[0] in text
    assert len(model.plotOverview().texts) > len(table)
    assert model._repr_html_().count("<svg") == 3


def test_the_operating_point_is_in_picture_and_waterfall() -> None:
    model, row = only_numbers(), {"a": 1.0, "b": -1.0}
    assert "Threshold" not in str(model.explain(row))
    squares = (9.0, 1.0, 5.0, 1.0)
    point = OperatingPoint(0.9, 0.25, tp=9.0, fp=1.0, tn=5.0, fn=1.0, squares=squares)
    model._operating_point = point
    model._set(threshold=point.threshold)
    assert "Above 25%: predict y = 1" in words(model.toSVG())
    for b, verdict in ((-1.0, "not above the threshold: do not"), (1.0, "above the threshold:")):
        explained = model.explain(row | {"b": b})
        assert f"Threshold: {verdict} predict y = 1" in str(explained)
        assert f"Threshold {verdict} predict y = 1" in words(explained.toSVG())


def words(svg: str) -> str:
    """The text of a picture, in one line."""
    return re.sub(r"\s+", " ", " ".join(ElementTree.fromstring(svg).itertext()))


def only_numbers() -> FIGSClassificationModel:
    """A model of one split: 10% or 60%."""
    model = FIGSClassificationModel(featuresCols=["a", "b"], labelCol="y")
    leaves = [Node((value,), rows=100, weight=100.0) for value in (0.1, 0.6)]
    root = Node((0.0,), 200, 200.0, Split(1, 0, 1.0, True, threshold=0.0), *leaves)
    model.treeSum = TreeSum((Feature("a"), Feature("b")), (root,), (0.35,), (0.2, 0.1))
    model._classes = 2
    return model


def test_bins_that_privacy_hides_are_not_drawn(bins: pd.DataFrame) -> None:
    whole = bins[bins["group"] == "all"].assign(by="all").astype({"rows": object})
    whole.iloc[0, whole.columns.get_loc("rows")] = "<11"
    whole.iloc[:2, whole.columns.get_loc("observed")] = float("nan")
    (panel,) = panels(draw_calibration({"calibration": whole}))
    assert len(panel.lines[-1].get_xdata()) <= len(whole) - 2
    assert panel.get_title() == f"All rows\n{sum(whole['rows'][2:]):,.0f} rows"
