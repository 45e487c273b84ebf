"""Plans of Spark, as text, that do nothing but choose columns of Parquet files."""

from __future__ import annotations

import pytest

from figs_spark.dataframes.parquet_files import is_plain

RELATION = "+- Relation [few#1,many#2,risk#3] parquet, Statistics(sizeInBytes=1.0 B)"
PLANS = {
    "all columns": (RELATION, ["few", "many", "risk"], True),
    "some": (f"Project [risk#3, few#1], Statistics(...)\n{RELATION}", ["risk", "few"], True),
    "others": (f"Project [risk#3, few#1], Statistics(...)\n{RELATION}", ["few", "risk"], False),
    "renamed": (f"Project [many#2 AS few#9]\n{RELATION}", ["few"], False),
    "not of the files": (f"Project [few#9]\n{RELATION}", ["few"], False),
    "filtered": (f"Filter (few#1 > 0.0)\n{RELATION}", ["few", "many", "risk"], False),
    "some of filtered": (f"Project [few#1]\n+- Filter (few#1 > 0.0)\n{RELATION}", ["few"], False),
    "twice": (f"Union false, false\n:{RELATION}\n{RELATION}", ["few", "many", "risk"], False),
    "drawn": (f"Sample 0.0, 0.5, false, 1\n{RELATION}", ["few", "many", "risk"], False),
    "of another format": (RELATION.replace("parquet", "orc"), ["few", "many", "risk"], False),
    "nothing": ("", [], False),
}


@pytest.mark.parametrize("case", PLANS)
def test_plans_that_only_choose_columns(case: str) -> None:
    """Whatever the number of rows says."""
    plan, names, expected = PLANS[case]
    assert is_plain(f"== Optimized Logical Plan ==\n{plan}\n\n", names) is expected
