"""README.md, CONTRIBUTING.md and docs/: the paths, names, commands and sums they show are right."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

import figs_spark
from figs_spark.app.options import read_settings
from jobs.paper import command as paper
from tests.support.pages import (
    PAGES,
    ROOT,
    assert_same_text,
    blocks,
    commands,
    name_of,
    param_table,
    shown_table,
)

each = pytest.mark.parametrize("page", PAGES, ids=name_of)
PATH = re.compile(
    r"`((?:figs_spark|jobs|conf|docs|notebooks|tests|\.github)/[\w./-]*"
    r"|[\w.-]+\.(?:md|cff|yml|yaml|py|svg))`"
)
MADE = {"model.txt", "model.svg", "report.md", "train.yaml", "overview.svg"}  # by the jobs
NOT_RUN = {f"docs/{name}.md" for name in ("clusters", "databricks", "jobs", "paper")}
JOBS = {"jobs/train.py": "train", "jobs/score.py": "score", "jobs/evaluate.py": "evaluate"}


def text_of(page: Path) -> str:
    return page.read_text("utf-8")


def test_the_table_of_params_is_current() -> None:
    assert shown_table() == param_table(), "run: python -m tests.support.pages"


def test_the_readme_is_short_and_begins_with_two_commands() -> None:
    assert len(text_of(ROOT / "README.md").encode()) < 10_500
    assert commands(ROOT / "README.md") == [["make", "demo"], ["make", "test"]]


@each
def test_paths_that_a_page_names_exist(page: Path) -> None:
    named = set(PATH.findall(text_of(page))) - MADE
    assert {path for path in named if not (ROOT / path).exists()} == set()


@pytest.mark.parametrize("page", PAGES[:2], ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", text_of(page))
    assert links
    lost = {link for link in links if "://" not in link and not (page.parent / link).exists()}
    assert lost == set()


@each
def test_modules_and_public_names_that_a_page_names_exist(page: Path) -> None:
    for dotted in re.findall(r"`(figs_spark(?:\.\w+)+)`", text_of(page)):
        module, _, name = dotted.rpartition(".")
        owner = import_module(module)
        assert hasattr(owner, name) or import_module(dotted), dotted


def rows_with_names() -> Iterator[tuple[str, list[str]]]:
    """The rows of CONTRIBUTING's tables that say which names a file has."""
    for line in text_of(ROOT / "CONTRIBUTING.md").splitlines():
        row = re.match(
            r"\|(?:[^|]*\|)?? \[`([\w/]+\.py)`\]\(\1\) \| ((?:`[\w.]+`(?:, )?)+) \|", line
        )
        if row:
            yield row[1], re.findall(r"`([\w.]+)`", row[2])


