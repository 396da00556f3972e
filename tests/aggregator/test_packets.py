"""The two packets that we write ourselves are those that paho would have written."""

from __future__ import annotations

import socket
from typing import Any

import paho.mqtt.client as mqtt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from aggregator import packets

VERSIONS = {"5": MQTTProtocolVersion.MQTTv5, "3.1.1": MQTTProtocolVersion.MQTTv311}


def written_by_paho(version: str, act: Any) -> bytes:
    """What a client puts on its socket."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        client = mqtt.Client(CallbackAPIVersion.VERSION2, protocol=VERSIONS[version], manual_ack=True)
        client._sock = ours  # there is no public way to write without a broker
        act(client)
        client._sock = None
        return theirs.recv(2**22)


@pytest.mark.parametrize("version", VERSIONS)
@given(mid=st.integers(1, 65535))
def test_an_acknowledgement(version: str, mid: int) -> None:
    assert packets.acknowledgement(mid) == written_by_paho(version, lambda client: client.ack(mid, 1))


@pytest.mark.parametrize("version", VERSIONS)
@given(device=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True), payload=st.binary(max_size=300))
def test_a_retained_message(version: str, device: str, payload: bytes) -> None:
    topic = f"fsir/1/task/receipt/{device}"
    expected = written_by_paho(version, lambda client: client.publish(topic, payload, 0, retain=True))
    assert packets.retained(topic, payload, version) == expected


@pytest.mark.parametrize("size", [100, 127, 128, 16_383, 16_384, 100_000])
def test_lengths_of_one_to_three_bytes(size: int) -> None:
    raw = packets.retained("t", bytes(size), "3.1.1")
    expected = written_by_paho("3.1.1", lambda client: client.publish("t", bytes(size), 0, retain=True))
    assert raw.startswith(expected[:10])
    assert len(raw) >= len(expected)
