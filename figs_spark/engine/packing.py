"""From a DataFrame to bins and blocks, with as few scans of the source as possible.

Small tables are collected once and packed in the driver. Others are read twice: Spark samples rows
for the bins (by a hash of their content, so that the sample does not depend on how the rows are
partitioned), then Python workers encode all rows. While encoding they check the bins: a feature
that looked as if it had few distinct values is verified on every row, and a value that the sample
had missed gets a bin (`strangers`). Only if these are many, or the blocks stay on the executors,
the rows are encoded again. So no value is lost, however rare.
"""

from __future__ import annotations

import json
import logging
import math
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from figs_spark.dataframes import compat
from figs_spark.dataframes.arrow import to_table
from figs_spark.engine import blocks
from figs_spark.engine.bins import Bins, make_bins
from figs_spark.engine.blocks import Block
from figs_spark.engine.histograms import CODE_DTYPE, Floats
from figs_spark.engine.progress import PACK, QUIET, Progress
from figs_spark.engine.reading import Part, mapped, reading, tasks_to_read
from figs_spark.engine.row_numbers import numbered_blocks, numbered_frame
from figs_spark.engine.sampling import read_bins
from figs_spark.engine.storage import stored
from figs_spark.engine.strangers import Strangers, Values, few, with_new_bins
from figs_spark.engine.table import Table, Target

UNEVEN = 1.5  # times the rows of an even share, from which on blocks are dealt out again

log = logging.getLogger("figs_spark")


def pack_here(table: Table, max_bins: int, progress: Progress = QUIET) -> tuple[Bins, list[Block]]:
    """Collect a small table, if it is not here already, and pack it in the driver."""
    progress.phase(PACK)
    if table.here is not None:
        matrix, arrow = table.here.matrix, table.here.columns
    else:
        table, matrix, arrow = _collected(table)
    bins = make_bins(matrix, table.features, max_bins, cuts=table.allowed_cuts)
    packed = []
    for first in range(0, len(matrix), table.block_rows):
        stop = first + table.block_rows
        part = arrow.slice(first, table.block_rows)
        codes, strangers = bins.encode(matrix[first:stop])
        _check_categories(table, strangers)
        packed.append(_block(first, codes, part, table.target))
    return bins, numbered_blocks(packed) if table.numbered else packed


def _collected(table: Table) -> tuple[Table, Floats, pa.Table]:
    """The table with its texts encoded, the features, and the other columns."""
    with reading(table):
        arrow = compat.to_arrow(table.frame)
    matrix = to_table(arrow.column("x"), len(table.features))
    if table.texts is not None:
        features, matrix = table.texts.encode(arrow, matrix)
        table = replace(table, features=features)
    labels = arrow.column("y").to_numpy()
    _check_source(table, Reports({}, len(labels), float(labels.sum()), len(labels)))
    return table, matrix, arrow


def collect_packed(
    table: Table, max_bins: int, progress: Progress = QUIET
) -> tuple[Bins, list[Block]]:
    """Pack on the executors and collect the blocks."""
    bins, table = read_bins(table, max_bins)
    progress.phase(PACK)
    while True:
        with reading(table):
            tasks = tasks_to_read(table.frame.sparkSession)
            arrow = compat.to_arrow(_packed_frame(table, bins, tasks))
        reports = _reports(arrow)
        _check_categories(table, reports.unseen)
        widened = bins.widened(reports.unseen, table.features, max_bins)
        if reports.coded:
            _check_source(table, reports)
            packed = list(blocks.from_records(arrow.to_batches(), table.target))
            if reports.unseen:
                packed = with_new_bins(packed, bins, widened, reports.strangers)
            packed.sort(key=lambda block: block.first)
            return widened, numbered_blocks(packed) if table.numbered else packed
        bins = widened


@contextmanager
def packed_on_cluster(
    table: Table,
    max_bins: int,
    partitions: int,
    work_dir: str | None,
    progress: Progress = QUIET,
) -> Iterator[tuple[Bins, DataFrame]]:
    """Pack on the executors and keep the blocks there, in about as many partitions as cores."""
    bins, table = read_bins(table, max_bins)
    progress.phase(PACK)
    if table.numbered:
        table = table.with_frame(numbered_frame(table.frame))
    with ExitStack() as kept:
        while True:
            with reading(table):
                plan = _packed_frame(table, bins, partitions, spread=True)
                frame = kept.enter_context(stored(plan, work_dir))
                noted = compat.to_arrow(frame.select("report").where("report is not null"))
            reports = _reports(noted)
            if not reports.unseen:
                break
            kept.close()
            _check_categories(table, reports.unseen)
            bins = bins.widened(reports.unseen, table.features, max_bins)
        _check_source(table, reports)
        if _uneven(table, reports, partitions):
            frame = _evened(frame, partitions, work_dir, kept)
        yield bins, frame


def _uneven(table: Table, reports: Reports, partitions: int) -> bool:
    """Whether a partition has so many more rows than others that each pass would wait for it."""
    share = reports.rows / partitions
    several = reports.most_rows >= 2 * table.block_rows
    return table.partitions >= partitions and several and reports.most_rows > UNEVEN * share


