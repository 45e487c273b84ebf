"""Write a model as one page with calculator, evaluation and checklist.

    spark-submit jobs/report.py --config conf/report.yaml
    spark-submit jobs/report.py --model build/train --output report.html

`--help` lists the settings and the exit codes; see figs_spark/app/report.py.
"""

import sys

from figs_spark.app.cli import run

if __name__ == "__main__":
    sys.exit(run("report", sys.argv[1:], "report.py"))
