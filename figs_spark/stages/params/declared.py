"""The Params: each is declared once, here, with its default, its check and its text.

A stage lists the declarations it has (`declared = (MAX_SPLITS, ...)`); keyword arguments, setters
and getters follow from the list.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.ml.param import Param, Params

Stage = TypeVar("Stage", bound="DeclaredParams")


@dataclass(frozen=True)
class Declared:
    """One Param: `convert` turns what the user gave into the value or says what is wrong.

    None is a value where it is the default, or where `optional` says so.
    """

    name: str
    default: Any
    convert: Callable[[Any], Any]
    text: str
    optional: bool = False


class DeclaredParams(Params):
    """Params with a setter and a getter each, and keyword arguments, from their declarations."""

    declared: tuple[Declared, ...] = ()

    if TYPE_CHECKING:  # setters and getters, which a type checker cannot see

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for item in cls.__dict__.get("declared", ()):
            setattr(cls, item.name, Param(Params._dummy(), item.name, item.text, item.convert))
            title = item.name[0].upper() + item.name[1:]
            if not hasattr(cls, f"set{title}"):
                setattr(cls, f"set{title}", _setter(item.name))
            if not hasattr(cls, f"get{title}"):
                setattr(cls, f"get{title}", _getter(item.name))

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self._setDefault(**{item.name: item.default for item in self.declared})
        self.setParams(**params)

    def given(self, name: str) -> Any:
        """The value of a Param; None where the stage does not have it."""
        return self.getOrDefault(name) if self.hasParam(name) else None

    def setParams(self: Stage, **params: Any) -> Stage:
        """Set several Params by name."""
        known = {item.name for item in self.declared}
        unknown = sorted(set(params) - known)
        if unknown:
            raise TypeError(
                f"{type(self).__name__} has no Param {', '.join(map(repr, unknown))}; "
                f"it has {', '.join(sorted(known))}."
            )
        return self._set(**params)

    def _set(self: Stage, **params: Any) -> Stage:
        required = {d.name for d in self.declared if d.default is not None and not d.optional}
        for name, value in params.items():
            if value is None and name in required:
                raise TypeError(f"{name} may not be None.")
            try:
                super()._set(**{name: value})
            except ValueError as error:
                raise ValueError(f"{name}: {error}.") from None
        return self


def with_signature(cls: type[Stage]) -> type[Stage]:
    """Show the keywords and their defaults in help() and in editors."""
    keywords = [
        inspect.Parameter(item.name, inspect.Parameter.KEYWORD_ONLY, default=item.default)
        for item in cls.declared
    ]
    cls.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    return cls


def _setter(name: str) -> Callable[[Any, Any], Any]:
    def set_param(self: DeclaredParams, value: Any) -> DeclaredParams:
        return self._set(**{name: value})

    set_param.__doc__ = f"Set `{name}`."
    return set_param


def _getter(name: str) -> Callable[[Any], Any]:
    def get_param(self: DeclaredParams) -> Any:
        return self.getOrDefault(name)

    get_param.__doc__ = f"The value of `{name}`, or its default."
    return get_param
