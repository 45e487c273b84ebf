"""What Spark expects to read, from the text in which it says so."""

from __future__ import annotations

import pytest

from figs_spark.dataframes.estimates import Read, sources

RELATION = "Relation [x0#1,x1#2] parquet, Statistics(sizeInBytes={})"


def explained(*nodes: str) -> str:
    plan = "\n".join(["== Optimized Logical Plan ==", *nodes])
    return f"{plan}\n\n== Physical Plan ==\n*(1) FileScan, Statistics(sizeInBytes=9.0 GiB)"


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("17.0 B", 17),
        ("2.5 KiB", 2560),
        ("11.2 MiB", 11_744_051),
        ("1.0 MiB, rowCount=1.00E+4", 1 << 20),
        ("8.0 EiB", None),
        ("1.00E+40 B", None),
    ],
)
def test_the_size_of_a_source(size: str, expected: int | None) -> None:
    plan = explained("Project [x0#1], Statistics(sizeInBytes=1.0 B)", "+- " + RELATION.format(size))
    assert sources(plan) == [Read("Relation", expected)]


def test_every_source_of_a_join_and_nothing_else() -> None:
    plan = explained(
        "Join Inner, (id#1L = id#2L), Statistics(sizeInBytes=1.0 PiB)",
        ":- Filter (id#1L > 3), Statistics(sizeInBytes=1.0 KiB)",
        ":  +- LocalRelation [id#1L], Statistics(sizeInBytes=2.0 KiB)",
        "+- Union false, false, Statistics(sizeInBytes=9.0 EiB)",
        "   :- LogicalRDD [id#2L], false, Statistics(sizeInBytes=8.0 EiB)",
        "   +- InMemoryRelation [id#3L], StorageLevel(memory), Statistics(sizeInBytes=4.0 KiB)",
        "         +- *(1) Range (0, 9)",
    )
    assert sources(plan) == [
        Read("LocalRelation", 2048),
        Read("LogicalRDD", None),
        Read("InMemoryRelation", 4096),
    ]


def test_a_text_without_sizes_says_nothing() -> None:
    assert sources("== Optimized Logical Plan ==\nRange (0, 9)") == []
