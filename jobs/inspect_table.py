"""Look at a table before a model is fitted: its columns, what training would do with them.

    spark-submit jobs/inspect_table.py --config conf/inspect.yaml
    spark-submit jobs/inspect_table.py --input visits.csv --label died --output look

`--help` lists the settings and the exit codes; see figs_spark/app/inspect.py. (A file called
inspect.py beside the other jobs would hide the module of that name from Python.)
"""

import sys

from figs_spark.app.cli import run

if __name__ == "__main__":
    sys.exit(run("inspect", sys.argv[1:], "inspect_table.py"))
