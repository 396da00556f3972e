"""The open connection: large pieces, a window at QoS 1, and every way of losing it is one error."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from aggregator.mqtt import packets, wire
from aggregator.mqtt.packets import Publish
from aggregator.mqtt.wire import ConnectionLostError, Wire
from aggregator.publication import Publication


class Peer:
    """The broker's end of a connection, and what our end handed over."""

    def __init__(self, version: str = "5", **options: Any) -> None:
        ours, self.end = socket.socketpair()
        ours.setblocking(False)
        self.end.settimeout(10)
        self.got: list[tuple[str, bytes, int]] = []
        self.wire = Wire(
            ours, "test", version, lambda *message: self.got.append(message), **options
        )

    def received(self) -> list[tuple[int, int, bytes]]:
        """The packets that have come so far."""
        complete, rest = packets.split(self.end.recv(2**20))
        assert rest == b""
        return complete

    def close(self) -> None:
        self.wire.close()
        self.end.close()


@pytest.fixture(params=["5", "3.1.1"])
def peer(request: pytest.FixtureRequest) -> Iterator[Peer]:
    made = Peer(request.param)
    yield made
    made.close()


def test_messages_are_handed_over_and_counted(peer: Peer) -> None:
    assert peer.wire.read(0.0, 100) == 0
    sent = [Publish(f"t/{i}", bytes(i), i + 1) for i in range(50)]
    raw = b"".join(
        packets.publish(*message[:2], peer.wire.version, message.mid) for message in sent
    )
    peer.end.sendall(raw[:77])
    first = peer.wire.read(0.0, 100)
    peer.end.sendall(raw[77:])
    assert first + peer.wire.read(0.0, 100) == 50
    assert peer.got == sent


def test_large_messages_are_not_all_taken_at_once() -> None:
    peer = Peer("3.1.1")
    raw = packets.publish("t", bytes(2**20), "3.1.1", 7)
    sender = threading.Thread(target=lambda: [peer.end.sendall(raw) for _ in range(8)])
    sender.start()
    turns = []
    while sum(turns) < 8:
        turns.append(peer.wire.read(1.0, 1000, 2**20))
    sender.join(30)
    assert max(turns) <= 2
    peer.close()


def test_acknowledgements_leave_in_one_piece(peer: Peer) -> None:
    peer.wire.acknowledge([3, 1, 65535])
    assert peer.end.recv(100) == b"\x40\x02\x00\x03\x40\x02\x00\x01\x40\x02\xff\xff"
    peer.wire.acknowledge([])
    peer.wire.publish([])


def test_no_more_than_a_window_at_qos_1_is_unconfirmed(peer: Peer) -> None:
    peer.wire.publish(
        [Publication(f"t/{i}", b"x") for i in range(25)] + [Publication("receipt", b"y", 0)]
    )
    numbers = []
    while len(numbers) < 25:
        arrived = [
            packets.read_publish(flags, body, peer.wire.version)
            for _, flags, body in peer.received()
        ]
        waiting = [message.mid for message in arrived if message.mid]
        assert 0 < len(waiting) <= wire.WINDOW_MESSAGES
        numbers += waiting
        peer.end.sendall(b"".join(packets.acknowledgement(mid) for mid in waiting))
        peer.wire.read(1.0, 1)
    assert numbers == list(range(1, 26))


def test_a_small_window_of_the_broker_is_kept() -> None:
    peer = Peer(window=1)
    peer.wire.publish([Publication("a", b""), Publication("b", b"")])
    assert len(peer.received()) == 1
    peer.close()


def test_silence_is_broken_and_then_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(wire.time, "monotonic", lambda: now)
    peer = Peer(keepalive=60.0)
    now += 31
    peer.wire.read(0.0, 1)
    assert peer.end.recv(10) == packets.PING
    peer.end.sendall(b"\xd0\x00")
    peer.wire.read(0.0, 1)
    now += 91
    with pytest.raises(ConnectionLostError, match="not a word for 91 s"):
        peer.wire.read(0.0, 1)
    peer.close()


def test_every_loss_is_the_same_error(peer: Peer) -> None:
    peer.end.sendall(b"\xe0\x02\x8e\x00")  # taken over by another client of our name
    with pytest.raises(
        ConnectionLostError, match="good-bye, reason 142; another program uses our client id"
    ):
        peer.wire.read(1.0, 1)
    peer.end.sendall(b"\x34\x06\x00\x01t\x00\x01x")  # QoS 2
    with pytest.raises(ConnectionLostError, match="not MQTT: a message at QoS 2"):
        peer.wire.read(1.0, 1)
    peer.end.close()
    with pytest.raises(ConnectionLostError, match="closed"):
        peer.wire.read(1.0, 1)
    with pytest.raises(ConnectionLostError):
        peer.wire.publish([Publication("t", bytes(10**6), 0)])


def test_a_slow_broker_is_waited_for(peer: Peer) -> None:
    much = bytes(8 * 2**20)  # more than any socket holds
    taken = bytearray()

    def read_all() -> None:
        while len(taken) < len(much):
            taken.extend(peer.end.recv(2**18))

    reader = threading.Thread(target=read_all)
    reader.start()
    peer.wire.publish([Publication("t", much, 0)])
    reader.join(30)
    assert len(taken) >= len(much)


def test_a_broker_that_takes_nothing_is_given_up(
    monkeypatch: pytest.MonkeyPatch, peer: Peer
) -> None:
    monkeypatch.setattr(wire, "PATIENCE_SECONDS", 0.0)
    with pytest.raises(ConnectionLostError, match="takes nothing"):
        peer.wire.publish([Publication("t", bytes(8 * 2**20), 0)])


def test_refusals_of_the_broker_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    peer = Peer("5")
    peer.end.sendall(b"\x90\x04\x00\x01\x00\x87" + b"\x40\x03\x00\x01\x87")
    with caplog.at_level(logging.ERROR):
        peer.wire.read(1.0, 1)
    assert "we may not subscribe (reason 135)" in caplog.text
    assert "we may not publish (reason 135)" in caplog.text
    peer.close()
