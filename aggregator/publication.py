"""What an aggregator publishes."""

from __future__ import annotations

from typing import NamedTuple


class Publication(NamedTuple):
    """A message; what all devices need, the broker keeps for whoever comes later.

    A receipt goes at QoS 0: if it is lost the device asks again. It is kept for devices that cannot
    ask. Nothing else may be lost. What two aggregators say to each other is not kept: they repeat
    it.
    """

    topic: str
    payload: bytes
    qos: int = 1
    retain: bool = True
