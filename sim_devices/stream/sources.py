"""Where rounds come from: real people drawn again and again, or invented ones who live on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sim_devices.datasets.filled import CAVEAT
from sim_devices.datasets.population import DeviceStream
from sim_devices.scenarios.scenarios import Scenario

BOOTSTRAPPED = (
    "an endless stream made of a short one: each round draws a person's records again with "
    "replacement, so nothing changes over time, and noise is all that rounds can take away"
)


@dataclass(frozen=True, eq=False)
class Round:
    """What is recorded in one round: by devices, and by people who take no part."""

    devices: Sequence[DeviceStream]
    unseen: Sequence[DeviceStream]


class Source(Protocol):
    """A stream that goes on."""

    scenario: Scenario  # who takes part, and what is public
    caveats: tuple[str, ...]

    def round(self, number: int) -> Round:
        """What is recorded in the round of this number, from 1 on."""
        ...


class Endless:
    """The people of a data set, whose records are drawn again for every round."""

    def __init__(self, scenario: Scenario, records: int, seed: int) -> None:
        self.scenario = scenario
        # Nobody's stream is short here.
        caveats = [caveat for caveat in scenario.population.caveats if caveat != CAVEAT]
        self.caveats = (*caveats, BOOTSTRAPPED)
        self._records = records
        self._seed = seed

    def round(self, number: int) -> Round:
        """As many records of each device as a report is about; the unseen stay what they are."""
        rng = np.random.default_rng([self._seed, number])
        population = self.scenario.population
        devices = [drawn(stream, self._records, rng) for stream in population.devices]
        return Round(devices, population.unseen)


def drawn(stream: DeviceStream, records: int, rng: np.random.Generator) -> DeviceStream:
    """So many of its records, drawn with replacement, in their order."""
    rows = np.sort(rng.integers(len(stream), size=records))
    return DeviceStream(stream.device, stream.X[rows], stream.y[rows])
