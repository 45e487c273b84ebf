"""Add a model's predictions to a table, once or as a stream.

    spark-submit jobs/score.py --config conf/score.yaml
    spark-submit jobs/score.py --model build/train --input visits.parquet --output scored

`--help` lists the settings and the exit codes; see figs_spark/app/score.py.
"""

import sys

from figs_spark.app.cli import run

if __name__ == "__main__":
    sys.exit(run("score", sys.argv[1:], "score.py"))
