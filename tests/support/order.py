"""In which order the tests run, and which of them stay in one process."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling

TESTS = Path(__file__).parents[1]
# The files that take longest, longest first: what runs side by side then ends at the same time.
LONGEST = (
    "cluster/test_cluster.py",
    "spark/test_notebooks.py",
    "spark/test_gfigs.py",
    "parity/test_cdi_protocol.py",
    "spark/test_connect.py",
    "spark/test_train_job.py",
    "spark/test_jobs_as_written.py",
    "spark/test_gfigs_selection.py",
    "spark/test_partitioning.py",
    "spark/test_benchmark.py",
    "spark/test_bagging.py",
    "spark/test_clinical.py",
    "spark/test_gfigs_saving.py",
    "parity/test_imodels.py",
)
# They read one registry and one trained model, which are made once in a process.
JOBS = {f"tests/spark/test_{job}_job.py" for job in ("train", "score", "evaluate")} | {
    "tests/spark/test_report.py"
}


def rank(item: pytest.Item) -> int:
    """Long files first, unit tests last."""
    path = item.path.relative_to(TESTS).as_posix()
    if path in LONGEST:
        return LONGEST.index(path)
    return len(LONGEST) + path.startswith("unit/")


class ByFile(LoadFileScheduling):
    """A file goes to one process, and so do the files of the jobs together."""

    def _split_scope(self, nodeid: str) -> str:
        path = str(super()._split_scope(nodeid))
        return "the jobs" if path in JOBS else path
