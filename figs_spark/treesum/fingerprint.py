"""The fingerprint of a model: the SHA-256 of its canonical JSON.

Two models with the same fingerprint are the same to the last bit: trees, values, names, classes,
and the threshold that turns a probability into a class. Which columns a stage reads and writes is
not part of it. The fingerprint stands in the saved file, where it is checked on loading, in the
printed model, and in every report and export.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from figs_spark.treesum.nodes import TreeSum
from figs_spark.treesum.serialization import to_dict
from figs_spark.treesum.strict_json import canonical, digest

__all__ = ["canonical", "digest", "fingerprint", "short", "stage_fingerprint"]


def fingerprint(model: TreeSum) -> str:
    """The fingerprint of one sum of trees by itself, 64 hexadecimal digits.

    That of a fitted stage, `model.fingerprint`, also covers what the scores stand for.
    """
    return digest(to_dict(model))


def stage_fingerprint(
    contents: Mapping[str, Any],
    threshold: float | None = None,
    thresholds: Sequence[float] | None = None,
) -> str:
    """The fingerprint of what a fitted stage holds and of how it decides between classes."""
    decision: dict[str, Any] = {}
    if contents["classes"] and thresholds is not None:
        decision = {"thresholds": list(thresholds)}
    elif contents["classes"] == 2:
        decision = {"threshold": threshold}
    return digest({**contents, **decision})


def short(full: str) -> str:
    """The first digits of a fingerprint, for people to compare."""
    return full[:12]
