"""What a fitted G-FIGS shows of itself: the models of its groups, and what each of them asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from figs_spark.pictures.axes import to_axes
from figs_spark.pictures.overview import draw_overview, used_features
from figs_spark.pictures.shapes import Drawing, stacked
from figs_spark.pictures.svg import to_svg
from figs_spark.pictures.trees import WIDTH, draw_model
from figs_spark.stages.base.model import FittedModel
from figs_spark.stages.gfigs.groups import Group
from figs_spark.stages.gfigs.params import POOLED, SHRINK
from figs_spark.treesum import TreeSum
from figs_spark.treesum.side_by_side import side_by_side
from figs_spark.treesum.text import describe_each, rules

if TYPE_CHECKING:
    import pandas as pd


class ShownByGroup(FittedModel):
    """A model that prints and draws a sum of trees for each group."""

    _sums: dict[Group, TreeSum]
    _effective: dict[Group, float]

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups, in order."""
        return tuple(self._sums)

    def _parts_by_heading(self) -> dict[str, TreeSum]:
        name, sums = self.getOrDefault("groupCol"), list(self._sums.values())
        if self.getOrDefault("weighting") == POOLED and all(s == sums[0] for s in sums):
            return {f"All groups of {name}": sums[0]}
        return {
            f"{name} = {group} (effective sample size {size:,.0f})": self._sums[group]
            for group, size in self._effective.items()
        }

    @property
    def _together(self) -> TreeSum | None:
        """With weighting "shrink": the one structure, with a value for each group in every node."""
        if self.getOrDefault("weighting") != SHRINK:
            return None
        return side_by_side(list(self._sums.values()))

    def _text(self, small_cell: int | None = None) -> str:
        name, weighting = (self.getOrDefault(p) for p in ("groupCol", "weighting"))
        title = f"{type(self).__name__}: {len(self.groups)} groups of {name}, {weighting} weights"
        if weighting in (POOLED, SHRINK):
            title = f"{type(self).__name__}: one model for {len(self.groups)} groups of {name}"
        if (together := self._together) is not None:
            parts, columns = {f"A column of values for each {name}": together}, self._group_names
            return describe_each(parts, f"{title}, {SHRINK}", self._outcome(), columns, small_cell)
        parts = self._parts_by_heading()
        return describe_each(parts, title, self._outcome(), self._output_names(), small_cell)

    @property
    def _group_names(self) -> list[str]:
        return list(map(str, self.groups))

    def rules(self, full: bool = False) -> pd.DataFrame:
        """One row per leaf: group, tree, leaf, path as text, value, rows, weight."""
        import pandas as pd

        self._check_fitted()
        parts = [rules(tree_sum, self._output_names(), full) for tree_sum in self._sums.values()]
        for group, part in zip(self._sums, parts, strict=True):
            part.insert(0, "group", pd.Series([group] * len(part), dtype=object))
        return pd.concat(parts, ignore_index=True)

    def _drawings(self, width: float, small_cell: int | None = None) -> list[Drawing]:
        parts, labels = self._parts_by_heading().items(), self._labels(small_cell)
        if (together := self._together) is not None:
            labels = replace(labels, outputs=tuple(self._group_names))
            heading = f"{labels.subject}, by {self.getOrDefault('groupCol')}"
            return [draw_model(together, labels, width, heading)]
        return [draw_model(tree_sum, labels, width, heading) for heading, tree_sum in parts]

    def _drawing(self, width: float, small_cell: int | None = None) -> Drawing:
        return stacked(self._subject(), self._drawings(width, small_cell))

    def _pictures(self) -> Sequence[Drawing]:
        """Which features the groups use, and one picture for each group."""
        drawings = self._drawings(WIDTH)
        return [self._overview(), *drawings] if len(drawings) > 1 else drawings

    @property
    def featuresByGroup(self) -> pd.DataFrame:
        """The share of each feature in the gain, a row per feature and a column per group.

        Features that no group splits on are left out; the most important ones come first.
        """
        import pandas as pd

        self._check_fitted()
        sums = list(self._sums.values())
        used = used_features(sums)
        names = pd.Index([self.featureNames[j] for j in used], name="feature")
        shares = {g: s.importances()[used] for g, s in self._sums.items()}
        return pd.DataFrame(shares, index=names)

    def plotOverview(self, ax: Any = None) -> Any:
        """Draw which features each group uses, side by side; returns the matplotlib axes."""
        self._check_fitted()
        return to_axes(self._overview(), ax)

    def toOverviewSVG(self) -> str:
        """The same as SVG text, for a file or a page."""
        self._check_fitted()
        return to_svg(self._overview())

    def _overview(self) -> Drawing:
        name = self.getOrDefault("groupCol")
        title = f"{self._subject()}: what is asked, by {name}"
        return draw_overview(title, {str(group): s for group, s in self._sums.items()})
