"""The web server of the owner's page: few routes, few threads, and the standard library.

It waits for browsers and for nothing else: with no page open, nothing runs.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from edge_agent.page.access import Access
from edge_agent.page.owner import Owner
from fsir.errors import FsirError
from fsir.net.web.bounded import BoundedServer
from fsir.net.web.headers import HEADERS
from fsir.net.web.style import style_sheet

MOST_CLIENTS = 16
CLIENT_SECONDS = 10  # in which a client must say something
IDLE_SECONDS = 10.0  # without a client, after which the agent is left alone
_LARGEST_FORM = 8192  # bytes
_FOLDER = Path(__file__).with_name("static")
_STATIC = {
    "/page.css": "text/css; charset=utf-8",
    "/page.js": "text/javascript; charset=utf-8",
    "/icon.svg": "image/svg+xml",
}
_HTML = "text/html; charset=utf-8"
_TEXT = "text/plain; charset=utf-8"


class PageServer(BoundedServer):
    """Shows the page until it is closed; with port 0 it finds a free one."""

    def __init__(self, host: str, port: int, owner: Owner, access: Access) -> None:
        self.owner = owner
        self.access = access
        self._closing = False
        super().__init__(host, port, Handler, MOST_CLIENTS)

    def serve(self) -> None:
        """Wait for browsers."""
        while not self._closing:
            self.handle_request()

    def handle_timeout(self) -> None:
        """No browser for a while: sleep until there is one."""
        self.timeout = None
        self.owner.hush()

    def close(self) -> None:
        """Show nothing any more; for a test, which has another thread in `serve`."""
        self._closing = True
        socket.create_connection(("127.0.0.1", self.port)).close()
        self.server_close()
        self.owner.hush()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Somebody looks: watch for when nobody does any more."""
        self.timeout = IDLE_SECONDS
        super().process_request(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """One request of a browser."""

    server: PageServer
    timeout = CLIENT_SECONDS

    def version_string(self) -> str:
        """Nobody needs to know more."""
        return "fsir-agent"

    def log_message(self, format: str, *args: object) -> None:
        """What an owner looks at is not for a log."""

    # --- routes -----------------------------------------------------------------------------------

    def do_GET(self) -> None:
        """The page, or one of its files."""
        if not self._may_come():
            return
        path = self.path.partition("?")[0]
        if path == "/":
            self._answer(HTTPStatus.OK, _HTML, self.server.owner.page(self.server.access.csrf))
        elif path in _STATIC:
            self._answer(HTTPStatus.OK, _STATIC[path], _static(_FOLDER / path[1:]))
        else:
            self._answer(HTTPStatus.NOT_FOUND, _TEXT, "there is no such page; try /\n")

    def do_POST(self) -> None:
        """A press."""
        if not self._may_come():
            return
        form = self._form()
        origin = self.headers.get("Origin")
        site = self.headers.get("Sec-Fetch-Site")
        csrf = form.get("csrf", "")
        if not self.server.access.takes(csrf, self.headers.get("Host"), origin, site):
            words = "this press did not come from the page as it is now: open the page anew\n"
            self._answer(HTTPStatus.FORBIDDEN, _TEXT, words)
            return
        actions = {
            "/label": lambda: self.server.owner.press(form["label"]),
            "/release": lambda: self.server.owner.let_go(form["task"]),
        }
        self._act(actions.get(self.path))

    def _act(self, action: Callable[[], None] | None) -> None:
        try:
            if action is None:
                raise KeyError
            action()
        except KeyError:
            self._answer(HTTPStatus.NOT_FOUND, _TEXT, "there is no such button\n")
        except FsirError as error:
            self._answer(HTTPStatus.UNPROCESSABLE_ENTITY, _TEXT, f"{error}\n")
        else:
            self._answer(HTTPStatus.SEE_OTHER, _TEXT, "", Location="/")

    # --- who it is --------------------------------------------------------------------------------

    def _may_come(self) -> bool:
        """Whether this browser may see anything; if not, it is told why."""
        access = self.server.access
        if not access.knows_host(self.headers.get("Host")):
            words = "open this page by the address of the device, or as localhost on it\n"
            self._answer(HTTPStatus.MISDIRECTED_REQUEST, _TEXT, words)
            return False
        path, _, query = self.path.partition("?")
        token = _values(query).get("token", "")
        if self.command == "GET" and path == "/" and access.opens(token):
            self._answer(
                HTTPStatus.SEE_OTHER, _TEXT, "", Location="/", **{"Set-Cookie": access.cookie()}
            )
            return False
        if not access.admits(self.headers.get("Cookie")):
            words = "open the address with the token once: .../?token=TOKEN\n"
            self._answer(HTTPStatus.UNAUTHORIZED, _TEXT, words)
            return False
        return True

    def _form(self) -> dict[str, str]:
        length = self.headers.get("Content-Length") or ""
        if not length.isdigit() or int(length) > _LARGEST_FORM:
            return {}
        return _values(self.rfile.read(int(length)).decode("utf-8", "replace"))

    def _answer(self, status: HTTPStatus, kind: str, text: str, **more: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (HEADERS | more).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _static(file: Path) -> str:
    return style_sheet(file) if file.suffix == ".css" else file.read_text(encoding="utf-8")


def _values(query: str) -> dict[str, str]:
    """The values of a form or an address; none if there are too many."""
    try:
        values = parse_qs(query, keep_blank_values=True, max_num_fields=8)
    except ValueError:
        return {}
    return {name: found[0] for name, found in values.items()}
