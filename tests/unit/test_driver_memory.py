"""The memory that histograms take in the driver is bounded, and told before the fit.

`make torture` measures 5,000 features and 40 splits; here all is a tenth of that.
"""

from __future__ import annotations

import pandas as pd
import pytest

from figs_spark.engine.candidates import LEAST_ROOM, driver_bytes, histogram_room
from figs_spark.engine.grower import GrowthRules
from figs_spark.engine.histograms import Layout
from figs_spark.engine.table import Table, Target
from figs_spark.engine.training import Plan, tell_driver_memory
from figs_spark.treesum import Feature
from tests.support.driver_memory import measured

MB = 1 << 20


def test_forty_splits_of_many_features_stay_within_the_budget() -> None:
    report = measured(500, 40, 0, 10)
    assert report["splits"] == 40
    assert report["trees"] > 1
    unbounded = 42 * 500 * 256 * 2 * 8
    assert report["estimate"] < 70 * MB < unbounded
    assert report["growth"] < 100 * MB
    assert report["growth"] < 1.5 * report["estimate"]


@pytest.mark.parametrize("features", [10, 1_500, 5_000, 50_000])
@pytest.mark.parametrize("outputs", [1, 3])
def test_the_estimate_grows_with_the_histograms_up_to_the_budget(
    features: int, outputs: int
) -> None:
    layout = Layout((256,) * features, outputs, counted=False)
    histogram = 8 * layout.size * layout.channels
    estimate = driver_bytes(layout, 40)
    assert estimate > min(42, histogram_room(layout)) * histogram
    if histogram_room(layout) > LEAST_ROOM:
        assert estimate < 700 * MB


@pytest.mark.parametrize(
    ("features", "classes", "per_step", "warned"),
    [(5_000, 0, None, False), (5_000, 100, None, True), (5_000, 100, 70, False)],
)
def test_a_large_need_is_told_before_anything_is_packed(
    features: int,
    classes: int,
    per_step: int | None,
    warned: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    frame = pd.DataFrame(columns=["x", "y"])  # only its columns are looked at
    described = tuple(Feature(f"x{j}") for j in range(features))
    table = Table(frame, described, Target(classes), 1_000, 1)
    tell_driver_memory(table, Plan(GrowthRules(features_per_step=per_step)))
    told = "The histograms of 5000 features, up to 256 bins each, and 100 outputs may take"
    assert (told in caplog.text) == warned
    assert ("Lower maxBins, take fewer features" in caplog.text) == warned
