"""What the web server shows of the live page."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aggregator.monitoring.http import Answer, Page, Request, Stream
from aggregator.page import document
from aggregator.page.feed import Feed, Look
from fsir.errors import FsirError
from fsir.net.web.style import style_sheet

_FOLDER = Path(__file__).with_name("static")
_HTML = "text/html; charset=utf-8"
_TEXT = "text/plain; charset=utf-8"
_FILES = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
# Names of the devices of a task in a state, after a name; None if there is no such task or state.
Names = Callable[[str, str, str], dict[str, Any] | None]


class LivePage:
    """The page, its files, its stream of changes, and lists of names."""

    def __init__(self, look: Look, names: Names) -> None:
        self._files = {name: (_FOLDER / name).read_bytes() for name in _FILES}
        self._files["page.css"] = style_sheet(_FOLDER / "page.css").encode()
        self._shape = hashlib.sha256(b"".join(self._files.values())).hexdigest()[:16]
        self._names = names
        self._feed = Feed(look, document.parts, document.alarm, self._shape)

    def pages(self) -> dict[str, Page]:
        """By their paths."""
        files = {f"/{name}": self._file(name) for name in _FILES}
        return {"/": self._page, "/devices": self._devices} | files

    def streams(self) -> dict[str, Stream]:
        """What browsers wait on, by its path."""
        return {"/events": self._feed.events}

    @property
    def watchers(self) -> int:
        """How many browsers wait."""
        return self._feed.watchers

    def close(self) -> None:
        """Let the browsers go that wait."""
        self._feed.close()

    def _page(self, _: Request) -> Answer:
        return 200, _HTML, document.page(self._feed.parts(), self._shape).encode()

    def _file(self, name: str) -> Page:
        return lambda _: (200, _FILES[name], self._files[name])

    def _devices(self, request: Request) -> Answer:
        task = request.query.get("task", "")
        state = request.query.get("state", "")
        try:
            found = self._names(task, state, request.query.get("after", ""))
        except FsirError as error:
            return 503, _TEXT, f"{error}\n".encode()
        if found is None:
            return 404, _TEXT, b"there is no such task, or no such state; try /\n"
        return 200, _HTML, document.names(task, found).encode()
