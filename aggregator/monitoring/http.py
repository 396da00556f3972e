"""`/metrics` and `/healthz`, from a thread of the standard library's server: one scrape a minute needs no more."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from fsir.errors import FsirError

Page = Callable[[], tuple[int, str, bytes]]  # status, content type, body


class HttpServer:
    """Serves pages until it is closed; with port 0 it finds a free one."""

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
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def pages(metrics: Callable[[], bytes], health: Callable[[], dict[str, object]]) -> dict[str, Page]:
    """The two pages of the aggregator."""

    def healthz() -> tuple[int, str, bytes]:
        found = health()
        return (200 if found["ok"] else 503), "application/json", json.dumps(found).encode()

    return {
        "/metrics": lambda: (200, "text/plain; version=0.0.4; charset=utf-8", metrics()),
        "/healthz": healthz,
    }


def _handler(pages: dict[str, Page]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10  # of a client that sends nothing

        def do_GET(self) -> None:
            page = pages.get(self.path.partition("?")[0])
            known = ", ".join(pages)
            status, kind, body = (
                page() if page else (404, "text/plain", f"nothing here; try {known}\n".encode())
            )
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Scrapes are not worth a line each."""

    return Handler
