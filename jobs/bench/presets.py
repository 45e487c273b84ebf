"""What is measured: which tables, with which contenders, how often."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

AUTO, CLUSTER = "figs_spark auto", "figs_spark cluster"
AUTO_BY_SPARK, CLUSTER_BY_SPARK = f"{AUTO}, Spark reads", f"{CLUSTER}, Spark reads"
UNMERGED = "figs_spark auto, no rows merged"
IMODELS = "imodels FIGS"
TREE, BOOSTED = "MLlib DecisionTree", "MLlib GBT stumps"
XGBOOST = "xgboost.spark stumps"
SKLEARN = "scikit-learn HistGB stumps"
BAGGED, FOREST = "figs_spark Bagging-FIGS", "MLlib RandomForest"
BAGGED_IMODELS = "scikit-learn bagging of imodels FIGS"
XGBOOST_TREES = "xgboost.spark, 100 trees"
WIDE_ARRAY = "figs_spark cluster, array column"
RELEASED = "figs_spark 0.1.0 cluster"
GROUPS = "figs_spark G-FIGS, 2 groups"
INDEXED_TREE = "StringIndexers and MLlib DecisionTree"
BY_BAND, BAND_REGRESSION = "figs_spark G-FIGS, 9 bands", "its logistic regression alone"
EVEN = "8 splits"
LAYOUTS: dict[str, int | str] = {  # files, each of which is a split of the input
    EVEN: 8,
    "200 splits": 200,
    "2,000 splits": 2000,
    "90% in one split": "one large",
}
ONE_SCAN = "one scan that adds up all columns, nothing else"
ONE_MEMBER, TEN_MEMBERS = "figs_spark cluster, 1 member", "figs_spark cluster, 10 members"

FRIEDMAN, SIGNS, EVENTS = "friedman", "signs", "events"  # kinds of tables, see `data`
STAYS, BANDS, FLIGHTS = "stays", "bands", "flights"  # kinds with text, see `mixed`
MIXED = (STAYS, BANDS, FLIGHTS)


@dataclass(frozen=True)
class Case:
    """Contenders on the same rows, with the same number of splits and bins."""

    name: str  # the bars refer to it
    rows: int
    features: int
    splits: int
    contenders: Mapping[str, int]  # with the number of repeats
    kind: str = FRIEDMAN
    bins: int = 64
    real: str = ""  # a file in --data that replaces the generated table
    floors: int = 0  # repeats of the floors, and of the parts of the engine next to them
    scoring: int = 0  # repeats of the scoring of these rows
    trained_on: int | None = None  # rows that the models are fitted to; None: all
    cached: bool = False  # whether the rows are in Spark's cache
    first: int = 0  # repeats of the first fit in a new session
    ways: int = 0  # repeats of each way to grow, over packed rows


@dataclass(frozen=True)
class Point:
    """One fit. `partitions` are those of the input; None: as many as Spark makes."""

    rows: int
    features: int
    splits: int
    partitions: int | None = None

    def __str__(self) -> str:
        partitions = f", partitions {self.partitions}" if self.partitions else ""
        return f"{self.rows:,} x {self.features}, splits {self.splits}{partitions}"


@dataclass(frozen=True)
class Growth:
    """Fits that differ from `middle` in one number; `axes` has that number's name and values."""

    middle: Point
    axes: Mapping[str, tuple[int, ...]]
    contenders: tuple[str, ...] = (AUTO, CLUSTER)
    bins: int = 64
    repeats: int = 3

    def curves(self) -> Iterator[tuple[str, str, list[Point]]]:
        """Axis, contender and points; the partitions of the input only in cluster mode."""
        for axis, values in self.axes.items():
            points = [replace(self.middle, **{axis: value}) for value in values]
            for contender in self.contenders:
                if axis != "partitions" or contender == CLUSTER:
                    yield axis, contender, points

    def scaled(self, shrunk: Callable[[int], int]) -> Growth:
        rows = {"rows": tuple(map(shrunk, self.axes["rows"]))}
        middle = replace(self.middle, rows=shrunk(self.middle.rows))
        return replace(self, middle=middle, axes={**self.axes, **rows})


