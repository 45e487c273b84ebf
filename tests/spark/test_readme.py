from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.readme import code_blocks


@pytest.mark.usefixtures("compiled")
def test_the_code_in_the_readme_runs(spark: SparkSession) -> None:
    blocks = code_blocks()
    assert len(blocks) >= 2
    names: dict[str, Any] = {"spark": spark}
    for block in blocks:
        exec(block, names)
    assert names["auc"] > 0.7
    assert "probability" in names["scored"].columns
