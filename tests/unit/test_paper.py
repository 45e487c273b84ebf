"""What the experiments of the paper share: cells that are kept, and one report of all parts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from figs_spark.engine.bins import bin_feature
from figs_spark.treesum import Feature
from jobs.paper import (
    command,
    curves,
    estimators,
    functions,
    paths,
    rates,
    simulations,
    tables,
    ways,
)
from jobs.paper.cells import Cell, Store
from jobs.paper.clock import processor_seconds
from jobs.paper.report import Report
from jobs.paper.sections import Claim, Grid, Picture, Section, pivoted


def test_a_finished_cell_is_kept_under_its_settings(tmp_path: Path) -> None:
    store = Store(tmp_path)
    cell, other = (Cell("curves", {"data": "heart", "split": k}) for k in (0, 1))
    assert store.load(cell) is None
    store.keep(cell, [{"score": 0.5}], {"seconds": 1.0})
    kept = store.load(Cell("curves", {"split": 0, "data": "heart"}, repeat=3))
    assert kept == {
        "settings": {"data": "heart", "split": 0},
        "seconds": 1.0,
        "records": [{"score": 0.5}],
    }
    assert store.load(other) is None
    assert [path.name for path in (tmp_path / "curves").iterdir()] == [f"{cell.key}.json"]
    store.forget(cell)
    assert store.load(cell) is None


def test_every_part_has_settings_and_cells_that_differ(tmp_path: Path) -> None:
    pd.DataFrame({"x": [0.0, 1.0], "y": [0, 1]}).to_parquet(tmp_path / "heart.parquet")
    for preset in (command.FULL, command.QUICK):
        assert list(preset) == list(command.PARTS)
        cells = command.Run(preset, list(preset), tmp_path, tmp_path).cells()
        assert len({cell.key for cell in cells}) == len(cells)
        assert [cell.repeat for cell in cells] == sorted(cell.repeat for cell in cells)
        assert {cell.part for cell in cells} == set(command.PARTS)
        for cell in cells:
            json.dumps(dict(cell.settings))


def test_the_report_says_what_holds_and_what_does_not(tmp_path: Path) -> None:
    claims = [Claim("a < b", "1 | 2", True), Claim("c", "3", False), Claim("d", "", None)]
    figure = Figure()
    figure.subplots().plot([0, 1])
    blocks = [Picture("one", "A line", figure), Grid("Rows", ["x", "`y`"], [["1", "2"]])]
    section = Section("Title", "Measured.", blocks, claims)
    Report({"curves": section}, [("seeds", "0")]).write(tmp_path)
    text = (tmp_path / "report.md").read_text("utf-8")
    assert "**1 claims hold, 1 do not, 1 could not be decided**" in text
    assert "| curves | a < b | 1 \\| 2 | yes |" in text
    assert "| curves | c | 3 | **no** |" in text
    assert "![A line](figures/one.png)" in text
    assert (tmp_path / "figures/one.png").read_bytes()[:4] == b"\x89PNG"
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "<td>a &lt; b</td>" in page
    assert "<b>no</b>" in page
    assert "<th><code>y</code></th>" in page
    assert "data:image/png;base64," in page
    assert "http" not in page
    for deviation in ("names of features", "(1, 1)", "0.01", "swapped", "max(y)"):
        assert deviation in text


def test_a_claim_says_if_cells_are_missing_and_waits_for_half_of_them() -> None:
    claim = Claim("a", "1", False)
    assert claim.resting_on(4, 4) == claim
    assert claim.resting_on(2, 4) == Claim("a", "1 (2 of 4 cells)", False)
    assert claim.resting_on(1, 4) == Claim("a", "only 1 of 4 cells so far", None)


def scores(method: str, values: dict[int, list[float]]) -> pd.DataFrame:
    rows = [
        {"data": "heart", "split": k, "method": method, "splits": size, "score": value}
        for size, found in values.items()
        for k, value in enumerate(found)
    ]
    return pd.DataFrame(rows).assign(binary=True, binned=0, rows=100)


def test_figs_is_compared_with_imodels_at_each_size() -> None:
    theirs = scores("imodels FIGS", {5: [0.6, 0.8], 10: [0.7, 0.7]})
    for gap, holds in ((0.0, True), (0.05, False)):
        ours = scores("FIGS", {5: [0.65, 0.85], 7: [0.1, 0.1], 10: [0.7 + gap, 0.7 + gap]})
        results = pd.concat([ours, theirs, scores("CART", {5: [0.5, 0.6], 10: [0.5, 0.5]})])
        table = curves.gaps(results)
        assert table["splits"].tolist() == [5, 10]
        assert table["gap"].tolist() == pytest.approx([0.05, gap])
        assert table["error"].tolist() == pytest.approx([0.1, 0.0])
        parity, cart, *_ = curves.claims(results, curves.at_sizes(results))
        assert parity.holds is holds
        assert parity.measured.startswith(f"{1 + holds} of 2 sizes; {1 + holds} of 2 where no")
        assert cart.holds is True
        in_bins = ours.assign(method=curves.IN_BINS, score=ours["score"] + 1e-9)
        _, same, *_ = curves.claims(pd.concat([results, in_bins]), curves.at_sizes(results))
        assert same.holds is True
        assert same.measured.startswith("3 of 3 sizes, equal at 3")
    grid = curves.section(results).blocks[1]
    assert grid.rows == [
        ["heart", *["0.750 ± 0.100 / 0.550 ± 0.050"], *["0.750 ± 0.000 / 0.500 ± 0.000"] * 3]
    ]


@pytest.mark.parametrize("binary", [True, False])
def test_one_fit_of_imodels_gives_every_size(binary: bool) -> None:
    imodels = pytest.importorskip("imodels")
    random = np.random.default_rng(5)
    values = random.random((150, 3))
    outcome = values[:, 0] + values[:, 1] * values[:, 2] + random.normal(0, 0.2, 150)
    train = tables.Sample(values[:100], (outcome > 0.9).astype(float) if binary else outcome)
    train = tables.Sample(train.features, train.outcome[:100])
    found = dict(paths.imodels_figs(None, train, values[100:], [1, 4, 9]))
    assert list(found) == [1, 4, 9]
    kind = imodels.FIGSClassifier if binary else imodels.FIGSRegressor
    for size, sums in found.items():
        model = kind(max_rules=size).fit(train.features, train.outcome)
        refitted = estimators.predicted(model, values[100:], binary)
        if binary:  # a softmax of the sums of both classes, which are 1 - s and s
            refitted = (1 + np.log(refitted / (1 - refitted))) / 2
        assert sums == pytest.approx(refitted, abs=1e-9)


def test_features_with_more_values_than_bins_are_counted_and_binned() -> None:
    pytest.importorskip("imodels")
    random = np.random.default_rng(6)
    values = np.column_stack([random.random(400), random.integers(0, 9, 400)])
    train = tables.Sample(values, values[:, 0] + 0.1 * random.normal(size=400))
    assert paths.binned(train) == 1
    assert paths.binned(train.at(np.arange(200))) == 0
    ((_, sums),) = paths.imodels_in_bins(None, train, values, [1])
    low = sums == sums.min()
    below, above = values[low, 0].max(), values[~low, 0].min()
    edges = bin_feature(values[:, 0], Feature("x"), paths.MAX_BINS).edges
    assert below < above
    assert ((below <= edges) & (edges < above)).any()


def test_rows_are_ranked_by_sums_and_risks_judged_as_risks() -> None:
    outcome = np.array([0.0, 0.0, 1.0, 1.0])
    sums = np.array([-0.4, -0.1, 0.0, 1.3])
    _, area, loss, spared = ways.measured(outcome, sums, np.clip(sums, 0, 1), True)
    assert (area, spared) == (1.0, 1.0)  # among risks, three rows are the same
    assert loss == pytest.approx(-(3 * np.log(0.999) + np.log(0.001)) / 4)


def test_processor_time_goes_on_only_if_something_runs() -> None:
    started = processor_seconds()
    sum(k * k for k in range(3_000_000))
    assert processor_seconds() - started >= 0.05


def test_a_size_takes_the_largest_model_within_it() -> None:
    at = curves.at_sizes(scores("RuleFit", {3: [0.5], 8: [0.6], 40: [0.9]}))
    assert dict(zip(at["size"], at["score"])) == {5: 0.5, 10: 0.6, 15: 0.6, 20: 0.6}


def test_a_run_of_one_function_is_drawn_and_claims_nothing(tmp_path: Path) -> None:
    own = {"params": {"maxSplits": 4, "maxBins": 8}}
    rows = [{"function": "D", "rows": 100, "repeat": 0, "method": "FIGS", "error": 0.1} | own]
    section = simulations.section(pd.DataFrame(rows))
    assert section.claims == []
    assert section.blocks[-1].rows == [["FIGS", "`maxSplits=4`, `maxBins=8`"]]
    Report({"simulations": section}, []).write(tmp_path)
    assert (tmp_path / "figures/simulations.png").stat().st_size > 5_000


def test_the_functions_of_the_supplement() -> None:
    x = np.full((2, functions.FEATURES), 0.05)
    x[0, :15] = 0.6
    values = {name: function(x).tolist() for name, (_, function) in functions.FUNCTIONS.items()}
    assert values["A"] == pytest.approx([9.0, 0.75])
    assert values["B"] == [1.0, 0.0]
    assert values["C"] == pytest.approx([5 * 0.6**3, 5 * 0.05**3])
    assert values["D"] == [5.0, 0.0]
    sample = functions.drawn("D", 4_000, seed=0, correlation=0.5)
    assert np.corrcoef(sample.features[:, 0], sample.features[:, 20])[0, 1] == pytest.approx(
        0.48, abs=0.05
    )
    noise = sample.outcome - functions.interactions(sample.features)
    assert noise.std() == pytest.approx(functions.NOISE, rel=0.05)


def test_an_exponent_is_the_slope_of_the_logarithms() -> None:
    n = np.array([100, 400, 1600])
    rows = pd.concat(
        [pd.DataFrame({"rows": n, "error": n**-slope, "repeat": k})
         for k, slope in enumerate((0.5, 0.7))]
    )  # fmt: skip
    assert rates.exponent(rows) == pytest.approx((-0.6, 0.1))


def test_a_division_keeps_rows_apart() -> None:
    sample = tables.Sample(np.arange(100.0)[:, None], np.arange(100.0))
    train, test = tables.divided(sample, seed=1, rows=50)
    assert (len(train.outcome), len(test.outcome)) == (40, 10)
    assert not set(train.outcome) & set(test.outcome)
    assert not sample.binary


def test_means_are_shown_with_standard_errors() -> None:
    results = pd.DataFrame({"data": ["b", "b", "a"], "method": "FIGS", "score": [0.5, 0.7, 0.2]})
    header, rows = pivoted(results, "data", "method", "score")
    assert header == ["data", "FIGS"]
    assert rows == [["b", "0.600 ± 0.100"], ["a", "0.200"]]


@pytest.mark.parametrize(
    ("options", "message"),
    [([], r"no \*.parquet in"), (["--tables", "nothing"], "--tables: no nothing; there are heart")],
)
def test_what_is_missing_is_named(options: list[str], message: str, tmp_path: Path) -> None:
    if options:
        pd.DataFrame({"x": [0.0], "y": [0]}).to_parquet(tmp_path / "heart.parquet")
    asked = command.parser().parse_args(["--data", str(tmp_path), *options])
    with pytest.raises(SystemExit, match=message):
        command.run_of(asked)