@dataclass(frozen=True)
class Preset:
    cases: tuple[Case, ...]
    growth: Growth | None = None
    heap: str = "4g"  # of the driver's virtual machine
    judged: bool = True  # whether the bars are set for these sizes

    def tables(self) -> dict[tuple[str, int], tuple[int, int]]:
        """The smallest and largest number of rows, by kind and number of features."""
        sizes = [(case.kind, case.features, case.rows) for case in self.cases]
        if self.growth:
            features = self.growth.middle.features
            sizes += [(FRIEDMAN, features, rows) for rows in self.growth.axes["rows"]]
        ranges: dict[tuple[str, int], tuple[int, int]] = {}
        for kind, features, n in sizes:
            least, most = ranges.get((kind, features), (n, n))
            ranges[kind, features] = min(n, least), max(n, most)
        return ranges

    def real(self, kind: str, features: int) -> str:
        """The file of the real table that may replace this one."""
        names = [c.real for c in self.cases if (c.kind, c.features) == (kind, features)]
        return next(filter(None, names), "")

    def contenders(self, kind: str, features: int) -> list[str]:
        """The contenders in all cases on this table."""
        cases = [case for case in self.cases if (case.kind, case.features) == (kind, features)]
        return list(dict.fromkeys(name for case in cases for name in case.contenders))

    def only(self, name: str) -> Preset:
        """One case, without the curves of growth."""
        cases = tuple(case for case in self.cases if case.name == name)
        return replace(self, cases=cases, growth=None)

    def scaled(self, rows: int) -> Preset:
        """The same preset with at most this many rows; all tables shrink in proportion."""
        factor = rows / max(most for _, most in self.tables().values())

        def shrunk(n: int) -> int:
            return max(400, round(n * factor))

        cases = tuple(replace(case, rows=shrunk(case.rows)) for case in self.cases)
        growth = self.growth.scaled(shrunk) if self.growth else None
        return replace(self, cases=cases, growth=growth, judged=False)


def laid_out(contender: str, layout: str) -> str:
    """The name of a contender that reads one of the LAYOUTS."""
    return f"{contender}, {layout}"


EVERYONE = (AUTO, CLUSTER, IMODELS, TREE, BOOSTED, XGBOOST, SKLEARN)
BATCHES = dict.fromkeys((BAGGED, ONE_MEMBER, TEN_MEMBERS), 1)
BY_SPARK = dict.fromkeys((AUTO_BY_SPARK, CLUSTER_BY_SPARK), 1)
STANDARD_ROWS = 2_000_000
EXTRACT = "diabetic_data.csv.gz"

