"""The generated registry: reproducible, rare positives, gaps, and a risk that is the truth."""

from __future__ import annotations

import pandas as pd
import pytest
from chispa import assert_df_equality
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark.datasets import BASELINE_RISK, FEATURES, TRUTH, encounters, trauma_registry

ROWS = 60_000


@pytest.fixture(scope="module")
def registry(spark: SparkSession) -> DataFrame:
    return trauma_registry(spark, ROWS, partitions=2, with_risk=True).cache()


@pytest.fixture(scope="module")
def table(registry: DataFrame) -> pd.DataFrame:
    return registry.toPandas()


@pytest.mark.parametrize("partitions", [3, 17, None])
def test_rows_do_not_depend_on_the_partitioning(
    spark: SparkSession, partitions: int | None
) -> None:
    one = trauma_registry(spark, 500, seed=3, partitions=1, with_risk=True)
    many = trauma_registry(spark, 500, seed=3, partitions=partitions, with_risk=True)
    assert_df_equality(one, many.sort("patient_id"))


def test_a_small_registry_is_the_beginning_of_a_large_one(spark: SparkSession) -> None:
    small, large = trauma_registry(spark, 100), trauma_registry(spark, 500)
    assert_df_equality(small, large.filter("patient_id < 100").sort("patient_id"))


def test_the_seed_changes_the_rows(spark: SparkSession) -> None:
    other = trauma_registry(spark, 500, seed=1).select(
        "patient_id", F.col("age_years").alias("age")
    )
    same = trauma_registry(spark, 500).join(other, "patient_id").filter("age = age_years").count()
    assert same < 25


def test_columns(spark: SparkSession, table: pd.DataFrame) -> None:
    columns = ["patient_id", "site", "age_group", *FEATURES, "intervention"]
    assert trauma_registry(spark, 1).columns == columns
    assert list(table) == [*columns, "true_risk"]
    assert table["patient_id"].is_unique
    assert set(table["intervention"]) == {0, 1}
    assert ((table["age_group"] == "under_2") == (table["age_years"] < 2)).all()


def test_positives_are_rare(table: pd.DataFrame) -> None:
    assert 0.03 < table["intervention"].mean() < 0.05
    assert (table.groupby("age_group")["intervention"].sum() > 500).all()


def test_values_are_missing_for_a_reason(table: pd.DataFrame) -> None:
    missing = table.isna().mean()
    assert missing[["patient_id", "site", "age_years", "intervention", "true_risk"]].max() == 0
    assert missing[["gcs_total", "mechanism"]].between(0.015, 0.025).all()
    by_age = table["severe_headache"].isna().groupby(table["age_group"]).mean()
    assert by_age["under_2"] == 1
    assert by_age["2_and_over"] < 0.1
    by_site = table["systolic_bp"].isna().groupby(table["site"]).mean()
    assert by_site["F"] > 0.5 > 0.2 > by_site["A"]


def test_true_risk_is_the_documented_sum(table: pd.DataFrame) -> None:
    """The truth once more, by hand, so that a changed rule is a changed test."""
    gcs, infant = table["gcs_total"], table["age_group"] == "under_2"
    lost = table["loss_of_consciousness"].eq(True)
    outside_the_front = table["scalp_haematoma"].isin(["parietal", "temporal", "occipital"])
    forceful = table["mechanism"].isin(["motor_vehicle", "fall_from_height"])
    expected = (
        0.005
        + 0.15 * ((gcs <= 13) | gcs.isna())
        + 0.30 * (gcs <= 8)
        + 0.12 * (table["systolic_bp"] < 80)
        + 0.15 * (lost & (table["vomiting_count"] >= 2))
        + 0.25 * (infant & table["palpable_skull_fracture"])
        + 0.08 * (infant & outside_the_front)
        + 0.06 * (~infant & table["severe_headache"].eq(True))
        + 0.03 * (~infant & forceful)
    )
    assert (table["true_risk"] - expected.clip(upper=1)).abs().max() < 1e-9


def test_true_risk_is_calibrated(table: pd.DataFrame) -> None:
    bands = pd.cut(table["true_risk"], [0, 0.01, 0.05, 0.1, 0.2, 0.4, 1])
    for _, band in table.groupby(bands, observed=True):
        risk = band["true_risk"].mean()
        error = (risk * (1 - risk) / len(band)) ** 0.5
        assert abs(band["intervention"].mean() - risk) < 4 * error


def test_every_effect_is_present_in_the_data(registry: DataFrame) -> None:
    shares = [F.avg(F.expr(effect.condition).cast("int")) for effect in TRUTH]
    assert all(share > 0.005 for share in registry.agg(*shares).first() or [0])


def test_the_interaction_needs_both_findings(registry: DataFrame) -> None:
    alone = registry.filter("loss_of_consciousness <> (vomiting_count >= 2)")
    assert alone.agg(F.min("true_risk")).first() == (BASELINE_RISK,)


def test_the_best_attainable_auc_is_far_from_chance_and_from_one(registry: DataFrame) -> None:
    evaluator = BinaryClassificationEvaluator(rawPredictionCol="true_risk", labelCol="intervention")
    assert 0.85 < evaluator.evaluate(registry) < 0.91


def test_no_python_and_no_exchange_in_the_plan(
    registry: DataFrame, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    trauma_registry(spark, 100).explain()
    plan = capsys.readouterr().out
    assert "Range" in plan
    assert "Python" not in plan
    assert "Exchange" not in plan


def test_stays_are_as_messy_as_a_raw_extract(spark: SparkSession) -> None:
    table = encounters(spark, 4_000, seed=1).toPandas()
    early = table["readmitted"] == "<30"
    assert early.mean() == pytest.approx(0.09, abs=0.02)
    assert not early[table["discharge_disposition_id"] == 11].any()
    assert table["encounter_id"].is_unique
    assert table["patient_nbr"].nunique() < 0.75 * len(table)
    assert table["diag_1"].nunique() > 300
    assert (table["weight"] == "?").mean() > 0.9
    assert set(table["examide"]) == {"No"}
    assert early[table["number_inpatient"] >= 3].mean() > 1.5 * early.mean()