def defined(path: str) -> set[str]:
    """Functions, classes, their methods and the constants of a module."""
    names: set[str] = set()
    for node in ast.parse((ROOT / path).read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{n.name}" for n in node.body if isinstance(n, ast.FunctionDef)}
        if isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def test_names_that_contributing_gives_a_file_are_in_it() -> None:
    rows = list(rows_with_names())
    assert len(rows) >= 25
    lost = {(path, name) for path, names in rows for name in set(names) - defined(path)}
    assert lost == set()


@pytest.mark.parametrize(
    "what", ["where a split is chosen", "missing values are sent", "a Param is", "G-FIGS weights"]
)
def test_contributing_says_where_it_is(what: str) -> None:
    text = text_of(ROOT / "CONTRIBUTING.md")
    assert any(what in line and "](figs_spark/" in line for line in text.splitlines())
    assert "](CONTRIBUTING.md)" in text_of(ROOT / "README.md")


def test_the_rooms_are_those_of_the_package() -> None:
    text = text_of(ROOT / "CONTRIBUTING.md")
    rooms = {path.parent.name for path in (ROOT / "figs_spark").glob("*/__init__.py")}
    assert set(re.findall(r"^\| \[`figs_spark/(\w+)/`\]", text, re.MULTILINE)) == rooms


# Commands


def submitted(words: list[str]) -> tuple[str, list[str]] | None:
    """The job that a command starts, with its options."""
    if words[0] == "figs-spark":
        return words[1], words[2:]
    for at, word in enumerate(words):
        for path, job in JOBS.items():
            if word.endswith(path):
                return job, words[at + 1 :]
    return None


@each
def test_commands_are_right(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for words in [*commands(page), *commands(page, tested=False)]:
        if words[0] == "make":
            assert words[1] in targets
        elif words[:2] == ["spark-submit", "jobs/paper.py"]:
            paper.parser().parse_args(words[2:])
        elif (job := submitted(words)) is not None:
            name, options = job
            module = import_module(f"figs_spark.app.{name.replace('-', '_')}")
            module.check(read_settings(module.SETTINGS, name, at_root(options)))
        else:
            assert words[0] in {"pip", "python", "environment/bin/pip", "databricks"}, words


def at_root(options: list[str]) -> list[str]:
    """With the files of conf/ where they are; `--files` puts them beside a driver in a cluster."""
    return [str(ROOT / "conf" / Path(w).name) if w.endswith(".yaml") else w for w in options]


@each
def test_make_targets_in_the_text_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"`make ([a-z-]+)", text_of(page)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@each
def test_what_is_not_tested_says_so_and_is_python(page: Path) -> None:
    for language in ("python", "sh"):
        for block in blocks(page, language):
            if not block.tested:
                section = block.before.rpartition("\n## ")[2].replace(
                    "<!-- not tested here -->", ""
                )
                assert "not tested here" in section.lower()
                assert name_of(page) in NOT_RUN
                if language == "python":
                    ast.parse(block.body)


@pytest.mark.parametrize("name", ["README.md", "docs/index.md", "docs/faq.md"])
def test_pages_say_what_is_not_tested(name: str) -> None:
    text = text_of(ROOT / name)
    assert re.search(r"tested here", text)
    for place in ("Databricks", "YARN", "Kubernetes"):
        assert place in text


@each
def test_versions_are_that_of_the_package(page: Path) -> None:
    for version in re.findall(r"figs[-_]spark[-:](\d+\.\d+\.\d+)", text_of(page)):
        assert version == figs_spark.__version__


def test_citation_and_changelog_have_the_version() -> None:
    citation = yaml.safe_load(text_of(ROOT / "CITATION.cff"))
    assert citation["version"] == figs_spark.__version__
    released = citation["date-released"]
    assert f"## {figs_spark.__version__} - {released}" in text_of(ROOT / "CHANGELOG.md")
    names = [author["family-names"] for author in citation["preferred-citation"]["authors"]]
    assert names[:4] == ["Tan", "Singh", "Nasseri", "Agarwal"]


def test_every_public_name_is_on_its_page() -> None:
    listed = re.findall(r"^::: figs_spark\.(\w+)$", text_of(ROOT / "docs/api.md"), re.MULTILINE)
    assert sorted(listed) == sorted([*figs_spark.__all__, "datasets", "mlflow"])


# The sum that the clinician's page does by hand


def test_the_worked_example_adds_up() -> None:
    text = text_of(ROOT / "docs/tutorials/clinician.md")
    printed = re.search(r"```text\n(.*?)```", text, re.DOTALL)
    assert printed is not None
    trees = re.split(r"^Tree \d+", printed[1], flags=re.MULTILINE)[1:]
    rows = re.findall(r"^\| (\d) \| (.+) \| ([-+]\d\.\d+) \|$", text, re.MULTILINE)
    assert [int(tree) for tree, *_ in rows] == list(range(1, len(trees) + 1))
    for tree, conditions, value in rows:
        lines = trees[int(tree) - 1].splitlines()
        for condition in re.findall(r"`([^`]+)`", conditions):
            assert any(f" {condition} " in f"{line} " for line in lines), condition
        last = re.findall(r"`([^`]+)`", conditions)[-1]
        assert any(last in line and f" {value} " in line for line in lines), (last, value)
    total = sum(float(value) for *_, value in rows)
    assert f"**{total:+.5f}**" in text
    assert f"The estimated risk is {total:.0%}" in text


@pytest.mark.parametrize(
    ("printed", "shown", "same"),
    [
        ("loss 0.12345", "loss 0.12346", True),
        ("rows 1,234", "rows 1,234", True),
        ("loss 0.12345", "loss 0.13", False),
        ("loss 0.1", "gain 0.1", False),
        ("rows 1,234", "rows 1,334", False),
    ],
)
def test_a_wrong_output_is_noticed(printed: str, shown: str, same: bool) -> None:
    if same:
        assert_same_text(printed, shown)
    else:
        with pytest.raises(AssertionError):
            assert_same_text(printed, shown)


# Files for other tools


def test_the_workflow_runs_what_a_developer_runs() -> None:
    workflow = yaml.safe_load(text_of(ROOT / ".github/workflows/test.yml"))
    job = workflow["jobs"]["test"]
    assert job["strategy"]["matrix"]["python"] == ["3.10", "3.12"]
    assert "make test" in [step.get("run") for step in job["steps"]]


def test_hooks_fetch_nothing_and_use_the_environment_of_make() -> None:
    (source,) = yaml.safe_load(text_of(ROOT / ".pre-commit-config.yaml"))["repos"]
    assert source["repo"] == "local"
    assert {hook["language"] for hook in source["hooks"]} == {"system"}
    assert all(hook["entry"].startswith(".venv/bin/python -m ") for hook in source["hooks"])


def test_every_dependency_has_a_lower_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("setuptools")
    asked: dict[str, Any] = {}
    monkeypatch.setattr("setuptools.setup", lambda **options: asked.update(options))
    runpy.run_path(str(ROOT / "setup.py"))
    needs = [*asked["install_requires"], *chain(*asked["extras_require"].values())]
    assert len(needs) > 20
    assert {need for need in needs if ">=" not in need} == {"six"}