PRESETS = {
    "smoke": Preset(
        cases=(
            Case("small", 800, 10, 2, {AUTO: 1, CLUSTER: 1, IMODELS: 1}),
            Case("tree", 1_600, 10, 3, {AUTO: 2, **BY_SPARK, CLUSTER: 1, TREE: 1}, floors=1),
            Case("stumps", 1_600, 10, 2, {AUTO: 1, BOOSTED: 1, XGBOOST: 1, SKLEARN: 1}, scoring=1),
            Case("members", 800, 10, 2, {BAGGED: 1, BAGGED_IMODELS: 1}, SIGNS),
            Case("forest", 800, 10, 2, {FOREST: 1, **BATCHES}, SIGNS),
            Case("sums", 800, 10, 2, {AUTO: 1}, EVENTS, ways=1),
        ),
        growth=Growth(
            middle=Point(1_600, 10, 2),
            axes={
                "rows": (1_600, 3_200),
                "features": (5, 10),
                "splits": (1, 2),
                "partitions": (1, 2),
            },
            repeats=1,
        ),
        judged=False,
    ),
    "standard": Preset(
        cases=(
            Case("small", 100_000, 20, 12, {**dict.fromkeys(EVERYONE, 3), IMODELS: 1}),
            Case(
                "tree",
                STANDARD_ROWS,
                50,
                15,
                dict.fromkeys((AUTO, CLUSTER, TREE, *BY_SPARK), 5),
                floors=3,
            ),
            Case(
                "stumps",
                STANDARD_ROWS,
                50,
                12,
                {AUTO: 3, BOOSTED: 1, XGBOOST: 2, SKLEARN: 2},
                scoring=3,
            ),
        ),
        growth=Growth(
            middle=Point(STANDARD_ROWS, 50, 8),
            axes={
                "rows": (STANDARD_ROWS // 2, STANDARD_ROWS, 2 * STANDARD_ROWS),
                "features": (12, 25, 50),
                "splits": (4, 8, 16),
                "partitions": (1, 2, 4, 8),
            },
        ),
    ),
    "large": Preset(
        cases=(
            Case("large", 10_000_000, 50, 12, {CLUSTER: 1}, floors=1),
            Case("twice as large", 20_000_000, 50, 12, {CLUSTER: 1, RELEASED: 1}),
        )
    ),
    "wide": Preset(
        cases=(
            Case(
                "wide",
                50_000,
                5_000,
                12,
                {CLUSTER: 1, WIDE_ARRAY: 1, CLUSTER_BY_SPARK: 1, RELEASED: 1},
            ),
        ),
        heap="2g",
    ),
    "scoring": Preset(
        cases=(
            Case(
                "scoring",
                STANDARD_ROWS,
                50,
                10,
                {BAGGED: 1, FOREST: 1, XGBOOST_TREES: 1},
                scoring=5,
                trained_on=50_000,
            ),
        )
    ),
    "partitions": Preset(
        cases=(
            Case(
                "partitions",
                STANDARD_ROWS,
                50,
                15,
                {
                    laid_out(what, layout): 3
                    for layout in LAYOUTS
                    for what in (AUTO, CLUSTER, ONE_SCAN)
                },
            ),
        )
    ),
    "small": Preset(
        cases=(Case("small fit", 10_000, 20, 12, {AUTO: 9, GROUPS: 9, TREE: 9}, cached=True),)
    ),
    "duplicates": Preset(
        cases=(
            Case(
                "duplicates", 5_000_000, 15, 12, {AUTO: 3, CLUSTER: 3, UNMERGED: 3}, SIGNS, floors=1
            ),
        )
    ),
    "sums": Preset(
        cases=(Case("sums", STANDARD_ROWS, 50, 15, {AUTO: 1, CLUSTER: 1}, EVENTS, ways=3),)
    ),
    "ensembles": Preset(
        cases=(
            Case(
                "members",
                6_172,
                20,
                10,
                {BAGGED: 5, BAGGED_IMODELS: 1},
                SIGNS,
                bins=255,
                real="recidivism.parquet",
            ),
            Case(
                "forest",
                101_763,
                150,
                10,
                {FOREST: 3, **dict.fromkeys(BATCHES, 3)},
                SIGNS,
                bins=255,
                real="readmission.parquet",
            ),
        )
    ),
    "mixed": Preset(
        cases=(
            Case(
                "mixed",
                101_766,
                44,
                12,
                {AUTO: 5, INDEXED_TREE: 5},
                STAYS,
                bins=255,
                real=EXTRACT,
                first=2,
            ),
            Case(
                "flights",
                2_400_000,
                6,
                12,
                {AUTO: 5, INDEXED_TREE: 5},
                FLIGHTS,
                bins=255,
                real="flights-3m.parquet",
            ),
            Case(
                "bands",
                101_766,
                16,
                12,
                {BY_BAND: 3, BAND_REGRESSION: 3},
                BANDS,
                bins=255,
                real=EXTRACT,
            ),
        )
    ),
}
