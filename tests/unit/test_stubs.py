"""The generated stub: it is current, and says what the classes say when they run."""

from __future__ import annotations

import ast
import inspect

import pytest

import figs_spark
from conf.make_stubs import STUB, stub
from figs_spark.stages.params.declared import DeclaredParams

CLASSES = {
    node.name: node
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body
    if isinstance(node, ast.ClassDef)
}
STAGES = [
    name
    for name in figs_spark.__all__
    if isinstance(cls := getattr(figs_spark, name), type) and issubclass(cls, DeclaredParams)
]


def test_the_stub_is_current() -> None:
    assert STUB.read_text(encoding="utf-8") == stub(), "run: make stubs"


def test_it_defines_all_stages_and_imports_the_rest() -> None:
    assert {name for name in CLASSES if name[0] != "_"} == set(STAGES)
    body = ast.parse(STUB.read_text(encoding="utf-8")).body
    imports = [node for node in body if isinstance(node, ast.ImportFrom)]
    names = {alias.asname for node in imports for alias in node.names}
    assert set(figs_spark.__all__) - set(STAGES) <= names


def bases(name: str) -> set[str]:
    """The classes in the stub that one inherits from."""
    direct = {ast.unparse(base) for base in CLASSES[name].bases} & set(CLASSES)
    return direct.union(*(bases(base) for base in direct))


def methods(name: str) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in CLASSES[name].body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("name", STAGES)
def test_setters_and_getters(name: str) -> None:
    cls = getattr(figs_spark, name)
    assert {base for base in bases(name) if base.startswith("_Has")} == {
        f"_Has{item.title}" for item in cls.declared
    }
    for item in cls.declared:
        shown = set(methods(f"_Has{item.title}"))
        assert shown == {f"set{item.title}", f"get{item.title}"}
        assert all(callable(getattr(cls, method)) for method in shown)


@pytest.mark.parametrize("name", [name for name in STAGES if not name.endswith("Model")])
def test_keywords(name: str) -> None:
    cls = getattr(figs_spark, name)
    arguments = methods(name)["__init__"].args
    defaults = [ast.literal_eval(default) for default in arguments.kw_defaults if default]
    keywords = dict(zip((a.arg for a in arguments.kwonlyargs), defaults, strict=True))
    signature = inspect.signature(cls).parameters
    assert keywords == {word: parameter.default for word, parameter in signature.items()}
