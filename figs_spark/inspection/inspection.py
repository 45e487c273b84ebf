"""`inspect`: a first look at a table that is to train a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from figs_spark.dataframes.columns import listed
from figs_spark.dataframes.derived import mentions
from figs_spark.inspection.counting import count_columns
from figs_spark.inspection.counts import MARKERS, NUMBER, TEXT, Counted, Label, Tally, total
from figs_spark.inspection.labels import labelled
from figs_spark.inspection.strength import strength
from figs_spark.inspection.verdicts import PATIENT, Verdict, judged, marked_missing

if TYPE_CHECKING:
    import pandas as pd

LEAST = 10  # rows that must have a value before it is shown; the default of minCategoryCount
SHOWN = 5  # values of a column
QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class FrequentValue:
    """A value of a column: rows that have it, and the share of these with the label."""

    __module__ = "figs_spark"

    value: str
    rows: int
    label: float


@dataclass(frozen=True)
class InspectedColumn:
    """What `inspect` says about a column, and what training would do with it.

    `use` is number, ordered, categories, codes or date for a feature; a column that is left out is
    an identifier, a patient, constant, a leak, personal, free text or unfit, and `why` says why.
    `strength` is the AUC of the column alone on these rows, or the share of the variance of the
    label that it explains.
    """

    __module__ = "figs_spark"

    name: str
    type: str
    use: str
    why: str
    kept: bool
    missing: int
    missing_label: float | None  # None if too few rows miss it to say so
    distinct: int
    strength: float
    frequent: tuple[FrequentValue, ...] = ()
    quantiles: tuple[float, ...] = ()  # 5%, 50% and 95% of a number, rounded
    notes: tuple[str, ...] = ()
    _verdict: Verdict = field(default_factory=lambda: Verdict(""), repr=False)


@dataclass(frozen=True)
class Inspection:
    """The first look at a table: `print` it, show it in a notebook, or write `to_html()` to a file.

    `columns` has what was found by column, `table` the same for pandas, and `train_yaml()` the
    settings of the job `train` to start from.
    """

    __module__ = "figs_spark"

    label: str
    rows: int
    share: float  # of rows with the label; the mean of an amount
    columns: tuple[InspectedColumn, ...]
    findings: tuple[str, ...]  # what to look at first
    null_text: str | None  # stands for missing values, such as '?'
    group: str | None  # the column that says whose row it is
    _label: Label = field(repr=False, default_factory=lambda: Label("", None, 0, 0, 0.0, 0.0))

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """The page as plain text, in lines of at most 100 characters."""
        from figs_spark.inspection.text import to_text

        return to_text(self)

    def to_html(self, title: str = "A first look") -> str:
        """The page as one HTML file that loads nothing from elsewhere."""
        from figs_spark.inspection.page import to_html

        return to_html(self, title)

    def _repr_html_(self) -> str:
        from figs_spark.inspection.page import fragment

        return fragment(self).markup

    @property
    def table(self) -> pd.DataFrame:
        """One line per column, for pandas."""
        import pandas as pd

        names = ("name", "type", "use", "kept", "why", "missing", "distinct", "strength")
        lines = [{name: getattr(c, name) for name in names} for c in self.columns]
        return pd.DataFrame(lines).assign(notes=["; ".join(c.notes) for c in self.columns])

    def train_yaml(
        self,
        input: str,
        *,
        format: str = "auto",
        options: Mapping[str, str] | None = None,
        output: str = "build/model",
    ) -> str:
        """Commented settings for the job `train`: it runs with them as they are."""
        from figs_spark.inspection.starting_file import Source, train_yaml

        return train_yaml(self, Source(input, format, dict(options or {}), output))


def inspect(
    df: DataFrame,
    label: str,
    positive: str | None = None,
    *,
    min_category_count: int = LEAST,
    null_text: bool = True,
) -> Inspection:
    """A first look at a table: what is in its columns, and what training would do with them.

    `label` is a column or an SQL condition such as "readmitted = '<30'". `positive` is the value of
    a label of text that is predicted against all others; without it, the rarest. A value that fewer
    than `min_category_count` rows have is never shown. A text such as '?' that stands for missing
    values is counted as missing unless `null_text` is False.

    >>> print(inspect(visits, "readmitted", "<30"))
    """
    if min_category_count < 1:
        raise ValueError(f"min_category_count must be at least 1, got {min_category_count}.")
    frame, y, described = labelled(df, label, positive, min_category_count)
    is_column = label in df.columns
    fields = [
        f
        for f in df.schema.fields
        if not (f.name == label if is_column else mentions(label, f.name))
    ]
    if not fields:
        raise ValueError(f"The table has no column besides the label '{label}'.")
    counted = count_columns(frame, fields, y, min_category_count, described.rows)
    return assembled(counted, described, min_category_count, null_text)


def assembled(
    counted: Sequence[Counted], label: Label, least: int, null_text: bool = True
) -> Inspection:
    """What the counts of the columns say."""
    mark = _mark(counted) if null_text else None
    if mark is not None:
        counted = [_with_missing(c, mark) for c in counted]
    columns = tuple(_inspected(c, label, least) for c in counted)
    return Inspection(
        label=label.text,
        rows=label.rows,
        share=label.mean,
        columns=columns,
        findings=tuple(_findings(columns, label, mark, counted)),
        null_text=mark,
        group=next((c.name for c in columns if c.use == PATIENT), None),
        _label=label,
    )


# The columns


def _mark(counted: Sequence[Counted]) -> str | None:
    """The text that stands for missing values in most rows; Spark's readers take one."""
    rows: dict[str, int] = {}
    for column_ in counted:
        for value in MARKERS:
            if column_.kind == TEXT and value in column_.texts:
                rows[value] = rows.get(value, 0) + column_.texts[value].rows
    return max(rows, key=lambda value: rows[value]) if rows else None


