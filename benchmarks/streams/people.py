"""Six activities: UCI HAR as an endless stream, each of its people once as the volunteer."""

from __future__ import annotations

import numpy as np

from sim_devices.scenarios.proposed import PublicSample
from sim_devices.scenarios.tasks import Setting, build
from sim_devices.stream.following import follow
from sim_devices.stream.sources import Endless
from sim_devices.stream.tasks import proposed_for
from sim_devices.worth import sets

ROUNDS = 10
BARS = {"har, accuracy after 10 rounds": ">= 0.91"}


def activities() -> dict[str, float]:
    """Means over all volunteers of the accuracy for unseen people."""
    people = sets.load("har", seed=0, splits=1, every=1)
    ends = []
    for k in people.chosen:
        scenario = people.scenario(k)
        assert isinstance(scenario.geometry, PublicSample)
        single = build(scenario.population, scenario.geometry, Setting())
        task = proposed_for(scenario.population, scenario.geometry, Setting(), ROUNDS)
        source = Endless(scenario, single.report.records or 0, k)
        *_, last = follow(source, task, single, ROUNDS, k)
        ends.append(last)
    return {
        "har, volunteers": len(ends),
        "har, accuracy with no federation": float(np.mean([end.alone for end in ends])),
        "har, accuracy of those who reported once": float(np.mean([end.once for end in ends])),
        f"har, accuracy after {ROUNDS} rounds": float(np.mean([end.followed for end in ends])),
    }
