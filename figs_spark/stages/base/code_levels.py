"""The Param `codeSystems`: each level of a column of codes is a feature while a model grows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from figs_spark.dataframes.columns import listed
from figs_spark.stages.base.inputs import Inputs
from figs_spark.treesum import Feature
from figs_spark.treesum.code_systems import code_system
from figs_spark.treesum.levels import LevelFeature
from figs_spark.treesum.nodes import TEXT


def with_levels(inputs: Inputs, systems: Mapping[str, str]) -> Inputs:
    """The inputs with the levels of their codes, the broadest first, before the codes themselves:
    of splits that gain the same, that of the broadest level is taken."""
    texts = [feature.name for feature in inputs.features if feature.kind == TEXT]
    if unknown := [name for name in systems if name not in texts]:
        raise ValueError(
            f"codeSystems names {listed(unknown)}, which are not among the features that are text: "
            f"{listed(texts) or 'there are none'}. Name these only, or cast the codes to text."
        )
    features = [one for f in inputs.features for one in _expanded(f, systems.get(f.name, ""))]
    return replace(inputs, features=tuple(features))


def _expanded(feature: Feature, name: str) -> Iterator[Feature]:
    if not name:
        yield feature
        return
    for depth, level in enumerate(code_system(name).levels):
        yield LevelFeature(
            f"{feature.name} by {level}",
            (),
            kind=TEXT,
            system=name,
            source=feature.name,
            depth=depth,
        )
    yield replace(feature, system=name)
