"""What a fleet has to tell when its run is over."""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from edge_agent.agent import Phase
from sim_devices.network.fleet.device import VirtualDevice


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Of all devices, or of those in one process."""

    phases: Counter[Phase]
    reasons: tuple[str, ...]  # some of those for which devices take no further part
    bytes_sent: int  # of all reports, without retries
    retries: int
    cuts: int
    crashes: int
    memory: int  # largest resident sets of the processes that play devices, in kB

    @classmethod
    def of(cls, devices: Sequence[VirtualDevice]) -> Tally:
        """Count them."""
        reasons = (device.agent.reason for device in devices)
        return cls(
            phases=Counter(device.agent.phase for device in devices),
            reasons=tuple(reason for reason in reasons if reason)[:1],
            bytes_sent=sum(device.bytes_sent for device in devices),
            retries=sum(device.messages_sent - len(device.reports) for device in devices),
            cuts=sum(device.cuts for device in devices),
            crashes=sum(device.crashes for device in devices),
            memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        )

    def __add__(self, other: Tally) -> Tally:
        """Of both."""
        return Tally(
            phases=self.phases + other.phases,
            reasons=self.reasons + other.reasons,
            bytes_sent=self.bytes_sent + other.bytes_sent,
            retries=self.retries + other.retries,
            cuts=self.cuts + other.cuts,
            crashes=self.crashes + other.crashes,
            memory=self.memory + other.memory,
        )
