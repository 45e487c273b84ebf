"""Time figs_spark next to what one would use instead, and next to what no program can beat.

    spark-submit --driver-memory 4g jobs/benchmark.py --preset standard
    python jobs/benchmark.py --preset smoke

Generated tables are kept in `--output` and found again by the next run. The report goes to
`--output` as JSON, as Markdown and, for growth, as a picture.

Exit codes: 0 done, 1 a contender failed, 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # spark-submit puts the folder of this file there, not the checkout

from jobs.bench.cases import measure_case
...
