"""What every answer has, who gets one, and how many at a time."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest

from aggregator.monitoring.access import Access
from aggregator.monitoring.http import MOST_CLIENTS, HttpServer, Request, pages
from aggregator.monitoring.requests import MOST_STREAMS
from fsir.errors import FsirError
from fsir.net.web.headers import HEADERS

TOKEN = "correct-horse-battery"


@contextmanager
def serving(access: Access, released: threading.Event | None = None) -> Iterator[int]:
    def events() -> Generator[bytes]:
        yield b"data: 1\n\n"
        assert released is not None
        released.wait(60)

    health: dict[str, object] = {"ok": True, "broker": "secret.example"}
    shown = pages(lambda accept: ("text/plain", b"metric 1\n"), lambda: health)
    shown["/"] = lambda request: (200, "text/html", b"<p>page")
    server = HttpServer("127.0.0.1:0", shown, {"/events": events}, access=lambda local: access)
    try:
        yield server.port
    finally:
        server.close()


def ask(
    port: int, path: str, method: str = "GET", **headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


@pytest.mark.parametrize("path", ["/", "/metrics", "/healthz", "/nowhere", "/?token=wrong"])
def test_every_answer_has_the_headers_that_keep_strangers_out(path: str) -> None:
    with serving(Access(token=TOKEN)) as port:
        for headers in ({}, {"Authorization": f"Bearer {TOKEN}"}):
            answer, _ = ask(port, path, **headers)
            assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


def test_nothing_can_be_changed() -> None:
    with serving(Access()) as port:
        for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
            answer, _ = ask(port, "/", method)
            assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")
        answer, body = ask(port, "/", "HEAD")
        assert (answer.status, body, answer.headers["Content-Length"]) == (200, b"", "7")


def test_without_a_token_only_whether_all_is_well_is_told() -> None:
    with serving(Access(token=TOKEN)) as port:
        for path in ("/", "/metrics", "/events", "/nowhere"):
            answer, body = ask(port, path)
            assert answer.status == 401
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            assert b"token" in body
        answer, body = ask(port, "/healthz")
        assert (answer.status, json.loads(body)) == (200, {"ok": True})
        answer, body = ask(port, "/healthz", Host="evil.example")
        assert json.loads(body) == {"ok": True}
        shown = {"Authorization": f"Bearer {TOKEN}"}
        assert ask(port, "/metrics", **shown)[1] == b"metric 1\n"
        assert b"secret.example" in ask(port, "/healthz", **shown)[1]


def test_who_shows_the_token_gets_a_cookie_and_is_let_in_by_it() -> None:
    with serving(Access(token=TOKEN)) as port:
        answer, body = ask(port, f"/?token={TOKEN}")
        assert answer.status == 200
        assert TOKEN.encode() not in body
        cookie = answer.headers["Set-Cookie"].partition(";")[0]
        assert ask(port, "/", Cookie=cookie)[1] == b"<p>page"
        assert ask(port, "/", Host="evil.example")[0].status == 421


def test_streams_are_bounded_and_scrapes_find_a_place_beside_them() -> None:
    released = threading.Event()
    with serving(Access(), released) as port:
        streams = []
        for _ in range(MOST_STREAMS):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("GET", "/events")
            answer = connection.getresponse()
            assert answer.headers["Content-Type"].startswith("text/event-stream")
            assert answer.fp.readline() == b"data: 1\n"
            streams.append((connection, answer))
        answer, body = ask(port, "/events")
        assert (answer.status, b"too many" in body) == (503, True)
        assert ask(port, "/metrics")[0].status == 200
        released.set()
        for connection, answer in streams:
            assert answer.read() == b"\n"  # and then the end
            connection.close()
        assert ask(port, "/events")[0].status == 200  # the places are free again
    assert MOST_STREAMS < MOST_CLIENTS


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0"])
def test_a_network_needs_a_token_or_a_proxy(address: str) -> None:
    with pytest.raises(FsirError, match=r"listen on 127\.0\.0\.1.*--http-token-file"):
        HttpServer(address, {})
    told: list[bool] = []

    def access(local: bool) -> Access:
        told.append(local)
        return Access(token=TOKEN, local=local)

    server = HttpServer(address, {}, access=access)
    server.close()
    assert told == [False]


def test_a_query_with_too_many_fields_is_none() -> None:
    asked: list[Request] = []

    def page(request: Request) -> tuple[int, str, bytes]:
        asked.append(request)
        return 200, "text/plain", b""

    server = HttpServer("127.0.0.1:0", {"/": page})
    try:
        ask(server.port, "/?" + "&".join(f"a{k}=1" for k in range(100)))
    finally:
        server.close()
    assert asked[0].query == {}
