"""What an aggregator publishes, all of it retained."""

from __future__ import annotations

from typing import NamedTuple


class Publication(NamedTuple):
    """A retained message.

    A receipt goes at QoS 0: if it is lost the device asks again. Nothing else may be lost.
    """

    topic: str
    payload: bytes
    qos: int = 1
