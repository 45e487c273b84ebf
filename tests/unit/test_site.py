"""`make docs`: the website builds without a warning, and asks nobody else for anything."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
pytest.importorskip("mkdocs")
pytest.importorskip("mkdocstrings")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_in_the_menu(site: Path) -> None:
    menu = re.findall(r":\s*([\w/-]+\.md)", (ROOT / "mkdocs.yml").read_text("utf-8"))
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert set(menu) == pages
    for page in pages:
        assert (site / page).with_suffix(".html").exists()


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    fetched = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*(?:src|href)=\"(?:https?:)?//")
    imported = re.compile(r"(?:@import|url\()\s*[\"']?(?:https?:)?//")
    for page in site.rglob("*.html"):
        assert not fetched.search(page.read_text("utf-8")), page
    for sheet in site.rglob("*.css"):
        assert not imported.search(sheet.read_text("utf-8")), sheet
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert yaml.safe_load(settings)["theme"]["font"] is False


def test_public_names_have_their_docstring_and_internal_ones_are_not_shown(site: Path) -> None:
    page = (site / "api.html").read_text("utf-8")
    assert "The model as it was after its first k splits" in page
    assert "The area under the ROC curve, with DeLong" in page
    assert "_choose" not in page
    assert "_score_array" not in page


def test_the_changelog_is_that_of_the_checkout(site: Path) -> None:
    page = (site / "changelog.html").read_text("utf-8")
    for title in re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE):
        assert title in page
