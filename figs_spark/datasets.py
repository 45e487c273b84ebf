"""A generated paediatric trauma registry whose true risk is known.

Each row is one child brought to hospital after an injury, and `intervention` says whether the
child needed an urgent intervention (about 4% did). Its risk is a sum of steps on the probability
scale, the family of functions that FIGS fits. `TRUTH` lists these steps:

    true_risk    = min(1, BASELINE_RISK + sum of effect.risk over the effects whose rule holds)
    intervention = 1 with probability true_risk

It resembles a real registry:
- Rules use the columns as recorded, so a model can reach the true risk. A missing value meets no
  rule, with one exception: a missing `gcs_total` counts as a low one (the child was intubated).
- One effect is an interaction: loss of consciousness and repeated vomiting matter only together.
- Some effects hold in one `age_group` only: children under two years, or children of two and over.
- Values are missing for a reason: infants cannot report a headache, a low blood pressure is almost
  always recorded, and site F measures the blood pressure of few children.
- `site`, `sex`, the time of arrival and the vital signs other than `systolic_bp` have no effect.

The generator is a chain of Column expressions over `spark.range`. Every value is drawn from a hash
of (seed, patient_id, name of the draw), so a row depends neither on the partitioning nor on the
number of rows. The same code runs on classic Spark and on Spark Connect, for 100 rows or 100
million. The expressions stay small for speed: Java does not compile methods of over 8,000 bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

Draw = Callable[[str], Column]


@dataclass(frozen=True)
class Effect:
    """A step of the true risk: `risk` is added if `rule`, in SQL, holds, and in this age group."""

    rule: str
    risk: float
    age_group: str | None = None

    @property
    def condition(self) -> str:
        if self.age_group is None:
            return self.rule
        return f"age_group = '{self.age_group}' AND ({self.rule})"


INFANT, CHILD = "under_2", "2_and_over"
BASELINE_RISK = 0.005
TRUTH = (
    Effect("gcs_total <= 13 OR gcs_total IS NULL", 0.15),
    Effect("gcs_total <= 8", 0.30),
    Effect("systolic_bp < 80", 0.12),
    Effect("loss_of_consciousness AND vomiting_count >= 2", 0.15),
    Effect("palpable_skull_fracture", 0.25, INFANT),
    Effect("scalp_haematoma IN ('parietal', 'temporal', 'occipital')", 0.08, INFANT),
    Effect("severe_headache", 0.06, CHILD),
    Effect("mechanism IN ('motor_vehicle', 'fall_from_height')", 0.03, CHILD),
)

FEATURES = (
    "age_years",
    "sex",
    "mechanism",
    "gcs_total",
    "loss_of_consciousness",
    "vomiting_count",
    "severe_headache",
    "scalp_haematoma",
    "palpable_skull_fracture",
    "systolic_bp",
    "heart_rate",
    "respiratory_rate",
    "oxygen_saturation",
    "weight_kg",
    "arrival_hour",
    "weekend_arrival",
)
LABEL = "intervention"

# How often each value occurs, as parts of the sum.
SITES = {"A": 30, "B": 22, "C": 18, "D": 14, "E": 10, "F": 6}
SEXES = {"female": 2, "male": 3}
MECHANISMS = {
    "fall_from_standing": 33,
    "fall_from_height": 13,
    "motor_vehicle": 9,
    "bicycle": 11,
    "sport": 16,
    "struck_by_object": 14,
    "assault": 4,
}
GLASGOW_COMA_SCALE = (
    dict.fromkeys(range(3, 9), 1) | dict.fromkeys(range(9, 14), 2) | {14: 15, 15: 269}
)
HAEMATOMAS = {"none": 70, "frontal": 17, "parietal": 5, "temporal": 4, "occipital": 4}


def trauma_registry(
    spark: SparkSession,
    rows: int = 20_000,
    seed: int = 0,
    partitions: int | None = None,
    *,
    with_risk: bool = False,
) -> DataFrame:
    """The registry: `patient_id`, `site`, `age_group`, the `FEATURES` and `intervention` (0 or 1).

    `with_risk` adds `true_risk`. Its AUC is the best that a model can reach.
    """
    draw = partial(_uniform, seed)
    patients = spark.range(0, rows, 1, partitions).withColumnRenamed("id", "patient_id")
    registry = (
        patients.withColumns(_arrival(draw))
        .withColumns(_findings(draw))
        .withColumns(_gaps(draw))
        .withColumn("true_risk", _true_risk())
        .withColumn(LABEL, (draw(LABEL) < F.col("true_risk")).cast("int"))
    )
    risk = ["true_risk"] if with_risk else []
    return registry.select("patient_id", "site", "age_group", *FEATURES, LABEL, *risk)


def _arrival(draw: Draw) -> dict[str, Column]:
    infant = draw("age_group") < 0.25
    age = F.when(infant, 2 * draw("age")).otherwise(2 + 16 * draw("age"))
    return {
        "site": _choice(draw("site"), SITES),
        "age_group": F.when(infant, INFANT).otherwise(CHILD),
        "age_years": F.floor(10 * age) / 10,
        "sex": _choice(draw("sex"), SEXES),
        "mechanism": _choice(draw("mechanism"), MECHANISMS),
        "gcs_total": _choice(draw("gcs_total"), GLASGOW_COMA_SCALE),
        "arrival_hour": F.floor(24 * draw("arrival_hour")).cast("int"),
        "weekend_arrival": draw("weekend_arrival") < 2 / 7,
    }


def _findings(draw: Draw) -> dict[str, Column]:
    age, drowsy = F.col("age_years"), F.col("gcs_total") <= 13
    faints = F.when(drowsy, 0.5).otherwise(0.15)
    vomits_again = F.when(drowsy, 0.5).otherwise(0.4)
    shock = F.when(draw("shock") < 0.02, 35.0).otherwise(0.0)
    return {
        "loss_of_consciousness": draw("loss_of_consciousness") < faints,
        "vomiting_count": F.floor(F.log(draw("vomiting_count")) / F.log(vomits_again)).cast("int"),
        "severe_headache": draw("severe_headache") < 0.08,
        "scalp_haematoma": _choice(draw("scalp_haematoma"), HAEMATOMAS),
        "palpable_skull_fracture": draw("palpable_skull_fracture") < 0.03,
        "systolic_bp": F.round(_bell(draw("systolic_bp"), 96 + 1.2 * age - shock, 9), 1),
        "heart_rate": F.round(_bell(draw("heart_rate"), 130 - 3 * age, 14)).cast("int"),
        "respiratory_rate": F.round(_bell(draw("respiratory_rate"), 34 - age, 3), 1),
        "oxygen_saturation": F.round(100 - 9 * F.pow(draw("oxygen_saturation"), F.lit(2.0)), 1),
        "weight_kg": F.round(_bell(draw("weight_kg"), 4 + 3.2 * age, 0.7 + 0.4 * age), 1),
    }


def _gaps(draw: Draw) -> dict[str, Column]:
    """The columns with missing values."""
    unmeasured = (
        F.when(F.col("systolic_bp") < 80, 0.02)
        .when(F.col("site") == "F", 0.60)
        .when(F.col("age_group") == INFANT, 0.25)
        .otherwise(0.08)
    )
    shares = {
        "mechanism": F.lit(0.02),
        "gcs_total": F.lit(0.02),
        "loss_of_consciousness": F.lit(0.08),
        "severe_headache": F.when(F.col("age_group") == INFANT, 1.0).otherwise(0.05),
        "systolic_bp": unmeasured,
        "respiratory_rate": F.lit(0.15),
        "weight_kg": F.lit(0.10),
    }
    return {
        name: F.when(draw(f"{name} missing") >= share, F.col(name))
        for name, share in shares.items()
    }


def _true_risk() -> Column:
    steps = (F.when(F.expr(e.condition), e.risk).otherwise(0.0) for e in TRUTH)
    return F.least(F.lit(1.0), F.round(sum(steps, start=F.lit(BASELINE_RISK)), 6))


def _uniform(seed: int, name: str) -> Column:
    """A number strictly between 0 and 1 for each patient, from 52 bits of a hash."""
    digest = blake2b(f"{seed} {name}".encode(), digest_size=8).digest()
    salt = F.lit(int.from_bytes(digest, "big", signed=True))
    bits = F.shiftrightunsigned(F.xxhash64(F.col("patient_id"), salt), 12)
    return (bits + 0.5) * 2.0**-52


def _choice(draw: Column, parts: Mapping[str, int] | Mapping[int, int]) -> Column:
    tickets = tuple(value for value, count in parts.items() for _ in range(count))
    return F.get(F.expr(f"array{tickets}"), F.floor(draw * len(tickets)).cast("int"))


def _bell(draw: Column, mean: Column, deviation: Column | float) -> Column:
    """A logistic distribution without its outermost 0.4%; its quantile function is a formula."""
    return mean + deviation * F.atanh(0.996 * (2 * draw - 1)) * (2 * math.sqrt(3) / math.pi)
