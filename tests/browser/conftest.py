"""Chromium, and pages opened in it that may neither complain nor reach the network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conf import chromium

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    path = chromium.find()
    if path is None:
        pytest.skip(f"Chromium is not installed. Run: {chromium.advice()}")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


class Opened:
    """A page in the browser, and what it asked for and said."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.requests: list[str] = []
        self.said: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))

    def run(self, script: str, argument: Any = None) -> Any:
        return self.page.evaluate(script, argument)


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Open the text of a page as a file; at the end, it must have been silent and offline."""
    contexts, pages = [], list[Opened]()

    def opened(text: str, width: int = 1280, height: int = 900, scheme: str = "light") -> Opened:
        path = tmp_path / f"page{len(pages)}.html"
        path.write_text(text, "utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        contexts.append(context)
        page = Opened(context.new_page())
        pages.append(page)
        page.page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    for page in pages:
        assert page.said == []
        assert [url.partition("://")[0] for url in page.requests] == ["file"]
