"""Fit a model to a table, print it, evaluate it on held-out rows, save it.

    spark-submit jobs/train.py --config conf/train.yaml
    spark-submit jobs/train.py --input visits.parquet --label died --output model

`--help` lists the settings and the exit codes; see figs_spark/app/train.py.
"""

import sys

from figs_spark.app.cli import run

if __name__ == "__main__":
    sys.exit(run("train", sys.argv[1:], "train.py"))
