"""`/metrics` and `/healthz`, from a thread of the standard library's server.

One scrape a minute needs no more.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from fsir.errors import FsirError

IDLE_SECONDS = 10  # a client that sends nothing for so long is left alone

Page = Callable[[], tuple[int, str, bytes]]  # status, content type, body


class HttpServer:
    """Shows pages until it is closed; with port 0 it finds a free one."""

    def __init__(self, address: str, pages: dict[str, Page]) -> None:
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit() or int(port) > 65535:
            raise FsirError(f"--http {address!r}: give HOST:PORT, for example 127.0.0.1:9100")
        try:
            self._server = ThreadingHTTPServer((host.strip("[]"), int(port)), _handler(pages))
        except OSError as error:
            raise FsirError(
                f"--http {address!r}: {error}; choose another port or stop what uses it"
            ) from None
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, name="http", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Show nothing any more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def pages(metrics: Callable[[], bytes], health: Callable[[], dict[str, object]]) -> dict[str, Page]:
    """The two pages of the aggregator."""

    def healthz() -> tuple[int, str, bytes]:
        answer = health()
        return (200 if answer["ok"] else 503), "application/json", json.dumps(answer).encode()

    return {
        "/metrics": lambda: (200, "text/plain; version=0.0.4; charset=utf-8", metrics()),
        "/healthz": healthz,
    }


def _handler(pages: dict[str, Page]) -> type[BaseHTTPRequestHandler]:
    def nothing() -> tuple[int, str, bytes]:
        return 404, "text/plain", f"nothing here; try {', '.join(pages)}\n".encode()

    class Handler(BaseHTTPRequestHandler):
        timeout = IDLE_SECONDS

        def do_GET(self) -> None:
            status, kind, body = pages.get(self.path.partition("?")[0], nothing)()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Scrapes are not worth a line each."""

    return Handler
