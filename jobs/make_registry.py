"""Generate a trauma registry whose true risk is known, at any number of rows.

    spark-submit jobs/make_registry.py --config conf/make_registry.yaml
    spark-submit jobs/make_registry.py --rows 10000000 --output registry

`--help` lists the settings and the exit codes; see figs_spark/app/make_registry.py.
"""

import sys

from figs_spark.app.cli import run

if __name__ == "__main__":
    sys.exit(run("make-registry", sys.argv[1:], "make_registry.py"))
