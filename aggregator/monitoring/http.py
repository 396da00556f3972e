"""`/metrics`, `/healthz` and the live page, from threads of the standard library's server.

It carries this simply: one scrape a minute, and about ten browsers that each wait on one stream. So
nothing more need be installed. What it does not do, others are better at: encryption and accounts
are a reverse proxy's. Threads are bounded, and who reads too slowly is let go.
"""

from __future__ import annotations

import errno
import json
import logging
import socket
from collections.abc import Callable
from threading import Thread

from aggregator.monitoring.access import Access
from aggregator.monitoring.requests import OPEN, Answer, Page, Request, Stream, handler_of
from fsir.errors import FsirError
from fsir.net.web.bounded import BoundedServer
from fsir.net.web.hosts import is_loopback

__all__ = ["Answer", "HttpServer", "Page", "Request", "Stream", "pages"]

log = logging.getLogger("fsir.http")
MOST_CLIENTS = 64


class HttpServer:
    """Shows pages until it is closed; with port 0 it finds a free one."""

    def __init__(
        self,
        address: str,
        pages: dict[str, Page],
        streams: dict[str, Stream] | None = None,
        access: Callable[[bool], Access] = lambda local: OPEN,
    ) -> None:
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit() or int(port) > 65535:
            raise FsirError(f"--http {address!r}: give HOST:PORT, for example 127.0.0.1:9100")
        self._host = host
        handler = handler_of(pages, streams or {})
        try:
            self._server = BoundedServer(host.strip("[]"), int(port), handler, MOST_CLIENTS)
        except OSError as error:
            raise FsirError(f"--http {address!r}: {error}; {_remedy(error)}") from None
        local = is_loopback(str(self._server.server_address[0]))
        handler.access = access(local)
        if not local and not handler.access.closed:
            self._server.server_close()
            raise FsirError(
                f"--http {address!r}: everybody in the network could look; listen on 127.0.0.1, or "
                "ask for a token (--http-token-file FILE) or for the word of a reverse proxy on "
                "this machine (--http-user-header NAME)"
            )
        self._thread = Thread(target=self._server.serve_forever, name="http", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._server.port

    @property
    def url(self) -> str:
        """Where the pages are."""
        return f"http://{self._host}:{self.port}/"

    def close(self) -> None:
        """Show nothing any more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _remedy(error: OSError) -> str:
    """Whether it is the host or the port that will not do."""
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return "give an address of this machine, such as 127.0.0.1"
    return "choose another port or stop what uses it"


def pages(
    metrics: Callable[[str], tuple[str, bytes]], health: Callable[[], dict[str, object]]
) -> dict[str, Page]:
    """The two pages that programs read."""

    def healthz(request: Request) -> Answer:
        found = health()
        answer = found if request.trusted else {"ok": found["ok"]}
        return (200 if found["ok"] else 503), "application/json", json.dumps(answer).encode()

    return {
        "/metrics": lambda request: (200, *metrics(request.accept)),
        "/healthz": healthz,
    }
