"""The written pages: README.md, CONTRIBUTING.md and docs/. Their code, their commands, their table.

    python -m tests.support.pages            # renews the table of Params
    python -m tests.support.pages outputs    # runs the code, and renews the output it shows

A fenced block of python or sh is run by a test, unless the line before it says "not tested here".
A text block right after a python block is what that code prints.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from figs_spark import BaggedFIGSClassifier, FIGSClassifier, FIGSRegressor, GFIGSClassifier
from figs_spark.stages.params.declared import Declared

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
UNTESTED = "<!-- not tested here -->"
BLOCK = re.compile(
    rf"^(?P<untested>{UNTESTED}\n)?```(?P<language>\w+)\n(?P<body>.*?)^```\n"
    r"(?:\n```text\n(?P<output>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)
RENEW = "A page shows another output. Run: python -m tests.support.pages outputs"
FINGERPRINT = re.compile(r"Fingerprint [0-9a-f ]+")
NUMBER = re.compile(r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page; `output` is what the page says that it prints."""

    language: str
    body: str
    output: str | None
    tested: bool
    before: str  # the text of the page above it


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[Block]:
    text = page.read_text("utf-8")
    return [
        Block(language, m["body"], m["output"], not m["untested"], text[: m.start()])
        for m in BLOCK.finditer(text)
        if m["language"] == language
    ]


def commands(page: Path, tested: bool = True) -> list[list[str]]:
    """The command lines of its sh blocks, in words; a backslash at the end joins two lines."""
    chosen = [block.body for block in blocks(page, "sh") if block.tested == tested]
    lines = "\n".join(chosen).replace("\\\n", " ").splitlines()
    without_comments = (re.sub(r"(^|\s)#.*$", "", line) for line in lines)
    return [words for line in without_comments if (words := shlex.split(line))]


@dataclass
class Reader:
    """Runs the python blocks of a page one by one, as its reader would, in one namespace.

    Paths under build/ are in `folder` instead.
    """

    page: Path
    folder: Path
    names: dict[str, Any]
    printed: str = ""
    rest: list[Block] = field(init=False)

    def __post_init__(self) -> None:
        self.rest = [block for block in blocks(self.page, "python") if block.tested]

    def run(self, contains: str) -> dict[str, Any]:
        """Run the next block, which contains this text; what it shows as its output is right."""
        block = self.rest.pop(0)
        assert contains in block.body, f"{name_of(self.page)}: '{contains}' is not in\n{block.body}"
        self.printed = run(block, self.folder, self.names)
        if block.output is not None:
            assert_same_text(self.printed, block.output)
        return self.names


def run(block: Block, folder: Path, names: dict[str, Any]) -> str:
    """What a block prints."""
    out = io.StringIO()
    with redirect_stdout(out):
        exec(block.body.replace("build/", f"{folder}/"), names)
    return out.getvalue()


def assert_same_text(printed: str, shown: str) -> None:
    """The same words; numbers may differ in their last digits, by the order of additions.

    The fingerprint of a model is a hash of all digits, and is not compared.
    """
    printed, shown = (FINGERPRINT.sub("", text) for text in (printed, shown))
    assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", shown).split(), f"{printed}\n{RENEW}"
    for ours, theirs in zip(NUMBER.findall(printed), NUMBER.findall(shown), strict=True):
        a, b = (float(text.replace(",", "")) for text in (ours, theirs))
        assert abs(a - b) <= 2e-5 + 1e-3 * abs(b), (
            f"{ours} is shown as {theirs} in\n{printed}\n{RENEW}"
        )


# The table of Params

BEGIN, END = "<!-- params: begin -->\n", "<!-- params: end -->"
PARAMS = ROOT / "docs" / "params.md"


def param_table() -> str:
    """All Params of the estimators, from their declarations."""
    classifiers_only = set(FIGSClassifier.declared) - set(FIGSRegressor.declared)
    parts = ["\n## FIGS\n", _table(FIGSClassifier.declared, classifiers_only)]
    for title, estimator in (("Bagging-FIGS", BaggedFIGSClassifier), ("G-FIGS", GFIGSClassifier)):
        names = {item.name for item in estimator.declared}
        lost = [f"`{d.name}`" for d in FIGSClassifier.declared if d.name not in names]
        other = [item for item in estimator.declared if item not in FIGSClassifier.declared]
        without = f"{title} has no {_listed(lost)}. " if lost else ""
        parts += [f"\n## {title}\n", f"{without}It has these besides, or with another default:\n"]
        parts.append(_table(other, classifiers_only))
    return "\n".join(parts) + "\n\n"


def _listed(words: list[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _table(declared: Iterable[Declared], classifiers_only: set[Declared]) -> str:
    lines = ["| Param | default | what |", "|---|---|---|"]
    for item in declared:
        only = " (classifier)" if item in classifiers_only else ""
        default = repr(item.default).replace("'", '"')
        lines.append(f"| `{item.name}` | `{default}` | {item.text}{only} |".replace("||", "\\|\\|"))
    return "\n".join(lines)


def shown_table() -> str:
    return PARAMS.read_text("utf-8").split(BEGIN)[1].split(END)[0]


def renew_table() -> None:
    before, rest = PARAMS.read_text("utf-8").split(BEGIN)
    PARAMS.write_text(before + BEGIN + param_table() + END + rest.split(END)[1], "utf-8")


# What code prints


def renew_outputs(page: Path, folder: Path, names: Mapping[str, Any]) -> None:
    """Run the page, and put what its blocks print where it shows an output."""
    namespace = dict(names)

    def renewed(match: re.Match[str]) -> str:
        if match["language"] != "python" or match["untested"]:
            return match[0]
        block = Block("python", match["body"], match["output"], True, "")
        printed = run(block, folder, namespace)
        code = f"```python\n{block.body}```\n"
        return code if block.output is None else f"{code}\n```text\n{_tidy(printed)}```\n"

    page.write_text(BLOCK.sub(renewed, page.read_text("utf-8")), "utf-8")
    for name, draw in PICTURES.get(name_of(page), {}).items():
        (ROOT / "docs" / "pictures" / name).write_text(draw(namespace), "utf-8")


def mlflow_store(folder: Path) -> dict[str, str]:
    """The environment in which MLflow keeps its runs in a folder, and to itself."""
    return {
        "MLFLOW_TRACKING_URI": (folder / "mlruns").as_uri(),
        "MLFLOW_ALLOW_FILE_STORE": "true",
        "DO_NOT_TRACK": "true",
    }


def _tidy(printed: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in printed.splitlines())


# Pictures that show what the code of a page made.
PICTURES: dict[str, dict[str, Callable[[dict[str, Any]], str]]] = {
    "docs/tutorials/data-scientist.md": {
        "explanation.svg": lambda names: str(names["explanation"].toSVG())
    }
}


def _renew_all_outputs() -> None:
    import tempfile

    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").getOrCreate()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= mlflow_store(Path(folder))
        for page in PAGES:
            if any(block.output is not None for block in blocks(page, "python")):
                renew_outputs(page, Path(folder), {"spark": spark})
    spark.stop()


if __name__ == "__main__":
    renew_table()
    if sys.argv[1:] == ["outputs"]:
        _renew_all_outputs()
