"""What the tests of the jobs share: a registry on disk, and a job as its user calls it."""

from __future__ import annotations

from pathlib import Path

from figs_spark.app.cli import run

ROOT = Path(__file__).parents[2]


def call(job: str, *arguments: object) -> int:
    """A job on the shared session; its exit code."""
    return run(job, [str(argument) for argument in arguments], f"{job}.py")


def files(folder: Path) -> set[str]:
    """The names of what a job put into a folder, without Spark's own files."""
    return {path.name for path in folder.iterdir() if path.name[0] not in "._"}
