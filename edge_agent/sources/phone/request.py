"""What a request to the web server for phones must be, and what is said about others.

Requests that are refused are counted, and said in the owner's log: an address mistyped in the app
must not look like silence. The one that asked learns nothing but the status: the path may be all
that keeps strangers out.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

LARGEST_HEAD_BYTES = 16 * 1024
LARGEST_BODY_BYTES = 2**20  # a second of a fast phone is 0.2 MB
REQUEST_SECONDS = 10.0  # for one request
SHOWN = 40  # characters of what a stranger sent, in the log

# Nothing that a stranger sent is in these texts, so that there are no more of them.
REFUSED = {
    HTTPStatus.BAD_REQUEST: (
        "requests refused: not HTTP/1; the address in the app must begin with http://, not https://"
    ),
    HTTPStatus.NOT_FOUND: "requests refused: they are for another path",
    HTTPStatus.METHOD_NOT_ALLOWED: "requests refused: not a POST, as the app sends it",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: (
        "requests refused: not application/json, as the app sends it"
    ),
    HTTPStatus.LENGTH_REQUIRED: (
        "requests refused: without a Content-Length; whatever is in between must pass it on"
    ),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (
        f"requests refused: larger than {LARGEST_BODY_BYTES} bytes; "
        "send smaller batches more often (a setting of the app)"
    ),
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: (
        f"requests refused: a head of more than {LARGEST_HEAD_BYTES} bytes"
    ),
    HTTPStatus.REQUEST_TIMEOUT: (
        f"requests given up: not complete within {REQUEST_SECONDS:.0f} s; is the network too slow?"
    ),
}


@dataclass(frozen=True)
class Objection:
    """Why a request is not taken, and what the owner should know about it."""

    status: HTTPStatus
    where: str = ""


class Head:
    """The head of a request: its first line, and its headers by lower-case name."""

    def __init__(self, head: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        self._request = first.split(" ")
        parts = (line.partition(":") for line in lines)
        self._headers = {name.strip().lower(): value.strip() for name, _, value in parts}

    def objection(self, expected_path: str) -> Objection | None:
        """Why this is no POST of JSON to the path; None if it is one."""
        if len(self._request) != 3 or not self._request[2].startswith("HTTP/1."):
            return Objection(HTTPStatus.BAD_REQUEST)
        method, target, _ = self._request
        path = target.partition("?")[0]
        if path != expected_path:
            where = f"the last one for {_shown(path)}; the app must push to {expected_path!r}"
            return Objection(HTTPStatus.NOT_FOUND, where)
        if method != "POST":
            return Objection(HTTPStatus.METHOD_NOT_ALLOWED, f"the last one is a {_shown(method)}")
        kind = self._headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return Objection(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the last one is {_shown(kind)}")
        length = self._headers.get("content-length", "")
        sound = length.isascii() and length.isdigit() and len(length) < 16
        if "transfer-encoding" in self._headers or not sound:
            return Objection(HTTPStatus.LENGTH_REQUIRED)
        if self.length > LARGEST_BODY_BYTES:
            where = f"the last one has {self.length} bytes"
            return Objection(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, where)
        return None

    @property
    def length(self) -> int:
        """Bytes of the body, of a request without an objection."""
        return int(self._headers["content-length"])

    @property
    def waits(self) -> bool:
        """Whether the body comes only after a word of ours."""
        return self._headers.get("expect", "").lower() == "100-continue"


def answer(status: HTTPStatus) -> bytes:
    """The answer that ends a connection."""
    body = f"{status.phrase}\n".encode()
    allow = "Allow: POST\r\n" if status is HTTPStatus.METHOD_NOT_ALLOWED else ""
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n{allow}Content-Type: text/plain\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


def _shown(text: str) -> str:
    """A stranger's text for the log: short, on one line, and no more than ASCII."""
    return ascii(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")
