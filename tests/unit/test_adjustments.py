"""Steps after a fit keep the nested sizes, and bring a loss path of their own."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from figs_spark.treesum import Node, TreeSum
from figs_spark.treesum.adjustments import Value, revalued
from tests.support.fitted import fitted
from tests.support.treesums import random_path, random_rows

STRENGTH = 5.0


def shrunk(model: TreeSum) -> TreeSum:
    """Each step down counts less, the fewer rows it rests on."""
    before: dict[int, Value] = {}
    for tree in model.trees:
        for node in tree.walk():
            if branches := node.branches:
                before |= {id(child): node.value for child in branches[1:]}

    def value(node: Node, parent: Value | None) -> Value:
        if parent is None:
            return node.value
        share = node.weight / (node.weight + STRENGTH)
        steps = zip(parent, node.value, before[id(node)], strict=True)
        return tuple(start + share * (here - there) for start, here, there in steps)

    losses = [loss + 1.0 for loss in model.losses]
    return revalued(model, value, model.constant, losses)


@pytest.mark.parametrize("seed", range(5))
def test_truncation_and_a_step_commute(seed: int) -> None:
    path = random_path(Random(seed), splits=8, outputs=1)
    model = shrunk(path[-1])
    rows = random_rows(Random(seed), 50)
    assert model.predict(rows).tolist() != path[-1].predict(rows).tolist()
    for k, smaller in enumerate(path):
        assert model.truncate(k).predict(rows).tolist() == shrunk(smaller).predict(rows).tolist()
        assert model.truncate(k).losses == shrunk(smaller).losses


def test_a_loss_for_every_size_is_needed() -> None:
    model = random_path(Random(0), splits=3, outputs=1)[-1]
    with pytest.raises(ValueError, match="4 sizes, and 1 losses"):
        revalued(model, lambda node, parent: node.value, model.constant, [0.5])


@pytest.mark.parametrize("kind", ["FIGS", "BaggedFIGS", "GFIGS"])
def test_every_family_takes_a_step(kind: str) -> None:
    model = fitted(kind, 2)
    halved = model._with_sums(lambda s: replace(s, constant=tuple(c / 2 for c in s.constant)))
    assert type(halved) is type(model)
    assert halved.fingerprint != model.fingerprint
    same = model._with_sums(lambda s: s)  # without the categories that no split names
    assert same._with_sums(lambda s: s).fingerprint == same.fingerprint
