"""The two MQTT packets that an aggregator sends by the thousand, so that a batch of them leaves in one piece.

Through paho each costs about as much as all the work on a report (measured: 20 us a receipt, 8 us an acknowledgement,
against 1 us here), because each is queued, locked and sent on its own. Neither needs any state: a receipt is a QoS 0
message, and an acknowledgement of a message at QoS 1 is final.
"""

from __future__ import annotations


def acknowledgement(mid: int) -> bytes:
    """PUBACK: the message with this number is safe here."""
    return b"\x40\x02" + mid.to_bytes(2, "big")


def retained(topic: str, payload: bytes, version: str) -> bytes:
    """PUBLISH at QoS 0, retained."""
    name = topic.encode()
    properties = b"\x00" if version == "5" else b""  # MQTT 5: no properties
    body = len(name).to_bytes(2, "big") + name + properties
    return b"\x31" + _length(len(body) + len(payload)) + body + payload


def _length(length: int) -> bytes:
    digits = bytearray()
    while length > 127:
        digits.append(128 + length % 128)
        length //= 128
    digits.append(length)
    return bytes(digits)
