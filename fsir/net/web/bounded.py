"""A web server of the standard library with a bounded number of threads."""

from __future__ import annotations

import logging
import socket
import sys
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from threading import BoundedSemaphore
from typing import Any

log = logging.getLogger("fsir.http")


class BoundedServer(ThreadingMixIn, TCPServer):
    """One thread for each client; whoever comes when all places are taken is hung up on."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(
        self, host: str, port: int, handler: type[BaseHTTPRequestHandler], most_clients: int
    ) -> None:
        if ":" in host:
            self.address_family = socket.AF_INET6
        self.request_queue_size = most_clients
        self._places = BoundedSemaphore(most_clients)
        super().__init__((host, port), handler)

    @property
    def port(self) -> int:
        """Where it listens; port 0 lets the system choose."""
        return int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread, if there is one left."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """One request."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that hangs up in the middle is no news."""
        if not isinstance(sys.exc_info()[1], OSError):
            log.exception("a page failed")
