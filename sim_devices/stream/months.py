"""Months of invented people who live on: each round is recorded on its own day of the year."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edge_agent.signal.features import FEATURE_NAMES
from sim_devices.datasets.population import ACTIVITIES, DeviceStream, Population
from sim_devices.datasets.synthetic_har import CAVEATS
from sim_devices.datasets.synthetic_stream import recorded
from sim_devices.scenarios.scenarios import Scenario, proposed
from sim_devices.stream.ageing import draw_life
from sim_devices.stream.sources import Round, drawn

_INVENTED = (
    "seasons, shoes and phones are invented as well: they show that a subspace follows, not how "
    "fast real people change"
)
_PUBLIC_WINDOWS = 300


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Who lives on, and how often they report about how much."""

    devices: int
    unseen: int
    records: int  # of a report
    windows: int  # that are really made for each person and round; records are drawn from them
    every: float  # days
    rounds: int
    seed: int


class Months:
    """Devices, unseen people and a volunteer; the volunteer's records are of the first day."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        days = plan.every * plan.rounds
        people = range(plan.devices + plan.unseen + 1)
        self._lives = [draw_life(np.random.default_rng([plan.seed, k]), days) for k in people]
        self._columns = list(range(len(FEATURE_NAMES)))
        first = self.round(1)
        volunteer = self._stream(0, 1, _PUBLIC_WINDOWS)
        population = Population(
            name="stream",
            features=FEATURE_NAMES,
            classes=ACTIVITIES,
            devices=(volunteer, *first.devices),
            unseen=tuple(first.unseen),
            caveats=(*CAVEATS, _INVENTED, _drawn_again(plan)),
        )
        self.scenario: Scenario = proposed(population, volunteer.device, "activity")
        self.caveats = self.scenario.population.caveats
        # Features that never vary for the volunteer are not in the task.
        self._columns = [FEATURE_NAMES.index(name) for name in self.scenario.population.features]

    def round(self, number: int) -> Round:
        """What everybody records on the day of this round."""
        plan = self._plan
        streams = [
            self._stream(k, number, plan.windows) for k in range(1, plan.devices + plan.unseen + 1)
        ]
        rng = np.random.default_rng([plan.seed, number])
        devices = [drawn(stream, plan.records, rng) for stream in streams[: plan.devices]]
        return Round(devices, streams[plan.devices :])

    def _stream(self, k: int, number: int, windows: int) -> DeviceStream:
        rng = np.random.default_rng([self._plan.seed, k, number])
        person = self._lives[k].on(self._plan.every * (number - 1))
        return recorded(f"person-{k:02d}", person, windows, rng, self._columns)


def _drawn_again(plan: Plan) -> str:
    return (
        f"the {plan.records} records of a report are drawn with replacement from {plan.windows} "
        "windows of that day, because features take long to compute"
    )