def _with_missing(counted: Counted, mark: str) -> Counted:
    if counted.kind != TEXT or mark not in counted.texts:
        return counted
    texts = dict(counted.texts)
    missing = replace(texts.pop(mark), kinds=0)
    return replace(counted, texts=texts, missing=counted.missing + missing)


def _inspected(counted: Counted, label: Label, least: int) -> InspectedColumn:
    verdict = judged(counted, label, least)
    return InspectedColumn(
        name=counted.name,
        type=counted.type,
        use=verdict.use,
        why=verdict.why,
        kept=verdict.kept,
        missing=counted.missing.rows,
        missing_label=counted.missing.mean if counted.missing.rows >= least else None,
        distinct=counted.distinct,
        strength=strength(counted, label),
        frequent=() if verdict.hide_values else _frequent(counted, least),
        quantiles=_quantiles(counted, least) if verdict.use == NUMBER else (),
        notes=verdict.notes,
        _verdict=verdict,
    )


def _frequent(counted: Counted, least: int) -> tuple[FrequentValue, ...]:
    """The values that most rows have; rounded numbers are none."""
    values: list[tuple[str, Tally]] = list(counted.texts.items())
    if counted.whole:
        values += [(f"{n:g}", t) for n, t in counted.numbers.items() if t.kinds == 1]
    enough = sorted((v for v in values if v[1].rows >= least), key=lambda v: -v[1].rows)
    return tuple(FrequentValue(v, t.rows, t.mean) for v, t in enough[:SHOWN])


def _quantiles(counted: Counted, least: int) -> tuple[float, ...]:
    rows = total(list(counted.numbers.values())).rows
    if rows * QUANTILES[0] < least:
        return ()
    quantiles: list[float] = []
    ranks = [share * rows for share in QUANTILES]
    below = 0
    for number, tally in counted.numbers.items():
        below += tally.rows
        quantiles += [number for rank in ranks[len(quantiles) :] if below >= rank]
    return tuple(quantiles)


# What to look at first


def _findings(
    columns: tuple[InspectedColumn, ...], label: Label, mark: str | None, counted: Sequence[Counted]
) -> Iterator[str]:
    if label.missing:
        yield f"{label.missing:,} rows have no label and are not counted here."
    if mark is not None:
        yield f"'{mark}' counts as missing here. To train, set the reader's option nullValue to it."
    others = {marked_missing(c) for c in counted} - {None, mark}
    if others:
        yield f"{listed(sorted(map(str, others)))} may stand for missing values, too."
    for c in columns:
        if c.use == PATIENT:
            yield f"{c.name} says whose row it is: {c.why}."
    for c in columns:
        if c.use in ("leak", "personal"):
            yield f"{c.name} is left out: {c.why}."
    for c in columns:
        yield from (f"{c.name}: {note}" for note in c._verdict.urgent)
