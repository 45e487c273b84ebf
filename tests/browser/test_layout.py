"""The page on a phone, on a desk, at night and on paper, and for those who do not see it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.pages import pages

A4_WIDTH = 695  # pixels between the margins

# Every control has a name that a screen reader can say, and every picture has a title.
NAMELESS = """() => [
  ...[...document.querySelectorAll("input, select, button")].filter((control) =>
    !(control.labels && control.labels.length) && !control.textContent.trim()),
  ...[...document.querySelectorAll("svg")].filter((picture) =>
    !picture.querySelector("title").textContent.trim()),
  ...[...document.querySelectorAll("fieldset")].filter((set) =>
    !set.querySelector("legend").textContent.trim()),
].map((item) => item.outerHTML.slice(0, 200))"""

# On a phone a chart, the checklist and the head of a list are seen whole; only wide tables and
# pictures of trees scroll.
CUT_OFF = """() => [
  ...[...document.querySelectorAll(".pictures .picture, #checklist .scrolls")].filter((box) =>
    box.scrollWidth > box.clientWidth + 1),
  ...[...document.querySelectorAll("caption:not(.heard)")].filter((caption) =>
    caption.getClientRects().length > 0 && caption.clientWidth < 150),
].map((item) => item.outerHTML.slice(0, 200))"""

IDS = "() => [...document.querySelectorAll('[id]')].map((item) => item.id)"
REFERRED = """() => [...document.querySelectorAll("*")].flatMap((item) =>
  ["for", "aria-describedby", "aria-labelledby"].flatMap((name) =>
    (item.getAttribute(name) || "").split(" ").filter(Boolean))
    .concat((item.getAttribute("href") || "#").slice(1)).filter(Boolean))"""

# The contrast of each text that is seen with what is behind it, by the formula of WCAG 2.
CONTRAST = """() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = parts(colour).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const solid = (colour) => parts(colour)[3] === undefined || parts(colour)[3] > 0.99;
  const behind = (item) => {
    for (let at = item; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (solid(colour) && colour !== "rgba(0, 0, 0, 0)") return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const texts = [...document.querySelectorAll("body *:not(script):not(svg *)")].filter((item) =>
    [...item.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()) &&
    item.getClientRects().length > 0);
  return texts.map((item) => {
    const [a, b] = [light(getComputedStyle(item).color), light(behind(item))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    return [ratio, item.textContent.trim().slice(0, 60), behind(item)];
  });
}"""


def filled(page: Any) -> None:
    """Something is typed, so that the result is seen as well."""
    for control in page.query_selector_all("#calculator-form input[type=text]"):
        control.fill("5")
    for control in page.query_selector_all("#calculator-form select"):
        control.select_option(index=1)


@pytest.mark.parametrize("name", pages())
def test_a_narrow_screen_scrolls_down_only(name: str, show: Callable[..., Any]) -> None:
    page = show(pages()[name](), width=390, height=844)
    filled(page.page)
    assert page.run("() => document.documentElement.scrollWidth") <= 390
    assert page.run(CUT_OFF) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", pages())
def test_texts_can_be_read(name: str, scheme: str, show: Callable[..., Any]) -> None:
    """The contrast is AA, also of the result and its warnings."""
    page = show(pages()[name](), scheme=scheme)
    filled(page.page)
    contrasts = page.run(CONTRAST)
    assert len(contrasts) > 30
    assert [found for found in contrasts if found[0] < 4.5] == []


@pytest.mark.parametrize("name", pages())
def test_everything_has_a_name(name: str, show: Callable[..., Any]) -> None:
    page = show(pages()[name]())
    assert page.run(NAMELESS) == []
    ids = page.run(IDS)
    assert len(ids) == len(set(ids))
    assert set(page.run(REFERRED)) <= set(ids)
    assert page.page.get_attribute("html", "lang") == "en"


@pytest.mark.parametrize("name", pages())
def test_paper_is_wide_enough(name: str, show: Callable[..., Any]) -> None:
    """If anything is wider than the paper, the browser prints everything in small type."""
    page = show(pages()[name](), width=A4_WIDTH)
    page.page.emulate_media(media="print")
    assert page.run("() => document.documentElement.scrollWidth") <= A4_WIDTH


def test_on_paper_the_calculator_is_a_card(show: Callable[..., Any], tmp_path: Path) -> None:
    page = show(pages()["figs"]()).page
    page.emulate_media(media="print")
    assert not page.is_visible("#calculator-form")
    assert page.is_visible(".card")
    printed = page.pdf(path=tmp_path / "page.pdf", prefer_css_page_size=True)
    assert printed.startswith(b"%PDF")
    assert b"/MediaBox [0 0 594.95996 841.91998]" in printed
