"""The packets that we write ourselves are those that paho writes, and we read what paho writes."""

from __future__ import annotations

import socket
from typing import Any

import paho.mqtt.client as mqtt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from aggregator.mqtt import packets
from aggregator.mqtt.packets import PacketError, Publish

VERSIONS = {"5": MQTTProtocolVersion.MQTTv5, "3.1.1": MQTTProtocolVersion.MQTTv311}
versions = pytest.mark.parametrize("version", VERSIONS)
devices = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True)


def written_by_paho(version: str, act: Any) -> bytes:
    """What a client puts on its socket."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        client = mqtt.Client(
            CallbackAPIVersion.VERSION2, protocol=VERSIONS[version], manual_ack=True
        )
        client._sock = ours  # there is no public way to write without a broker
        act(client)
        client._sock = None
        return theirs.recv(2**22)


@versions
@given(mid=st.integers(1, 65535))
def test_an_acknowledgement(version: str, mid: int) -> None:
    assert packets.acknowledgement(mid) == written_by_paho(
        version, lambda client: client.ack(mid, 1)
    )


@versions
@pytest.mark.parametrize("qos", [0, 1])
@given(device=devices, payload=st.binary(max_size=300))
def test_a_retained_message(version: str, qos: int, device: str, payload: bytes) -> None:
    topic = f"fsir/1/task/receipt/{device}"
    expected = written_by_paho(
        version, lambda client: client.publish(topic, payload, qos, retain=True)
    )
    # paho's first number is 1.
    assert packets.publish(topic, payload, version, mid=qos) == expected


@versions
def test_a_message_that_is_not_kept(version: str) -> None:
    expected = written_by_paho(
        version, lambda client: client.publish("fsir/1/task/cohort/leader", b"open", 1)
    )
    place = "fsir/1/task/cohort/leader"
    assert packets.publish(place, b"open", version, mid=1, retain=False) == expected


@versions
def test_a_subscription(version: str) -> None:
    topics = ["fsir/1/a/report/+", "$share/workers/fsir/1/b/report/+"]
    expected = written_by_paho(
        version, lambda client: client.subscribe([(topic, 1) for topic in topics])
    )
    assert packets.subscription(topics, version, 1) == expected


@versions
@given(
    sizes=st.lists(st.integers(0, 400), max_size=6),
    cut=st.integers(0, 3000),
    qos=st.sampled_from([0, 1]),
)
def test_a_stream_is_split_wherever_it_is_cut(
    version: str, sizes: list[int], cut: int, qos: int
) -> None:
    sent = [Publish(f"t/{i}", bytes([i]) * size, (i + 1) * qos) for i, size in enumerate(sizes)]
    raw = b"".join(packets.publish(p.topic, p.payload, version, p.mid) for p in sent)
    first, rest = packets.split(raw[:cut])
    second, end = packets.split(rest + raw[cut:])
    assert end == b""
    assert [kind for kind, _, _ in first + second] == [packets.PUBLISH] * len(sent)
    assert [packets.read_publish(flags, body, version) for _, flags, body in first + second] == sent


@pytest.mark.parametrize("size", [127, 128, 16_383, 16_384, 2_097_151, 2_097_152])
def test_lengths_of_one_to_four_bytes(size: int) -> None:
    raw = packets.publish("t", bytes(size - 3), "3.1.1")
    ((_, _, body),), rest = packets.split(raw)
    assert (len(body), rest) == (size, b"")
    for cut in range(1, 6):
        assert packets.split(raw[:cut]) == ([], raw[:cut])


def test_properties_of_version_5_are_skipped() -> None:
    expiry = b"\x05\x02\x00\x00\x00\x09"  # of the message, after 9 s
    body = b"\x00\x01t" + b"\x00\x07" + expiry + b"payload"
    assert packets.read_publish(0b0010, body, "5") == Publish("t", b"payload", 7)


def test_a_topic_that_is_not_utf8_does_not_stop_us() -> None:
    message = packets.read_publish(0, b"\x00\x03t/\xff" + b"payload", "3.1.1")
    assert message == Publish("t/\\xff", b"payload", 0)


@pytest.mark.parametrize(
    ("flags", "body"),
    [
        (0b0100, b"\x00\x01t\x00\x01x"),
        (0, b"\x00"),
        (0, b"\x00\x09t"),
        (0b0010, b"\x00\x01t\x00"),
        (0b0010, b"\x00\x01t\x00\x00x"),
        (0, b""),
    ],
)
def test_messages_that_cannot_be(flags: int, body: bytes) -> None:
    with pytest.raises(PacketError):
        packets.read_publish(flags, body, "3.1.1")


@given(raw=st.binary(max_size=200), version=st.sampled_from(list(VERSIONS)))
def test_any_bytes_are_read_or_refused(raw: bytes, version: str) -> None:
    try:
        complete, rest = packets.split(raw)
        assert sum(2 + len(body) for _, _, body in complete) + len(rest) <= len(raw)
        for kind, flags, body in complete:
            if kind == packets.PUBLISH:
                packets.read_publish(flags, body, version)
            elif kind in (packets.PUBACK, packets.SUBACK):
                packets.failures(kind, body, version)
    except PacketError:
        pass


def test_refusals_are_seen() -> None:
    assert packets.failures(packets.SUBACK, b"\x00\x01\x01\x80", "3.1.1") == [128]
    assert packets.failures(packets.SUBACK, b"\x00\x01\x00\x01\x87", "5") == [135]
    assert packets.failures(packets.SUBACK, b"\x00\x01\x00\x01", "5") == []
    assert packets.failures(packets.PUBACK, b"\x00\x01\x87\x00", "5") == [135]
    # Nobody has subscribed: no matter.
    assert packets.failures(packets.PUBACK, b"\x00\x01\x10", "5") == []
    assert packets.failures(packets.PUBACK, b"\x00\x01", "3.1.1") == []
