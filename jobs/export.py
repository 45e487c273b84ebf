"""Write a model as SQL, PMML, ONNX or Python, run on test vectors first.

    spark-submit jobs/export.py --config conf/export.yaml
    spark-submit jobs/export.py --model build/train --format python --output model.py

`--help` lists the settings and the exit codes; see figs_spark/app/export.py.
"""

import sys

from figs_spark.app.cli import run

if __name__ == "__main__":
    sys.exit(run("export", sys.argv[1:], "export.py"))
