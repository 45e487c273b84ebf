"""Generated tables: a trauma registry whose true risk is known, and a raw extract of stays.

`encounters` has the columns and the mess of the UCI extract "Diabetes 130-US hospitals".

In `trauma_registry` each row is one child brought to hospital after an injury, and `intervention`
says whether the child needed an urgent intervention (about 4% did). Its risk is a sum of steps on
the probability scale, the family of functions that FIGS fits. `TRUTH` lists these steps:

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


def _uniform(seed: int, name: str, of: str = "patient_id") -> Column:
    """A number strictly between 0 and 1 for each patient, from 52 bits of a hash."""
    digest = blake2b(f"{seed} {name}".encode(), digest_size=8).digest()
    salt = F.lit(int.from_bytes(digest, "big", signed=True))
    bits = F.shiftrightunsigned(F.xxhash64(F.col(of), salt), 12)
    return (bits + 0.5) * 2.0**-52


def _choice(draw: Column, parts: Mapping[str, int] | Mapping[int, int]) -> Column:
    tickets = tuple(value for value, count in parts.items() for _ in range(count))
    return F.get(F.expr(f"array{tickets}"), F.floor(draw * len(tickets)).cast("int"))


def _bell(draw: Column, mean: Column, deviation: Column | float) -> Column:
    """A logistic distribution without its outermost 0.4%; its quantile function is a formula."""
    return mean + deviation * F.atanh(0.996 * (2 * draw - 1)) * (2 * math.sqrt(3) / math.pi)


# A raw extract of hospital stays

# How often each value occurs, as parts of the sum. A text '?' is a missing value.
RACES = {"Caucasian": 75, "AfricanAmerican": 19, "?": 2, "Hispanic": 2, "Other": 1, "Asian": 1}
AGES = {f"[{10 * k}-{10 * k + 10})": n for k, n in enumerate((1, 1, 2, 4, 10, 17, 22, 26, 17, 3))}
WEIGHTS = {"?": 97, "[75-100)": 2, "[50-75)": 1}
ADMISSION_TYPES = {1: 53, 2: 18, 3: 19, 5: 5, 6: 5}
DISCHARGES = {1: 59, 3: 14, 6: 13, 18: 4, 2: 2, 22: 2, 11: 2, 5: 1, 25: 1, 4: 1, 7: 1}
PAYERS = {"?": 40, "MC": 32, "HM": 6, "SP": 5, "BC": 5, "MD": 4, "CP": 3, "UN": 3, "CM": 2}
SPECIALTIES = {
    "?": 49, "InternalMedicine": 14, "Emergency/Trauma": 8, "Family/GeneralPractice": 7,
    "Cardiology": 5, "Surgery-General": 3, "Nephrology": 2, "Orthopedics": 2, "Radiology": 1,
}  # fmt: skip
COMMON = {
    "428": 10,
    "414": 7,
    "786": 6,
    "410": 5,
    "486": 5,
    "427": 5,
    "276": 5,
    "584": 4,
    "250.6": 3,
}
COMMON |= {"250.8": 3, "682": 3, "434": 3, "V57": 3, "780": 3, "996": 3, "820": 2, "E885": 1}
GLUCOSE = {"None": 95, "Norm": 2, ">200": 2, ">300": 1}
A1C = {"None": 83, ">8": 8, "Norm": 5, ">7": 4}
DOSES = {"No": 47, "Steady": 30, "Down": 12, "Up": 11}
SELDOM = {"No": 80, "Steady": 18, "Down": 1, "Up": 1}
MEDICINES = {"metformin": SELDOM, "glipizide": SELDOM, "insulin": DOSES, "examide": {"No": 2}}
DIED = 11  # the disposition of patients who died in hospital


def encounters(
    spark: SparkSession, rows: int = 20_000, seed: int = 0, partitions: int | None = None
) -> DataFrame:
    """Hospital stays as a hospital's system writes them, with the columns of the UCI extract.

    Nothing is prepared: '?' for missing, bands of age as text, ICD-9 codes by the hundred, numbers
    that are codes, several stays of a patient, medicines nobody gets, patients who died and so are
    never readmitted. `readmitted` is '<30', '>30' or 'NO'. Early readmission (about 9%) depends on
    former stays, the main diagnosis, where the patient goes, and a little on insulin and age.
    """
    draw = partial(_uniform, seed, of="stay")
    by_patient = partial(_uniform, seed, of="person")
    stays = spark.range(0, rows, 1, partitions).withColumnRenamed("id", "stay")
    table = (
        stays.withColumn("person", F.floor(F.col("stay") * 0.7))
        .withColumns(_person(by_patient))
        .withColumns(_stay(draw, by_patient))
        .withColumns(_treatment(draw))
        .withColumn("readmitted", _readmitted(draw))
    )
    return table.drop("stay", "person")


def _person(draw: Draw) -> dict[str, Column]:
    return {
        "encounter_id": 12_522 + 4_361 * F.col("stay"),
        "patient_nbr": 135 + 2_647 * F.col("person"),
        "race": _choice(draw("race"), RACES),
        "gender": _choice(draw("gender"), {"Female": 54, "Male": 46}),
        "age": _choice(draw("age"), AGES),
        "weight": _choice(draw("weight"), WEIGHTS),
    }


def _stay(draw: Draw, of_patient: Draw) -> dict[str, Column]:
    former = F.floor(F.log(of_patient("former stays")) / math.log(0.36)).cast("int")
    return {
        "admission_type_id": _choice(draw("admission type"), ADMISSION_TYPES),
        "discharge_disposition_id": _choice(draw("discharge"), DISCHARGES),
        "admission_source_id": _choice(draw("source"), {7: 56, 1: 29, 17: 7, 4: 3, 6: 2, 2: 1}),
        "time_in_hospital": F.least(F.lit(14), 1 + _falling(draw("days"), 0.75)),
        "payer_code": _choice(draw("payer"), PAYERS),
        "medical_specialty": _choice(draw("specialty"), SPECIALTIES),
        "num_lab_procedures": F.greatest(
            F.lit(1), F.round(_bell(draw("laboratory"), F.lit(43.0), 19.0)).cast("int")
        ),
        "num_procedures": F.least(F.lit(6), _falling(draw("procedures"), 0.55)),
        "num_medications": F.greatest(
            F.lit(1), F.round(_bell(draw("medications"), F.lit(16.0), 8.0)).cast("int")
        ),
        "number_outpatient": _falling(draw("outpatient"), 0.2),
        "number_emergency": _falling(draw("emergency"), 0.15),
        "number_inpatient": F.least(F.lit(15), former),
        **{f"diag_{k}": _diagnosis(draw, f"diagnosis {k}") for k in (1, 2, 3)},
        "number_diagnoses": F.least(F.lit(9), 3 + _falling(draw("diagnoses"), 0.85)),
    }


def _falling(draw: Column, share: float) -> Column:
    """A whole number from 0 up; each next one is rarer by this factor."""
    return F.floor(F.log(draw) / math.log(share)).cast("int")


def _diagnosis(draw: Draw, name: str) -> Column:
    """An ICD-9 code: a common one, a rare one, or missing."""
    rare = F.format_string("%d", F.floor(1 + 998 * draw(f"{name} rare")).cast("int"))
    kind = draw(f"{name} kind")
    return F.when(kind < 0.01, "?").when(kind < 0.3, rare).otherwise(_choice(draw(name), COMMON))


def _treatment(draw: Draw) -> dict[str, Column]:
    medicines = {name: _choice(draw(name), doses) for name, doses in MEDICINES.items()}
    return {
        "max_glu_serum": _choice(draw("glucose"), GLUCOSE),
        "A1Cresult": _choice(draw("a1c"), A1C),
        **medicines,
        "change": _choice(draw("change"), {"No": 54, "Ch": 46}),
        "diabetesMed": _choice(draw("diabetes medicine"), {"Yes": 77, "No": 23}),
    }


def _readmitted(draw: Draw) -> Column:
    """Early with a risk that is a sum of steps; never if the patient died."""
    steps = {
        "number_inpatient >= 1": 0.04,
        "number_inpatient >= 3": 0.12,
        "diag_1 IN ('428', '584', '434')": 0.06,
        "discharge_disposition_id IN (3, 5, 22)": 0.07,
        "insulin IN ('Down', 'Up')": 0.02,
        "age IN ('[70-80)', '[80-90)')": 0.015,
    }
    parts = (F.when(F.expr(rule), risk).otherwise(0.0) for rule, risk in steps.items())
    risk = sum(parts, start=F.lit(0.04))
    later = F.when(draw("later") < 0.39, ">30").otherwise("NO")
    early = F.when(draw("early") < risk, "<30").otherwise(later)
    return F.when(F.col("discharge_disposition_id") == DIED, "NO").otherwise(early)
