"""The web server for phones: clear answers, bounded in everything, and nobody holds it up."""

from __future__ import annotations

import socket
from contextlib import closing
from http import HTTPStatus

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import edge_agent.sources.phone.http as http_module
from edge_agent.sources.phone.http import Listener
from edge_agent.sources.phone.request import LARGEST_BODY_BYTES, REFUSED, SHOWN
from edge_agent.sources.tally import Tally
from tests.edge_agent.motion import until
from tests.edge_agent.sources.phone.requests import request, talk


@pytest.fixture
def listener():
    bodies = []

    def take(body):
        bodies.append(body)
        return body.startswith(b"{")

    tally = Tally("phone")
    with closing(Listener("http://127.0.0.1:0/secret/data", take, tally)) as listener:
        listener.start()
        listener.bodies = bodies
        listener.tally = tally
        yield listener


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (request(), 200),
        (request(kind="application/json; charset=utf-8"), 200),
        (request(path="/secret/data?x=1"), 200),
        (request(b"{" + b" " * (LARGEST_BODY_BYTES - 1)), 200),
        (request(b"hello"), 400),
        (b"hello\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
        (request(path="/"), 404),
        (request(path="/secret/dat"), 404),
        (request(method="GET"), 405),
        (request(kind="text/plain"), 415),
        (request(length="many"), 411),
        (request(length="-5"), 411),
        (request(more="Transfer-Encoding: chunked\r\n"), 411),
        (request(length=LARGEST_BODY_BYTES + 1), 413),
        (request(b"x" * (LARGEST_BODY_BYTES + 70_000)), 413),
        (b"POST " + b"x" * 40_000, 431),
    ],
)
def test_each_request_gets_a_clear_answer(listener, data, status):
    answer = talk(listener, data)
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"Connection: close" in answer
    if status == 200:
        assert talk(listener, request(more="Expect: 100-continue\r\n")).endswith(b"OK\n")
        assert len(listener.bodies) == 2
    # Whoever takes bodies counts them.
    refused = {} if listener.bodies else {REFUSED[HTTPStatus(status)]: 1}
    assert listener.tally.counts == refused


def test_a_wrong_path_is_told_to_the_owner_and_to_nobody_else(listener, caplog):
    for k in range(1, 5):
        answer = talk(listener, request(path=f"/data?try={k}"))
        assert b"secret" not in answer
        assert b"/data" not in answer
    said = [record.getMessage() for record in caplog.records]
    assert [text.partition(" requests")[0] for text in said] == ["phone: 1", "phone: 2", "phone: 4"]
    assert all("for '/data'; the app must push to '/secret/data'" in text for text in said)


@pytest.mark.parametrize(
    "data",
    [
        request(path="/" + "y" * 5000),
        request(path="/\x1b[2J\xff\t" + "y" * 100),
        request(kind="text/" + "y" * 5000),
        request(method="y" * 5000),
    ],
)
def test_what_strangers_send_is_shown_in_part_and_makes_no_new_kind(listener, caplog, data):
    for more in (b"", b"z", b"zz"):
        talk(listener, data.replace(b"y" * 90, b"y" * 90 + more))
    assert len(listener.tally.counts) == 1
    assert set(listener.tally.counts) <= set(REFUSED.values())
    for record in caplog.records:
        assert record.getMessage().isascii()
        assert record.getMessage().isprintable()
        assert record.getMessage().count("y") <= SHOWN + 5


def test_a_request_may_come_byte_by_byte_while_others_say_nothing(listener):
    silent = []
    for _ in range(20):
        silent.append(socket.create_connection(("127.0.0.1", listener.port)))
        listener.step()
    whole = request()
    with socket.create_connection(("127.0.0.1", listener.port)) as slow:
        for byte in whole:
            slow.sendall(bytes([byte]))
            listener.step()
        assert talk(listener, whole).startswith(b"HTTP/1.1 200")
        until(lambda: not listener.step() and len(listener.bodies) == 2)
    assert len(listener._clients) <= http_module.MOST_CLIENTS
    for client in silent:
        client.close()


def test_whoever_takes_too_long_goes(listener, monkeypatch):
    monkeypatch.setattr(http_module, "REQUEST_SECONDS", 0.05)
    with socket.create_connection(("127.0.0.1", listener.port)) as client:
        client.sendall(request()[:-3])
        until(lambda: not listener.step() and listener._clients)
        assert listener.delay() <= 0.05
        until(lambda: not listener.step() and not listener._clients)
        assert client.recv(100).startswith(b"HTTP/1.1 408")
    assert listener.tally.counts == {REFUSED[HTTPStatus.REQUEST_TIMEOUT]: 1}
    assert listener.delay() > 60
    assert not listener.bodies


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.binary(max_size=80), st.integers(0, 200), st.booleans())
def test_no_bytes_upset_it(listener, junk, cut, head):
    data = request()[:cut] + junk if head else junk
    talk(listener, data or b" ", hang_up=True)
    until(lambda: not listener.step() and not listener._clients)


def test_clients_that_vanish_leave_nothing_behind(listener):
    for data in (b"", b"POST", request()[:-3]):
        talk(listener, data or b" ", hang_up=True)
    until(lambda: not listener.step() and not listener._clients)
    assert not listener.bodies
