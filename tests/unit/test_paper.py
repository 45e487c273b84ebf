"""What the experiments of the paper share: cells that are kept, and one report of all parts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from jobs.paper import command, curves, functions, rates, simulations, tables
from jobs.paper.cells import Cell, Store
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
    assert "**1 claims hold, 1 do not, 1 could not be tried**" in text
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


def scores(method: str, values: dict[int, list[float]]) -> pd.DataFrame:
    rows = [
        {"data": "heart", "split": k, "method": method, "splits": size, "score": value}
        for size, found in values.items()
        for k, value in enumerate(found)
    ]
    return pd.DataFrame(rows).assign(binary=True, rows=100)


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
        assert cart.holds is True
    grid = curves.section(results).blocks[1]
    assert grid.rows == [
        ["heart", *["0.750 ± 0.100 / 0.550 ± 0.050"], *["0.750 ± 0.000 / 0.500 ± 0.000"] * 3]
    ]


def test_a_size_takes_the_largest_model_within_it() -> None:
    at = curves.at_sizes(scores("RuleFit", {3: [0.5], 8: [0.6], 40: [0.9]}))
    assert dict(zip(at["size"], at["score"])) == {5: 0.5, 10: 0.6, 15: 0.6, 20: 0.6}


def test_a_run_of_one_function_is_drawn_and_claims_nothing(tmp_path: Path) -> None:
    own = {"most_splits": 4, "members": 2, "member_splits": 3, "bins": 8, "splines": 4}
    rows = [{"function": "D", "rows": 100, "repeat": 0, "method": "FIGS", "error": 0.1} | own]
    section = simulations.section(pd.DataFrame(rows))
    assert section.claims == []
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
