"""How a Param is declared, and what follows from it: keyword arguments, setters and getters.

A stage lists the declarations it has: `declared = (MAX_SPLITS, ...)`. Each Param is declared once,
with its default, its check and its text.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.ml.param import Param, Params

if TYPE_CHECKING:
    from typing_extensions import Self

Stage = TypeVar("Stage", bound="DeclaredParams")


@dataclass(frozen=True)
class Declared:
    """One Param.

    `convert` turns the user's value into the value of the Param, or says what is wrong. What it
    returns is the type that the getter shows to editors; `accepts` is the type that the setter
    shows, if it is a wider one. None is a value if it is the default, or if `optional` says so.
    """

    name: str
    default: Any
    convert: Callable[[Any], Any]
    text: str
    optional: bool = False
    accepts: str = ""

    @property
    def title(self) -> str:
        """The name as it stands in `setMaxSplits` and `getMaxSplits`."""
        return self.name[0].upper() + self.name[1:]

    @property
    def may_be_none(self) -> bool:
        return self.optional or self.default is None

    @property
    def value_type(self) -> str:
        """The type of the value, as an annotation."""
        return self._annotation(str(inspect.signature(self.convert).return_annotation))

    @property
    def accepted_type(self) -> str:
        """The type of what the setter takes, as an annotation."""
        return self._annotation(self.accepts) if self.accepts else self.value_type

    def _annotation(self, kind: str) -> str:
        return f"{kind} | None" if self.may_be_none and kind != "Any" else kind


class DeclaredParams(Params):
    """Params with a setter and a getter each, and keyword arguments, from their declarations."""

    declared: tuple[Declared, ...] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for item in cls.__dict__.get("declared", ()):
            setattr(cls, item.name, Param(Params._dummy(), item.name, item.text, item.convert))
            if not hasattr(cls, f"set{item.title}"):
                setattr(cls, f"set{item.title}", _setter(item))
            if not hasattr(cls, f"get{item.title}"):
                setattr(cls, f"get{item.title}", _getter(item))

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self._setDefault(**{item.name: item.default for item in self.declared})
        self.setParams(**params)

    def setParams(self, **params: Any) -> Self:
        """Set several Params by name."""
        names = {item.name for item in self.declared}
        unknown = sorted(set(params) - names)
        if unknown:
            raise TypeError(
                f"{type(self).__name__} has no Param {', '.join(map(repr, unknown))}; "
                f"it has {', '.join(sorted(names))}."
            )
        return self._set(**params)

    def _set(self, **params: Any) -> Self:
        required = {item.name for item in self.declared if not item.may_be_none}
        for name, value in params.items():
            if value is None and name in required:
                raise TypeError(f"{name} may not be None.")
            try:
                super()._set(**{name: value})
            except ValueError as error:
                raise ValueError(f"{name}: {error}.") from None
        return self

    def _value_if_any(self, name: str) -> Any:
        """The value of a Param; None if the stage does not have it."""
        return self.getOrDefault(name) if self.hasParam(name) else None


def with_signature(cls: type[Stage]) -> type[Stage]:
    """Show the keywords and their defaults in help() and in notebooks."""
    keywords = [
        inspect.Parameter(item.name, inspect.Parameter.KEYWORD_ONLY, default=item.default)
        for item in cls.declared
    ]
    cls.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    return cls


def _setter(item: Declared) -> Callable[[Any, Any], Any]:
    def set_param(self: DeclaredParams, value: Any) -> Any:
        return self._set(**{item.name: value})

    set_param.__doc__ = f"Set `{item.name}`: {item.text}."
    return set_param


def _getter(item: Declared) -> Callable[[Any], Any]:
    def get_param(self: DeclaredParams) -> Any:
        return self.getOrDefault(item.name)

    get_param.__doc__ = f"The value of `{item.name}`, or its default."
    return get_param
