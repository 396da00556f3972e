"""The pages that Prometheus and a watchdog read."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest

from aggregator.monitoring.http import HttpServer, Request, pages
from aggregator.store.errors import StoreBusyError
from fsir.errors import FsirError


def _metrics(accept: str) -> tuple[str, bytes]:
    return "text/plain; version=0.0.4; charset=utf-8", f"metric 1\n{accept}".encode()


def get(port: int, path: str) -> tuple[int, str, bytes]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read()


def test_the_pages() -> None:
    health: dict[str, object] = {"ok": True, "connected": True}
    server = HttpServer("127.0.0.1:0", pages(_metrics, lambda: health))
    try:
        status, kind, body = get(server.port, "/metrics?x=1")
        assert (status, body) == (200, b"metric 1\n")  # who accepts nothing in particular
        assert kind.startswith("text/plain; version=0.0.4")
        assert get(server.port, "/healthz")[0] == 200
        health["ok"] = False
        status, _, body = get(server.port, "/healthz")
        assert (status, json.loads(body)["ok"]) == (503, False)
        assert get(server.port, "/")[0] == 404
        assert b"/metrics" in get(server.port, "/")[2]
        with pytest.raises(FsirError, match="choose another port"):
            HttpServer(f"127.0.0.1:{server.port}", {})
    finally:
        server.close()


def test_a_page_knows_what_was_asked_for() -> None:
    asked: list[Request] = []

    def page(request: Request) -> tuple[int, str, bytes]:
        asked.append(request)
        return 200, "text/plain", b""

    server = HttpServer("127.0.0.1:0", {"/": page})
    try:
        address = f"http://127.0.0.1:{server.port}/?after=pi-7%2F&limit=3&limit=5&empty="
        wanted = urllib.request.Request(address, headers={"Accept": "application/json"})
        with urllib.request.urlopen(wanted, timeout=10):
            pass
    finally:
        server.close()
    assert asked == [Request({"after": "pi-7/", "limit": "5"}, "application/json")]


def test_a_page_that_cannot_be_made_now_says_why_and_the_others_go_on() -> None:
    def page(_: Request) -> tuple[int, str, bytes]:
        raise StoreBusyError("database is locked")

    server = HttpServer("127.0.0.1:0", {"/": page, "/other": lambda _: (200, "text/plain", b"ok")})
    try:
        status, _, body = get(server.port, "/")
        assert (status, body) == (503, b"database is locked\n")
        assert get(server.port, "/other")[0] == 200
    finally:
        server.close()


def test_its_address_has_the_port_that_was_found() -> None:
    server = HttpServer("localhost:0", {})
    try:
        assert server.port > 0
        assert server.url == f"http://localhost:{server.port}/"
        with pytest.raises(FsirError, match="choose another port"):
            HttpServer(f"127.0.0.1:{server.port}", {})
    finally:
        server.close()


@pytest.mark.parametrize("host", ["nobody.invalid", "192.0.2.1"])  # RFC 2606 and 5737
def test_a_host_that_is_not_this_machine_is_named(host: str) -> None:
    with pytest.raises(FsirError, match="give an address of this machine"):
        HttpServer(f"{host}:0", {})


@pytest.mark.parametrize("address", ["", "9100", "localhost", "host:port", "host:99999"])
def test_an_address_that_is_none_is_named(address: str) -> None:
    with pytest.raises(FsirError, match="HOST:PORT"):
        HttpServer(address, {})
