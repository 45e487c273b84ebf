"""The conditions on the way to a leaf, one or two for each feature: what a later condition says
again or more narrowly is not said twice."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from figs_spark.treesum.nodes import BOOLEAN, Category, Feature, Node, Split

Turn = tuple[Split, bool]  # a split, and whether the way goes left


def turns_to_leaves(
    node: Node, turns: tuple[Turn, ...] = ()
) -> Iterator[tuple[tuple[Turn, ...], Node]]:
    """Every leaf from left to right, with the turns on the way to it."""
    if not (branches := node.branches):
        yield turns, node
        return
    split, left, right = branches
    yield from turns_to_leaves(left, (*turns, (split, True)))
    yield from turns_to_leaves(right, (*turns, (split, False)))


def merged(features: Sequence[Feature], turns: Sequence[Turn]) -> list[Turn]:
    """The turns that say the same with fewer words, in the order of their features."""
    by_feature: dict[int, list[Turn]] = {}
    for split, left in turns:
        by_feature.setdefault(split.feature, []).append((split, left))
    return [turn for j, own in by_feature.items() for turn in _of_one(features[j], own)]


def _of_one(feature: Feature, turns: list[Turn]) -> list[Turn]:
    if len(turns) == 1 or feature.kind == BOOLEAN or feature.system:
        return turns
    takes_missing = all(split.missing_left == left for split, left in turns)
    only = [turn for turn in turns if _takes_missing_only(turn)]
    if only:
        return only[:1] if takes_missing else turns  # else no value can come here
    own = [turn for turn in turns if not _keeps_missing_out_only(turn)] or turns[:1]
    if own[0][0].threshold is not None:
        kept = _narrowest(own, lambda split: split.threshold or 0.0)
    elif feature.ordered:
        order = feature.categories or ()
        kept = _narrowest(own, lambda split: min(map(order.index, split.categories or ())))
    else:
        kept = [_one_set(own)]
    return [(_with_missing(split, left, takes_missing), left) for split, left in kept]


def _takes_missing_only(turn: Turn) -> bool:
    split, left = turn
    if split.missing_left != left:
        return False
    if split.threshold is not None:
        return split.threshold == math.inf and not left
    return left == split.listed_left and not split.categories


def _keeps_missing_out_only(turn: Turn) -> bool:
    split, left = turn
    return _takes_missing_only((split, not left))


def _narrowest(turns: list[Turn], place: Callable[[Split], float]) -> list[Turn]:
    """The highest lower end and the lowest upper end, in the order in which they came."""
    below, above = ([turn for turn in turns if _is_low(turn) == low] for low in (True, False))
    kept = [min(below, key=lambda t: place(t[0]))] if below else []
    kept += [max(above, key=lambda t: place(t[0]))] if above else []
    return sorted(kept, key=turns.index)


def _is_low(turn: Turn) -> bool:
    """Whether the turn takes low values: ordered categories are listed from a place on."""
    split, left = turn
    return left if split.threshold is not None else left != split.listed_left


def _one_set(turns: list[Turn]) -> Turn:
    """All sets as one: of the categories that are left, or of those that are excluded."""
    split, left = turns[-1]
    allowed = remaining(turns)
    if allowed is not None:
        return _listing(split, left, allowed)
    excluded = dict.fromkeys(c for one, _ in turns for c in one.categories or ())
    return _listing(split, left, tuple(excluded), inside=False)


def remaining(turns: Sequence[Turn]) -> tuple[Category, ...] | None:
    """The categories that pass all these splits of one feature; None if unlisted ones do, too."""
    lists = [split.categories or () for split, left in turns if left == split.listed_left]
    if not lists:
        return None
    others = [split.categories or () for split, left in turns if left != split.listed_left]
    barred = {c for one in others for c in one}
    return tuple(c for c in lists[-1] if c not in barred and all(c in one for one in lists[:-1]))


def _listing(
    split: Split, left: bool, categories: tuple[Category, ...], inside: bool = True
) -> Turn:
    return _replaced(split, categories, left == inside), left


def _replaced(split: Split, categories: tuple[Category, ...], listed_left: bool) -> Split:
    return replace(split, categories=categories, listed_left=listed_left)


def shorter(feature: Feature, split: Split, before: Sequence[Turn]) -> Split:
    """The split with its shorter side listed, if those before it leave known categories only, and
    without the categories that they have excluded."""
    own = [turn for turn in before if turn[0].feature == split.feature]
    if split.categories is None or feature.ordered or feature.system or feature.kind == BOOLEAN:
        return split
    allowed = remaining(own) if own else None
    if allowed is None:
        return split
    listed = tuple(c for c in split.categories if c in allowed)
    others = tuple(c for c in allowed if c not in listed)
    if others and len(others) < len(listed):
        return _replaced(split, others, not split.listed_left)
    return _replaced(split, listed, split.listed_left) if listed else split


def _with_missing(split: Split, left: bool, takes_missing: bool) -> Split:
    return replace(split, missing_left=left if takes_missing else not left)
