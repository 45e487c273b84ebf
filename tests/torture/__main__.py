"""What is tried to break figs_spark, and the table of the last run.

    python -m tests.torture                  # all steps, then the table
    python -m tests.torture executors table  # some of them
    python -m tests.torture table --write    # puts the table of the last run into docs/trust.md

Each step writes its figures into build/torture. The exit code is 1 if anything failed.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import pyspark

from tests.support.standalone import standalone
from tests.torture.faults import FAULTS, Trial
from tests.torture.session import cluster_session
from tests.torture.workload import write_rows

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "build" / "torture"
PAGE = ROOT / "docs" / "trust.md"
MARKS = "<!-- the table of make torture -->", "<!-- end of the table -->"
SEED = int(os.environ.get("TORTURE_SEED", "1"))
MUTATIONS = 100_000
FEATURES, SPLITS, MOST_BYTES = 5_000, 40, 1 << 30
INPUTS = (  # tests that give the stages and jobs what they must refuse or survive
    *(f"tests/spark/test_{name}.py" for name in ("bad_input", "refused_columns", "gfigs_input")),
    *(f"tests/spark/test_{name}.py" for name in ("silent_damage", "unusual_data", "types")),
    *(f"tests/unit/test_{name}.py" for name in ("bad_yaml", "not_fitted", "visible")),
)


def faults(names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The figures of each kind of fault, all on one standalone cluster."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        with standalone(folder / "cluster") as cluster, cluster_session(cluster.url) as spark:
            data = spark.read.parquet(write_rows(spark, folder))
            trial = Trial(cluster, spark, data, folder, Random(SEED))
            for name in names:
                started = time.perf_counter()
                KINDS[name](trial)
                yield name, trial.figures() | {"seconds": time.perf_counter() - started}


def inputs() -> dict[str, Any]:
    """Bad and unusual input, by the tests of the suite."""
    return _tested(["--dist", "loadfile", *INPUTS])


def mutations() -> dict[str, Any]:
    """Damage to saved models."""
    figures = _tested(["tests/unit/test_damaged_models.py", "-rP"], FUZZ_MUTATIONS=str(MUTATIONS))
    printed = re.findall(r"^document \d+: (\{.*\})$", figures["output"], re.MULTILINE)
    ends = [json.loads(text.replace("'", '"')) for text in printed]
    sums = {end: sum(each.get(end, 0) for each in ends) for end in ("refused", "same", "other")}
    return figures | {"ends": sums, "tried": sum(sums.values())}


def memory() -> dict[str, Any]:
    """The memory of the driver with many features."""
    from tests.support.driver_memory import measured

    figures = measured(FEATURES, SPLITS, 0)
    failures = []
    if figures["growth"] > MOST_BYTES or figures["splits"] != SPLITS:
        failures = [f"the memory of the driver: {figures}"]
    return figures | {"tried": 1, "failures": failures}


def _tested(arguments: list[str], **environment: str) -> dict[str, Any]:
    """Run tests; how many there were, which of them failed, and what they printed."""
    report, started = FIGURES / "tests.xml", time.perf_counter()
    command = [sys.executable, "-m", "pytest", "-n", "2", "-q"]
    run = subprocess.run(
        [*command, f"--junitxml={report}", *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    failed = [c for c in cases if c.find("failure") is not None or c.find("error") is not None]
    failures = [f"{case.get('classname')}.{case.get('name')}" for case in failed]
    if run.returncode and not failures:
        failures = [f"pytest ended with {run.returncode}: {run.stdout[-2_000:]}"]
    return {
        "tried": sum(case.find("skipped") is None for case in cases),
        "failures": failures,
        "seconds": time.perf_counter() - started,
        "output": run.stdout,
    }


KINDS = {kind.__name__: kind for kind in FAULTS}
OTHERS: dict[str, Callable[[], dict[str, Any]]] = {
    "inputs": inputs,
    "mutations": mutations,
    "memory": memory,
}


def figures_of(steps: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The figures of each step as soon as it is done."""
    if kinds := [name for name in steps if name in KINDS]:
        yield from faults(kinds)
    for name in steps:
        if name not in KINDS:
            yield name, OTHERS[name]()


def table() -> str:
    """The figures of the last run, as Markdown."""
    figures = {
        step: json.loads((FIGURES / f"{step}.json").read_text("utf-8"))
        for step in (*KINDS, *OTHERS)
    }
    lines = ["| what was tried | how often | how it ended |", "|---|---|---|"]
    of_faults = [figures[kind.__name__] for kind in FAULTS]
    kinds: dict[str, dict[str, int]] = {}
    for fault, end, count in [line for each in of_faults for line in each["ends"]]:
        kinds.setdefault(fault, {})[end] = count
    for fault, ends in kinds.items():
        shown = ", ".join(f"{count} {end}" for end, count in ends.items())
        lines.append(f"| {fault} | {sum(ends.values())} | {shown} |")
    tried = sum(each["tried"] for each in of_faults)
    lines.append(f"| **faults tried** | **{tried}** | {_ended(*of_faults)} |")
    inputs = figures["inputs"]
    lines.append(f"| **inputs tried** | **{inputs['tried']}** | {_ended(inputs)} |")
    ends = figures["mutations"]["ends"]
    shown = f"{ends['refused']:,} refused by name, {ends['same']:,} predict the same, "
    shown += f"{ends['other']:,} without a fingerprint are another model that works"
    shown += f"; {_ended(figures['mutations'])}"
    lines.append(f"| **mutations tried** | **{figures['mutations']['tried']:,}** | {shown} |")
    grown = figures["memory"]["growth"] >> 20
    shown = f"the driver grows by {grown:,} MB in {figures['memory']['seconds']:.0f} s"
    lines.append(f"| {FEATURES:,} features, {SPLITS} splits | 1 | {shown} |")
    system = f"PySpark {pyspark.__version__}, Python {platform.python_version()}"
    cores = f"{os.cpu_count()} cores"
    return "\n".join([*lines, "", f"Last run: {date.today()}, {system}, {cores}, seed {SEED}."])


def _ended(*figures: Any) -> str:
    failures = [failure for each in figures for failure in each["failures"]]
    return f"{len(failures)} FAILED" if failures else "none failed"


def main(arguments: list[str]) -> int:
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    logging.getLogger("figs_spark.torture").setLevel(logging.INFO)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the cluster ends, too
    FIGURES.mkdir(parents=True, exist_ok=True)
    steps = [name for name in arguments if name != "--write"] or [*KINDS, *OTHERS, "table"]
    failures = []
    for step, figures in figures_of([step for step in steps if step != "table"]):
        failures += figures["failures"]
        (FIGURES / f"{step}.json").write_text(json.dumps(figures, indent=1), "utf-8")
    if "table" in steps:
        print(table())
    if "--write" in arguments:
        text = PAGE.read_text("utf-8")
        head, rest = text.split(MARKS[0])
        PAGE.write_text(f"{head}{MARKS[0]}\n\n{table()}\n\n{MARKS[1]}{rest.split(MARKS[1])[1]}")
    print("\n".join(failures), file=sys.stderr)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
