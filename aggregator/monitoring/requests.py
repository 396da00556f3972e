"""One request: who asks, for what, and the answer. Nothing can be changed here."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from http.server import BaseHTTPRequestHandler
from threading import BoundedSemaphore
from typing import NamedTuple
from urllib.parse import parse_qsl

from aggregator.monitoring.access import Access
from fsir.errors import FsirError
from fsir.net.web.headers import HEADERS

IDLE_SECONDS = 10  # a client that sends or takes nothing for so long is left alone
MOST_STREAMS = 32  # fewer than clients: scrapes find a place whoever watches
_MOST_FIELDS = 32
_TEXT = "text/plain; charset=utf-8"
_CROWDED = "too many pages are open: close one of them\n"
_LOGGED_IN = (  # not a redirect: a browser that came from elsewhere would not show the cookie
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>FSIR aggregator</title>'
    '<meta http-equiv="refresh" content="0;url=/"><p><a href="/">To the page</a>'
)


class Request(NamedTuple):
    """What somebody has asked for."""

    query: dict[str, str]  # of a name that comes twice the last value
    accept: str  # the formats that it takes, as the header says it
    trusted: bool = True  # whether they may see everything


Answer = tuple[int, str, bytes]  # status, content type, body
Page = Callable[[Request], Answer]
Stream = Callable[[], Generator[bytes]]  # events until the page is closed
OPEN = Access()


class Handler(BaseHTTPRequestHandler):
    """One request; `handler_of` says what there is to see."""

    timeout = IDLE_SECONDS
    access: Access = OPEN
    pages: dict[str, Page]
    streams: dict[str, Stream]
    places: BoundedSemaphore

    def do_GET(self) -> None:
        """A page, or a stream of events."""
        path, _, words = self.path.partition("?")
        query = _values(words)
        if self.access.logs_in(path, query):
            cookie = self.access.cookie()
            self._answer(200, "text/html; charset=utf-8", _LOGGED_IN.encode(), cookie=cookie)
            return
        refusal = self.access.refusal(self.headers, str(self.client_address[0]))
        if refusal is not None and not self.access.is_open(path):
            self._answer(refusal[0], _TEXT, refusal[1].encode())
        elif path in self.streams:
            self._stream(self.streams[path])
        else:
            accept = self.headers.get("Accept", "")
            request = Request(query, accept, trusted=refusal is None)
            self._answer(*self._shown(path, request))

    def _shown(self, path: str, request: Request) -> Answer:
        try:
            return self.pages.get(path, self._nothing)(request)
        except FsirError as error:  # a store that cannot be read now, for example
            return 503, _TEXT, f"{error}\n".encode()

    do_HEAD = do_GET  # noqa: N815

    def _read_only(self) -> None:
        self._answer(405, _TEXT, b"there is nothing to change here\n")

    do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _read_only  # noqa: N815

    def _nothing(self, _: Request) -> Answer:
        return 404, _TEXT, f"nothing here; try {', '.join(self.pages)}\n".encode()

    def _answer(self, status: int, kind: str, body: bytes, cookie: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if cookie:
            self.send_header("Set-Cookie", cookie)
        if status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        if status == 405:
            self.send_header("Allow", "GET, HEAD")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _stream(self, events: Stream) -> None:
        if not self.places.acquire(blocking=False):
            self._answer(503, _TEXT, _CROWDED.encode())
            return
        try:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream; charset=utf-8")
            self.end_headers()
            if self.command != "HEAD":
                with closing(events()) as pieces:
                    for piece in pieces:
                        self.wfile.write(piece)
        finally:
            self.places.release()

    def end_headers(self) -> None:
        """With those that every answer has."""
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def version_string(self) -> str:
        """Nobody needs to know more."""
        return "fsir-aggregator"

    def log_message(self, format: str, *args: object) -> None:
        """Scrapes are not worth a line each."""


def handler_of(shown: dict[str, Page], flowing: dict[str, Stream]) -> type[Handler]:
    class Ours(Handler):
        pages = shown
        streams = flowing
        places = BoundedSemaphore(MOST_STREAMS)

    return Ours


def _values(query: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(query, max_num_fields=_MOST_FIELDS))
    except ValueError:
        return {}
