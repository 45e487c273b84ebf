"""A first look as plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from figs_spark.inspection.inspection import InspectedColumn, Inspection
from figs_spark.treesum.visible import visible_name

WIDTH = 100
NAME, USE = 26, 11


def to_text(look: Inspection) -> str:
    return "\n".join(_lines(look))


def _lines(look: Inspection) -> Iterator[str]:
    kept = [c for c in look.columns if c.kept]
    out = [c for c in look.columns if not c.kept]
    yield headline(look)
    if look.findings:
        yield "\nLook at these first"
        for finding in look.findings:
            yield from _wrapped(finding, "  - ", "    ")
    if out:
        yield f"\nLeft out: {in_columns(len(out))}"
        for c in out:
            yield from _wrapped(c.why, f"  {_padded(c.name)} {c.use:<{USE}}", " " * 41)
    if kept:
        yield f"\nUsed: {in_columns(len(kept))}"
        measure = "AUC" if look._label.is_class else "R2"
        yield (
            f"  {'column':<{NAME}} {'as':<{USE}}{'missing':>7} {'values':>7} {measure:>5}  "
            f"{_explained(look)}"
        )
        for c in kept:
            yield from _column(c, look)


def in_columns(k: int) -> str:
    return f"{k} column{'s' * (k != 1)}"


def headline(look: Inspection) -> str:
    size = f"{look.rows:,} rows, {in_columns(len(look.columns) + 1)}"
    return f"{size}; {label_share(look)}"


def label_share(look: Inspection) -> str:
    """The label, and how many rows have it."""
    name = visible_name(look.label)
    if look._label.is_class:
        return f"{name} in {look.share:.1%} of the rows"
    return f"{name} is {look.share:.4g} on average"


def _explained(look: Inspection) -> str:
    """What is written behind a value."""
    return f"most frequent ({'with the label' if look._label.is_class else 'mean label'})"


def _column(c: InspectedColumn, look: Inspection) -> Iterator[str]:
    missing = c.missing / look.rows
    name = _padded(c.name)
    start = (
        f"  {name} {use(c):<{USE}}{share(missing) if c.missing else '':>7} {c.distinct:>7,} "
        f"{c.strength:>5.2f}  "
    )
    yield _fitting(start, values(c, look))
    for note in c.notes:
        yield from _wrapped(note, "      ! ", "        ")


def use(c: InspectedColumn) -> str:
    return str(c._verdict.system or c.use)


def values(c: InspectedColumn, look: Inspection) -> list[str]:
    """The most frequent values with their label, or the quantiles of a number."""
    if c.quantiles and c.distinct > 2 * len(c.quantiles):
        low, middle, high = (f"{q:g}" for q in c.quantiles)
        return [f"median {middle}, 5% {low}, 95% {high}"]
    return [f"{visible_name(v.value)} ({outcome(v.label, look)})" for v in c.frequent]


def outcome(value: float, look: Inspection) -> str:
    return share(value) if look._label.is_class else f"{value:.3g}"


def share(value: float) -> str:
    """A share in percent; small ones with a decimal."""
    if 0 < value < 0.0005:
        return "<0.1%"
    return f"{value:.0%}" if value >= 0.0995 or value == 0 else f"{value:.1%}"


def _padded(name: str) -> str:
    return f"{visible_name(name):<{NAME}}"


def _fitting(start: str, items: list[str]) -> str:
    """As many items as the line has room for."""
    line = start
    for k, item in enumerate(items):
        more = f"{', ' if k else ''}{item}"
        if len(line) + len(more) > WIDTH:
            break
        line += more
    return line.rstrip()


def _wrapped(text: str, first: str, others: str) -> list[str]:
    return textwrap.wrap(
        visible_name(text), WIDTH, initial_indent=first, subsequent_indent=others,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