def _evened(frame: DataFrame, partitions: int, work_dir: str | None, kept: ExitStack) -> DataFrame:
    """The same blocks, dealt out to all partitions; `kept` lets go of the old ones."""
    before = kept.pop_all()
    with before:
        blocks_only = frame.where("codes is not null").repartition(partitions)
        even = kept.enter_context(stored(blocks_only, work_dir))
        even.select("first").count()  # before the old ones go
    log.info("some partitions have many more rows than others: their blocks are dealt out evenly")
    return even


def _packed_frame(table: Table, bins: Bins, partitions: int, spread: bool = False) -> DataFrame:
    """The plan that packs: one record per block and one report per partition; in at most so many
    partitions or, to `spread` the blocks, in just so many."""
    fit = uuid.uuid4().hex  # keeps the cache of this fit apart from that of an equal one
    run = partial(_pack_parts, bins=bins, target=table.target, rows=table.block_rows, fit=fit)
    frame = mapped(table, partitions, run, blocks.SCHEMA)
    return frame.repartition(partitions) if spread and table.partitions < partitions else frame


@dataclass(frozen=True)
class Reports:
    """What the partitions noted while they packed."""

    unseen: dict[int, Floats]  # values without a bin, by feature
    rows: float
    label_sum: float
    most_rows: float  # of a partition
    strangers: Mapping[int, Values] = field(default_factory=dict)  # the same by partition
    coded: bool = True  # whether each has a code


def _reports(noted: pa.Table) -> Reports:
    unseen: dict[int, Floats] = {}
    strangers: dict[int, Values] = {}
    reports = [json.loads(text) for text in noted.column("report").drop_null().to_pylist()]
    for report in reports:
        own = {int(j): values for j, values in report["unseen"].items()}
        strangers[report["partition"]] = own
        for j, values in own.items():
            known = unseen.get(j, np.zeros(0))
            unseen[j] = few(np.union1d(known, np.array(values, dtype=np.float64)))
    rows, label_sum = (math.fsum(report[name] for report in reports) for name in ("rows", "sum"))
    most_rows = max((report["rows"] for report in reports), default=0.0)
    coded = all(report["coded"] for report in reports)
    return Reports(unseen, rows, label_sum, most_rows, strangers, coded)


def _check_categories(table: Table, unseen: dict[int, Floats]) -> None:
    """Categories were counted before; one that is new was not there then."""
    for j, values in unseen.items():
        if table.features[j].categories is not None:
            raise _changed(
                f"column '{table.features[j].name}' has {len(values)} more categories than counted"
            )


def _changed(problem: str) -> ValueError:
    return ValueError(
        f"The DataFrame gives other rows when it is read again: {problem}. Write it to a table "
        f"before the fit, and keep random functions such as rand() out of its plan."
    )


def _check_source(table: Table, reports: Reports) -> None:
    """The rows that were packed must be those that were checked."""
    rows, label_sum = table.rows, table.label_sum
    problem = ""
    if round(reports.rows) != rows:
        problem = f"{rows:,} rows were checked and {reports.rows:,.0f} were packed"
    elif label_sum is not None and not math.isclose(
        reports.label_sum, label_sum, rel_tol=1e-6, abs_tol=1e-6 * max(1.0, abs(label_sum))
    ):
        problem = f"the labels added up to {label_sum:g} and now to {reports.label_sum:g}"
    if problem:
        raise _changed(problem)


def _pack_parts(
    parts: Iterator[Part], bins: Bins, target: Target, rows: int, fit: str
) -> Iterator[pa.RecordBatch]:
    """One record for each block of so many rows, and a report."""
    partition = compat.partition_number()
    number = first = partition << blocks.PARTITION_BITS
    strangers = Strangers(bins)
    packed = label_sum = 0.0
    for part in parts:
        codes = _encoded(part, bins, strangers)
        for start in range(0, len(codes), rows):
            own = part.columns.slice(start, rows)
            block = _block(number, codes[start : start + rows], own, target)
            yield blocks.to_record(block)
            times = np.ones(len(block)) if block.count is None else block.count
            packed += float(times.sum())
            label_sum += float((times * own.column("y").to_numpy(zero_copy_only=False)).sum())
            number += len(block)
    if number > first:
        report = {
            "partition": partition,
            "unseen": strangers.values,
            "coded": strangers.coded,
            "rows": packed,
            "sum": label_sum,
        }
        yield blocks.report_record(json.dumps(report))


def _encoded(part: Part, bins: Bins, strangers: Strangers) -> NDArray[np.uint8]:
    codes = np.empty((len(part), len(bins.features)), CODE_DTYPE)
    for first, table in part.slabs():
        own = slice(first, first + table.shape[1])
        codes[:, own], unseen = bins.some(own).encode(table)
        strangers.take(codes[:, own], table, unseen, first)
    return codes


def _block(
    first: int, codes: NDArray[np.uint8], columns: pa.RecordBatch | pa.Table, target: Target
) -> Block:
    def numbers(name: str, dtype: Any) -> Any:
        if name not in columns.schema.names:
            return None
        column = columns.column(name)
        if pa.types.is_list(column.type):
            return to_table(column, len(column[0]))
        return column.to_numpy(zero_copy_only=False).astype(dtype, copy=False)

    return Block(
        first=first,
        codes=codes,
        target=target.store(numbers("y", np.float64)),
        weight=numbers("w", np.float64),
        held=numbers("held", np.uint8),
        count=numbers("n", np.float64),
        ids=numbers("id", np.int64),
    )
