"""Text that comes to the driver as it is: counted and encoded where a small table is packed, in the
same pass that collects its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from figs_spark.dataframes.codes import NO_LEVEL
from figs_spark.stages.base.categories import Counted, Rules, described
from figs_spark.treesum import Feature
from figs_spark.treesum.code_systems import code_system
from figs_spark.treesum.levels import LevelFeature
from figs_spark.treesum.nodes import TEXT

THREADS = 2

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Values:
    """The values of a column: each once, and of every row its place among them, -1 if missing."""

    distinct: tuple[str, ...]
    places: NDArray[np.integer]

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Values:
        whole = column.cast(pa.string()).combine_chunks()  # all missing may have no type
        if isinstance(whole, pa.ChunkedArray):  # older pyarrow
            whole = pa.concat_arrays(whole.chunks)
        encoded = whole.dictionary_encode()
        places = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return cls(tuple(encoded.dictionary.to_pylist()), places)

    def renamed(self, names: Sequence[str]) -> Values:
        """With another name for each value; values of the same name are one."""
        distinct = {name: k for k, name in enumerate(dict.fromkeys(names))}
        table = np.array([*(distinct[name] for name in names), -1], dtype=np.int32)
        return Values(tuple(distinct), table[self.places])

    def counted(self, least: int, most: int) -> Counted:
        """What `CountedBySpark` counts."""
        rows = np.bincount(self.places + 1, minlength=1 + len(self.distinct))[1:].tolist()
        return Counted.of(dict(zip(self.distinct, rows, strict=True)), least, most)

    def positions(self, categories: Sequence[Any]) -> Floats:
        """Of every row the place of its value among the categories, -1 if it is none of them."""
        known = {category: float(k) for k, category in enumerate(categories)}
        table = np.array([*(known.get(value, -1.0) for value in self.distinct), np.nan])
        return table[self.places]


@dataclass(frozen=True)
class RawTexts:
    """Columns of text, in the order of their names in the table, and the features made of them."""

    sources: tuple[str, ...]
    features: tuple[Feature, ...]
    rules: Rules

    @classmethod
    def of(cls, features: Sequence[Feature], rules: Rules) -> RawTexts:
        sources = dict.fromkeys(source_of(f) for f in features if f.kind == TEXT)
        return cls(tuple(sources), tuple(features), rules)

    def encode(self, columns: pa.Table, matrix: Floats) -> tuple[tuple[Feature, ...], Floats]:
        """The features with their categories, and the table with the places of all texts."""
        if not matrix.flags.writeable:
            matrix = matrix.copy()
        texts = (columns.column(text_name(k)) for k in range(len(self.sources)))
        with ThreadPoolExecutor(THREADS) as pool:  # Arrow releases the interpreter lock
            read = dict(zip(self.sources, pool.map(Values.of, texts), strict=True))
        values = {j: _values(f, read, matrix[:, j]) for j, f in self._countable()}

        def count(some: Sequence[int], least: int) -> dict[int, Counted]:
            return {j: values[j].counted(least, self.rules.most) for j in some}

        features = described(self.features, self.rules, count)
        for j, feature in enumerate(features):
            if feature.kind == TEXT:
                matrix[:, j] = values[j].positions(feature.categories or ())
        return features, matrix

    def _countable(self) -> list[tuple[int, Feature]]:
        return [(j, self.features[j]) for j in self.rules.countable(self.features)]


def text_name(k: int) -> str:
    """The column of the table with the k-th text."""
    return f"t{k}"


def source_of(feature: Feature) -> str:
    return feature.source if isinstance(feature, LevelFeature) else feature.name


def _values(feature: Feature, read: Mapping[str, Values], numbers: Floats) -> Values:
    if feature.kind != TEXT:
        known = ~np.isnan(numbers)
        distinct, inverse = np.unique(numbers[known] + 0.0, return_inverse=True)
        places = np.full(len(numbers), -1, dtype=np.int32)
        places[known] = inverse
        return Values(tuple(map(str, distinct.tolist())), places)
    values = read[source_of(feature)]
    if not isinstance(feature, LevelFeature):
        return values
    system = code_system(feature.system)
    return values.renamed([system.keys(v)[feature.depth] or NO_LEVEL for v in values.distinct])
