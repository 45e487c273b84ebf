"""Clinical decision instruments by CART, FIGS and G-FIGS: pooled, separate and by membership.

    spark-submit jobs/cdi_experiment.py --output build/cdi
    spark-submit jobs/cdi_experiment.py --data folder --output build/cdi

`folder` has the cleaned PECARN tables that the authors of G-FIGS publish: `csi_pred.csv` with
`csi_prop.csv` and so on, with the outcome in the last column. They are available under PECARN's
terms. Without a folder the generated trauma registry is used. For every seed the rows are divided
60/20/20. Sizes and membership models are chosen on the validation rows, by specificity at high
sensitivity. The chosen models are fitted again on training and validation rows, and evaluated on
the test rows.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # spark-submit has only jobs there

from jobs.cdi import protocol, studies
from jobs.cdi.report import markdown, plot
from jobs.reports import add_output, check_output


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cdi_experiment.py", description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="folder with *_pred.csv and *_prop.csv; default: generated")
    parser.add_argument(
        "--rows", type=int, default=12_000, help="number of generated rows (%(default)s)"
    )
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=range(10), help="one run for each (0 to 9)"
    )
    parser.add_argument(
        "--boosted",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="also try boosted trees for membership, which takes most of the time",
    )
    add_output(parser, "build/cdi")
    return parser


def experiment(spark: SparkSession, options: argparse.Namespace) -> Iterator[pd.DataFrame]:
    """After every seed, all results so far: one row per study, seed, model and group."""
    if options.data:
        chosen = studies.published(Path(options.data))
    else:
        chosen = [studies.registry(spark, options.rows)]
    records = []
    for study in chosen:
        for seed in options.seeds:
            records += protocol.run_seed(spark, study, seed, options.boosted)
            yield pd.DataFrame(records)


def write(results: pd.DataFrame, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    results.to_csv(folder / "cdi.csv", index=False)
    (folder / "cdi.md").write_text(markdown(results))
    plot(results, folder / "cdi.png")


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    check_output(options, "cdi.csv")
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    protocol.log.setLevel(logging.INFO)
    spark = SparkSession.builder.appName("figs_spark cdi_experiment").getOrCreate()
    try:
        for results in experiment(spark, options):
            write(results, options.output)  # so that an interrupted run keeps its results
    finally:
        spark.stop()
    print(markdown(results))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
