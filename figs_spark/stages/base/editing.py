"""`model.edit`: a person's change of a model, which stays on record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from figs_spark.stages.base.model import FittedModel
from figs_spark.treesum.editing import Changes, Edit, Leaf, edited
from figs_spark.treesum.nodes import Category, TreeSum
from figs_spark.treesum.strict_json import Entry

if TYPE_CHECKING:
    from typing_extensions import Self


class Editing(FittedModel):
    """A model that people may change, and that says so ever after."""

    _edits: tuple[Edit, ...] = ()

    @property
    def editedBy(self) -> tuple[Edit, ...]:
        """The changes that people made, in order."""
        return self._edits

    def edit(
        self,
        by: str,
        why: str,
        *,
        thresholds: Mapping[int, float] | None = None,
        categories: Mapping[int, Sequence[Category]] | None = None,
        missingLeft: Mapping[int, bool] | None = None,
        values: Mapping[Leaf, float | Sequence[float]] | None = None,
        withoutTrees: Sequence[int] = (),
        group: Any = None,
        when: str | None = None,
    ) -> Self:
        """A copy with changes by a person, which its text, picture, report and JSON show.

        `thresholds`, `categories` (those that the split lists) and `missingLeft` (the side of
        missing values) are by the step of the split, from 0, as in `summary`. `values` are by tree
        and leaf, as in `rules()`; `withoutTrees` are trees to remove, from 1. `group` names the
        model of a G-FIGS. `when` is a date; default: today. An operating point is forgotten, since
        it was measured before.
        """
        for name, text in (("by", by), ("why", why)):
            if not isinstance(text, str) or not text.strip():
                raise ValueError(f"{name} is empty. Say who changes the model, and why.")
        changes = Changes(
            thresholds or {}, categories or {}, missingLeft or {}, values or {}, withoutTrees
        )
        said: tuple[str, ...] = ()

        def change(one: TreeSum) -> TreeSum:
            nonlocal said
            new, said = edited(one, changes)
            return new

        changed = self._with_one_sum(change, group)
        if group is not None:
            said = tuple(f"in group {group}, {words}" for words in said)
        edit = Edit(by.strip(), when or date.today().isoformat(), why.strip(), said)
        changed._edits = (*self._edits, edit)
        return changed._without_operating_point()

    # Text, picture and JSON

    def _text(self, small_cell: int | None = None) -> str:
        shown = super()._text(small_cell)  # type: ignore[safe-super]
        return "\n\n".join([shown, *map(str, self._edits)])

    def _remarks(self) -> tuple[str, ...]:
        return (*super()._remarks(), *map(str, self._edits))

    def _class_contents(self) -> dict[str, Any]:
        saved = super()._class_contents()
        if self._edits:
            saved["editedBy"] = [edit.to_dict() for edit in self._edits]
        return saved

    def _set_classes(self, contents: dict[str, Any], model: TreeSum, source: str) -> None:
        super()._set_classes(contents, model, source)
        saved = Entry(contents.get("editedBy", []), source, "editedBy")
        self._edits = tuple(map(Edit.from_entry, saved.items()))
