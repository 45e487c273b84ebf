"""Text that stands for bands of numbers is recognised and put in order."""

from __future__ import annotations

import math

import pytest

from figs_spark.stages.base.bands import band, in_order


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("[70-80)", (70, 80)),
        ("70-79", (70, 79)),
        ("(0.5, 1.5]", (0.5, 1.5)),
        ("18 to 25", (18, 25)),
        ("<30", (-math.inf, 30)),
        ("≤ 30", (-math.inf, 30)),
        ("under 18", (-math.inf, 18)),
        (">80", (80, math.inf)),
        (">=80", (80, math.inf)),
        ("65+", (65, math.inf)),
        ("85 and over", (85, math.inf)),
    ],
)
def test_bands(text: str, ends: tuple[float, float]) -> None:
    assert band(text) == ends


@pytest.mark.parametrize("text", ["", "None", "428", "250.01", "V57", "80-70", "NO", ">", "1-2-3"])
def test_what_is_no_band(text: str) -> None:
    assert band(text) is None


def test_bands_are_put_in_order() -> None:
    ages = [f"[{a}-{a + 10})" for a in range(0, 110, 10)]
    assert in_order(sorted(ages)) == tuple(ages)
    assert in_order([">200", "[0-25)", "[100-125)", "[25-50)"]) == (
        "[0-25)", "[25-50)", "[100-125)", ">200",
    )  # fmt: skip
    assert in_order(["18-64", "65+", "<18"]) == ("<18", "18-64", "65+")


@pytest.mark.parametrize(
    "texts",
    [
        ["<30", ">30"],  # two are a set
        ["<30", ">30", "NO"],
        [">7", ">8", "None", "Norm"],
        ["0-20", "10-30", "20-40"],  # they overlap
        [">7", ">8", ">9"],
    ],
)
def test_what_has_no_order(texts: list[str]) -> None:
    assert in_order(texts) is None
