"""A real browser for tests of pages: Debian's Chromium, driven by Playwright.

    def test_something(tab):
        one = tab("http://127.0.0.1:8765/", width=390)
        one.page.get_by_role("button", name="walking").click()
        assert one.errors == []

Without Chromium such a test skips loudly, and with CI=true it fails. Nothing is loaded but what the
page itself asks for, and what that was is in `requests`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.needs import find, need

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """One browser for the tests of a module; longer, and its event loop would be in others' way."""
    need("chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find("chromium"), args=list(FLAGS))
        yield browser
        browser.close()


class Tab:
    """One page in a profile of its own: what it asked for, and what went wrong in it."""

    def __init__(self, browser: Any, url: str, width: int, height: int, dark: bool) -> None:
        self._context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
        )
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page = self._context.new_page()
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(url)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def too_wide(self) -> int:
        """By how many pixels the page is wider than the window."""
        return int(
            self.page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
        )

    def protocol(self) -> Any:
        """A session of the DevTools protocol."""
        return self._context.new_cdp_session(self.page)

    def close(self) -> None:
        self._context.close()


@pytest.fixture
def tab(chromium: Any) -> Iterator[Callable[..., Tab]]:
    """Opens pages, and closes them after the test."""
    with ExitStack() as leaving:

        def open_tab(url: str, width: int = 1200, height: int = 900, dark: bool = False) -> Tab:
            opened = Tab(chromium, url, width, height, dark)
            leaving.callback(opened.close)
            return opened

        yield open_tab
