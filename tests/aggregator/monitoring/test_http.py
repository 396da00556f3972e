"""The pages that Prometheus and a watchdog read."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest

from aggregator.monitoring.http import HttpServer, pages
from fsir.errors import FsirError


def get(port: int, path: str) -> tuple[int, str, bytes]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read()


def test_the_pages() -> None:
    health: dict[str, object] = {"ok": True, "connected": True}
    server = HttpServer("127.0.0.1:0", pages(lambda: b"metric 1\n", lambda: health))
    try:
        status, kind, body = get(server.port, "/metrics?x=1")
        assert (status, body) == (200, b"metric 1\n")
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


@pytest.mark.parametrize("address", ["", "9100", "localhost", "host:port", "host:99999"])
def test_an_address_that_is_none_is_named(address: str) -> None:
    with pytest.raises(FsirError, match="HOST:PORT"):
        HttpServer(address, {})
