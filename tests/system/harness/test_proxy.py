"""The fault proxy does what its faults are called."""

from __future__ import annotations

import contextlib
import random
import socket
import time
from collections.abc import Iterator

import pytest

from tests.system.harness.proxy import Proxy, Weather


class Line:
    """A client, the proxy, and the server's end of the connection."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.proxy = Proxy(self._listener.getsockname()[1], random.Random(1))
        self.client = socket.create_connection(("127.0.0.1", self.proxy.port))
        self.proxy.step(1.0)
        self.server, _ = self._listener.accept()
        for sock in (self.client, self.server):
            sock.setblocking(False)

    def received(self, sock: socket.socket, seconds: float = 0.2) -> bytes:
        """What arrives within so many seconds."""
        arrived = b""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.proxy.step(0.01)
            with contextlib.suppress(BlockingIOError):
                arrived += sock.recv(1000)
        return arrived

    def close(self) -> None:
        self.proxy.close()
        for sock in (self.client, self.server, self._listener):
            sock.close()


@pytest.fixture
def line() -> Iterator[Line]:
    made = Line()
    yield made
    made.close()


@pytest.mark.parametrize("weather", [Weather(), Weather(delay=0.05), Weather(throttle=3)])
def test_bytes_pass_in_both_directions_and_in_order(line, weather):
    line.proxy.weather = weather
    line.client.send(b"from the device")
    line.server.send(b"from the broker")
    assert line.received(line.server) == b"from the device"
    assert line.received(line.client) == b"from the broker"


def test_a_delay_holds_back(line):
    line.proxy.weather = Weather(delay=30.0)
    line.client.send(b"later")
    assert line.received(line.server) == b""


def test_garble_makes_a_packet_that_there_is_not(line):
    line.proxy.weather = Weather(garble=1.0)
    line.client.send(b"\x30rest")
    assert line.received(line.server) == b"\x00rest"


def test_corrupt_changes_one_byte(line):
    line.proxy.weather = Weather(corrupt=1.0)
    line.client.send(bytes(100))
    assert sum(byte != 0 for byte in line.received(line.server)) == 1


def test_a_cut_resets_both_ends(line):
    line.proxy.cut()
    for sock in (line.client, line.server):
        with pytest.raises(ConnectionResetError):
            sock.recv(1)


def test_half_open_is_silence_and_then_the_end(line):
    line.proxy.weather = Weather(silent=True)
    line.client.send(b"nobody hears this")
    assert line.received(line.server) == b""
    line.proxy.weather = Weather()
    with pytest.raises(ConnectionResetError):
        line.received(line.server)
