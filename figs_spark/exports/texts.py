"""Expressions as text, so that the rule of `treesum.prediction` can be written in a language.

`a + b` of two such texts is the text of the sum. What a language has besides, such as its CASE, is
up to the algebra of that language.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


def infix(operator: str, left: str, right: str) -> str:
    return f"({left} {operator} {right})"


@dataclass(frozen=True)
class Language:
    """How a language writes numbers, and two operands with an operator."""

    number: Callable[[float], str]
    operation: Callable[[str, str, str], str] = infix


@dataclass(frozen=True)
class Text:
    """An expression. Its layer counts the named parts that must be computed one after another
    before it; a name is an expression already."""

    code: str
    language: Language
    layer: int = 0
    is_name: bool = False

    def __add__(self, other: Any) -> Text:
        return self._with("+", other)

    def __truediv__(self, other: Any) -> Text:
        return self._with("/", other)

    def __gt__(self, other: Any) -> Text:
        return self._with(">", other)

    def __rsub__(self, other: float) -> Text:
        return self._constant(other)._with("-", self)

    def _with(self, operator: str, other: Any) -> Text:
        right = other if isinstance(other, Text) else self._constant(other)
        code = self.language.operation(operator, self.code, right.code)
        return Text(code, self.language, max(self.layer, right.layer))

    def _constant(self, value: float) -> Text:
        return Text(self.language.number(float(value)), self.language)
