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


@pytest.mark.parametrize("name", STAGES)
def test_keywords_setters_and_getters(name: str) -> None:
    cls = getattr(figs_spark, name)
    methods = {node.name: node for node in CLASSES[name].body if isinstance(node, ast.FunctionDef)}
    for method in ("__init__", "setParams"):
        arguments = methods[method].args
        defaults = [ast.literal_eval(d) for d in arguments.kw_defaults if d is not None]
        written = dict(zip((a.arg for a in arguments.kwonlyargs), defaults, strict=True))
        assert written == {item.name: item.default for item in cls.declared}
    inherited = [ast.unparse(base) for base in CLASSES[name].bases]
    for item in cls.declared:
        assert f"_Has{item.title}" in inherited
        shown = {
            f.name for f in CLASSES[f"_Has{item.title}"].body if isinstance(f, ast.FunctionDef)
        }
        assert shown == {f"set{item.title}", f"get{item.title}"}
        assert all(callable(getattr(cls, method)) for method in shown)
    if name.endswith(("Classifier", "Regressor")):
        assert list(inspect.signature(cls).parameters) == [item.name for item in cls.declared]
