"""Measure how good scores are, overall and by group of patients, as tables and pictures.

    spark-submit jobs/evaluate.py --config conf/evaluate.yaml
    spark-submit jobs/evaluate.py --model build/train --input visits.parquet --output report

`--help` lists the settings and the exit codes; see figs_spark/app/evaluate.py.
"""

import sys

from figs_spark.app.cli import run

if __name__ == "__main__":
    sys.exit(run("evaluate", sys.argv[1:], "evaluate.py"))
