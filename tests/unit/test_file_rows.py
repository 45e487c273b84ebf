"""Rows of Parquet files as the engine takes them, without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from figs_spark.dataframes import row_groups
from figs_spark.dataframes.row_groups import Piece, RowGroup, pieces
from figs_spark.engine import file_rows, packing
from figs_spark.engine.bins import make_bins
from figs_spark.engine.content_hashes import content_hashes
from figs_spark.engine.file_rows import FilePart, FileRows, PieceColumns
from figs_spark.engine.kernels import jit
from figs_spark.engine.row_weights import TRAINS_EVERYWHERE, factors_of
from figs_spark.engine.strangers import Strangers
from figs_spark.treesum import Feature

ROWS, WIDTH = 100, 7
NAMES = tuple(f"x{j}" for j in range(WIDTH))
SCALAR = FileRows((), NAMES, False, WIDTH, "y", "w", "held")
ARRAY = replace(SCALAR, features=("x",), in_array=True)


@pytest.fixture(scope="module")
def numbers() -> np.ndarray:
    random = np.random.default_rng(3)
    return np.where(random.random((ROWS, WIDTH)) < 0.1, np.nan, random.normal(size=(ROWS, WIDTH)))


@pytest.fixture(scope="module")
def table(numbers: np.ndarray) -> pa.Table:
    """Null in odd columns and NaN in even ones."""
    missing = np.isnan(numbers) & (np.arange(WIDTH) % 2 == 1)
    ends = np.arange(0, ROWS * WIDTH + 1, WIDTH, dtype=np.int32)
    lists = pa.ListArray.from_arrays(ends, pa.array(numbers.ravel(), mask=missing.ravel()))
    place = np.arange(ROWS)
    columns = {name: pa.array(numbers[:, j], mask=missing[:, j]) for j, name in enumerate(NAMES)}
    others = {"y": place % 2, "w": place % 3 * 0.5, "held": place % 5 == 0}
    return pa.table({**columns, "x": lists, **others})


@pytest.fixture(scope="module")
def groups(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> list[RowGroup]:
    """Of 5 to 40 rows, in three files."""
    folder, every = tmp_path_factory.mktemp("files"), []
    for k, (start, stop, size) in enumerate([(0, 40, 40), (40, 45, 5), (45, 100, 20)]):
        path = str(folder / f"{k}.parquet")
        pq.write_table(table.slice(start, stop - start), path, row_group_size=size)
        rows = [min(size, stop - at) for at in range(start, stop, size)]
        every += [RowGroup(path, number, count) for number, count in enumerate(rows)]
    return every


def matrix(part: FilePart) -> np.ndarray:
    slabs = list(part.slabs())
    assert [first for first, _ in slabs] == np.cumsum(
        [0, *(slab.shape[1] for _, slab in slabs)]
    ).tolist()[:-1]
    return np.hstack([slab for _, slab in slabs])


def parts(
    groups: Sequence[RowGroup], rows: FileRows, most: int | None = None
) -> Iterator[FilePart]:
    """Each is good until the next one is asked for."""
    return (FilePart(PieceColumns(piece, rows)) for piece in pieces(groups, rows.names, 30, most))


def test_small_groups_come_together(groups: list[RowGroup]) -> None:
    assert [group.rows for group in groups] == [40, 5, 20, 20, 15]
    assert [piece.rows for piece in pieces(groups, ["y"], 30)] == [40, 25, 20, 15]
    assert [piece.rows for piece in pieces(groups, ["y"], 1)] == [40, 5, 20, 20, 15]
    assert [piece.rows for piece in pieces(groups, ["y"], 30, 16)] == [
        16,
        16,
        8,
        5,
        16,
        4,
        16,
        4,
        15,
    ]


@pytest.mark.parametrize("rows", [SCALAR, ARRAY], ids=["scalar", "array"])
@pytest.mark.parametrize("slab", [1, 100, 1 << 20])
@pytest.mark.parametrize("most", [None, 16])
def test_all_rows_in_order(
    groups: list[RowGroup],
    numbers: np.ndarray,
    monkeypatch: pytest.MonkeyPatch,
    rows: FileRows,
    slab: int,
    most: int | None,
) -> None:
    monkeypatch.setattr(file_rows, "SLAB_VALUES", slab)
    read = [(matrix(part), part.columns, len(part)) for part in parts(groups, rows, most)]
    features, others, lengths = zip(*read, strict=True)
    np.testing.assert_array_equal(np.vstack(features), numbers)
    columns, place = pa.Table.from_batches(others), np.arange(ROWS)
    np.testing.assert_array_equal(columns["y"], place % 2)
    np.testing.assert_array_equal(columns["w"], place % 3 * 0.5)
    np.testing.assert_array_equal(columns["held"], np.where(place % 5, TRAINS_EVERYWHERE, 0))
    assert list(lengths) == [own.num_rows for own in others]


@pytest.mark.parametrize("rows", [SCALAR, ARRAY], ids=["scalar", "array"])
def test_some_rows(groups: list[RowGroup], numbers: np.ndarray, rows: FileRows) -> None:
    """Those that weigh something, and of these every other one."""
    weighs = np.arange(ROWS) % 3 > 0
    read = []
    for part in parts(groups, replace(rows, factors=(1.0, 4.0))):
        kept = part.kept()
        read.append((matrix(kept), kept.columns))
        half = kept.where(np.arange(len(kept)) % 2 == 0)
        np.testing.assert_array_equal(matrix(half), matrix(kept)[::2])
    np.testing.assert_array_equal(np.vstack([own for own, _ in read]), numbers[weighs])
    columns = pa.Table.from_batches([own for _, own in read])
    place = np.flatnonzero(weighs)
    np.testing.assert_array_equal(columns["w"], place % 3 * 0.5 * np.where(place % 2, 4.0, 1.0))


@pytest.mark.parametrize("rows", [SCALAR, ARRAY], ids=["scalar", "array"])
@pytest.mark.parametrize("most", [None, 16])
def test_hashes_are_those_of_spark(
    groups: list[RowGroup], numbers: np.ndarray, rows: FileRows, most: int | None
) -> None:
    """Null leaves a hash as it is, NaN does not: as `content_hashes`, which Spark's are compared
    with elsewhere."""
    some = [0, 3, 5]
    nulls = np.isnan(numbers[:, some]) & (np.array(some) % 2 == 1)
    cells = np.hstack([np.arange(ROWS)[:, None] % 2.0, numbers[:, some]])
    expected = content_hashes(cells, np.insert(nulls, 0, False, axis=1), np.zeros((ROWS, 0)))
    read = np.concatenate([part.hashes(some) for part in parts(groups, rows, most)])
    np.testing.assert_array_equal(read.view(np.int64), expected)
    kept = np.concatenate([part.kept().hashes(some) for part in parts(groups, rows, most)])
    np.testing.assert_array_equal(kept.view(np.int64), expected[np.arange(ROWS) % 3 > 0])


def test_rows_too_many_to_be_packed_at_once() -> None:
    """A code for each feature; label, weight, held out, a slab, and the column it comes from."""
    most = file_rows.PIECE_BYTES // (WIDTH + 8 * 5)
    group = RowGroup("a", 0, most)
    assert not replace(SCALAR, groups=(group,)).too_large
    assert replace(SCALAR, groups=(group, group._replace(rows=most + 1))).too_large
    assert not replace(ARRAY, groups=(group._replace(rows=most + 1),)).too_large


def test_a_column_may_serve_twice() -> None:
    rows = replace(SCALAR, weight="y")
    assert rows.others == ["y", "held"]
    assert rows.names == [*NAMES, "y", "held"]


class Rounded:
    """A part of files, its numbers rounded."""

    def __init__(self, part: FilePart):
        self.part, self.columns = part, part.columns

    def __len__(self) -> int:
        return len(self.part)

    def slabs(self) -> Iterator[tuple[int, np.ndarray]]:
        for first, slab in self.part.slabs():
            yield first, np.round(slab, 1)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
@pytest.mark.parametrize("slab", [1, 100, 1 << 20])
def test_slabs_become_codes_in_their_place(
    groups: list[RowGroup],
    numbers: np.ndarray,
    monkeypatch: pytest.MonkeyPatch,
    compiled: bool,
    slab: int,
) -> None:
    """Values without a bin, too, of features in any slab."""
    monkeypatch.setattr(file_rows, "SLAB_VALUES", slab)
    monkeypatch.setattr(jit, "available", lambda: compiled)
    rounded = np.round(numbers, 1)
    features = [Feature(name) for name in NAMES]
    few = np.where(np.abs(rounded) < 0.55, rounded, np.nan)
    bins = make_bins(few, features, 64)
    strangers = Strangers(bins)
    every = [packing._encoded(Rounded(p), bins, strangers) for p in parts(groups, SCALAR)]
    assert set(strangers.values) == set(range(WIDTH))
    assert strangers.coded
    codes = np.vstack(every)
    for j, own in enumerate(bins.features):
        known = [*(own.values if own.values is not None else ()), np.nan, *strangers.values[j]]
        np.testing.assert_array_equal(np.array(known)[codes[:, j]], rounded[:, j])


@pytest.mark.parametrize("rows", [SCALAR, ARRAY], ids=["scalar", "array"])
def test_a_task_reads_its_share(
    groups: list[RowGroup], numbers: np.ndarray, monkeypatch: pytest.MonkeyPatch, rows: FileRows
) -> None:
    """Arrays in slices of few rows; some tasks have several groups."""
    monkeypatch.setattr(file_rows, "ARRAY_VALUES", 8 * WIDTH)
    lengths: list[int] = []

    def work(some: Iterator[FilePart]) -> Iterator[pa.RecordBatch]:
        for part in some:
            lengths.append(len(part))
            yield pa.RecordBatch.from_pydict({"x": matrix(part).ravel()})

    divided = row_groups.shares(groups, 3)
    assert len(divided) == 3
    task = pa.RecordBatch.from_pydict({"id": [1, 2]})
    read = list(file_rows._run(iter([task]), rows, divided, 30, work))
    own = np.concatenate([batch.column("x").to_numpy() for batch in read]).reshape(-1, WIDTH)
    np.testing.assert_array_equal(own, numbers[sum(group.rows for group in divided[0]) :])
    assert max(lengths) <= (8 if rows.in_array else 40)


def test_factors_of_classes() -> None:
    """A class that is not known has no rows that weigh anything."""
    assert factors_of(np.array([0.0, 1.0, 2.0, 7.0]), (0.5, 4.0)).tolist() == [0.5, 4.0, 1.0, 1.0]


class Watched(pq.ParquetFile):
    """A file that is counted while it is open."""

    opened: ClassVar[list[str]] = []
    now: ClassVar[set[str]] = set()
    most = 0

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.name = Path(path).name
        Watched.opened.append(self.name)
        Watched.now.add(self.name)
        Watched.most = max(Watched.most, len(Watched.now))

    def close(self, force: bool = False) -> None:
        Watched.now.discard(self.name)
        super().close(force)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> type[Watched]:
    monkeypatch.setattr(pq, "ParquetFile", Watched)
    Watched.opened, Watched.now, Watched.most = [], set(), 0
    return Watched


def test_a_file_is_open_as_long_as_it_is_read(
    groups: list[RowGroup], watched: type[Watched]
) -> None:
    seen: list[Piece] = list(pieces(groups, ["y"], 30))
    assert len(seen) == 4
    assert watched.opened == ["0.parquet", "1.parquet", "2.parquet"]
    assert watched.most == 2
    assert not watched.now


def test_files_are_closed_when_nobody_reads_on(
    groups: list[RowGroup], watched: type[Watched]
) -> None:
    for piece in pieces(groups, ["y"], 30):
        assert piece.columns(["y"]).num_rows == 40
        assert watched.now
        break
    assert not watched.now


def test_few_files_are_open_at_once(tmp_path: Path, watched: type[Watched]) -> None:
    count = 3 * row_groups.OPEN_FILES
    for k in range(count):
        pq.write_table(pa.table({"y": [float(k)]}), tmp_path / f"{k}.parquet")
    every = [RowGroup(str(tmp_path / f"{k}.parquet"), 0, 1) for k in range(count)]
    rows = [
        y for piece in pieces(every, ["y"], 1000) for y in piece.columns(["y"])["y"].to_pylist()
    ]
    assert rows == list(range(count))
    assert watched.most <= row_groups.OPEN_FILES


@pytest.mark.parametrize("element", [True, False], ids=["elements", "no null"])
def test_files_may_differ_in_what_can_be_null(tmp_path: Path, element: bool) -> None:
    kinds = [pa.field("element", pa.float64(), nullable) for nullable in (element, True)]
    every = []
    for k, kind in enumerate(kinds):
        path = str(tmp_path / f"{k}.parquet")
        lists = pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(kind))
        schema = pa.schema([pa.field("x", lists.type), pa.field("y", pa.int64(), k > 0)])
        pq.write_table(pa.table([lists, pa.array([5, 6])], schema), path)
        every.append(RowGroup(path, 0, 2))
    for most in (None, 1):
        read = [piece.columns(["x", "y"]) for piece in pieces(every, ["x", "y"], 10, most)]
        together = pa.concat_tables(read)
        assert together["x"].to_pylist() == [[1.0, 2.0], [3.0, 4.0]] * 2
        assert together["y"].to_pylist() == [5, 6] * 2
    assert len(read) == 4


def test_what_is_asked_for_is_a_column_and_no_part_of_a_struct(tmp_path: Path) -> None:
    path = str(tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [{"few": 1.0}], "x.few": [2.0]}), path)
    group = RowGroup(path, 0, 1)
    for most in (None, 1):
        read = [piece.columns(["x.few"]) for piece in pieces([group, group], ["x.few"], 1, most)]
        assert [table.to_pylist() for table in read] == [[{"x.few": 2.0}]] * 2


def read_all(groups: Sequence[RowGroup], most: int | None = None) -> list[pa.Table]:
    return [piece.columns(["y"]) for piece in pieces(groups, ["y"], 1000, most)]


def test_a_file_that_has_changed(tmp_path: Path) -> None:
    path = str(tmp_path / "a.parquet")
    pq.write_table(pa.table({"y": [1.0, 2.0]}), path)
    for most in (None, 1):
        with pytest.raises(ValueError, match="had 5 rows in a row group and now has 2"):
            read_all([RowGroup(path, 0, 5)], most)
    Path(path).write_bytes(b"PAR1")
    with pytest.raises(ValueError, match=r"a\.parquet.*FIGS_SPARK_PARQUET=0"):
        read_all([RowGroup(path, 0, 5)])


@pytest.mark.parametrize("count", [1, 2, 3, 50])
def test_shares_are_even(count: int) -> None:
    groups = [RowGroup("a", k, 100) for k in range(20)] + [RowGroup("b", 0, 500)]
    parts = row_groups.shares(groups, count)
    assert [group for part in parts for group in part] == groups
    assert len(parts) <= count
    if count == 2:
        assert [sum(group.rows for group in part) for part in parts] == [1200, 1300]
    assert row_groups.shares([], count) == []
