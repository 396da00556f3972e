"""The noise of the running total, measured on released integers of devices without a record."""

from __future__ import annotations

import numpy as np

from fsir.contract import task_from_table
from fsir.privacy.moments import Moments
from fsir.privacy.plan import first_stage
from fsir.privacy.release import release
from fsir.privacy.rounds.correlated import round_noise
from sim_devices.stream.noise import DrawnOnce

P = 30
DEVICES = 24
# Of the total and of the first round, over the noise of one report: docs/privacy.md, theorem 13.
KNOWN = {4: (1.49, 1.22), 10: (1.79, 1.34), 24: (2.07, 1.44), 52: (2.32, 1.52), 365: (2.94, 1.72)}
WITHIN = 0.02
BARS = {f"running total of {T} rounds, off by": f"<= {WITHIN}" for T in KNOWN} | {
    f"first of {T} rounds, off by": f"<= {WITHIN}" for T in KNOWN
}


def _task(rounds: int):
    return task_from_table(
        {
            "name": "noise",
            "features": {"names": [f"x{j}" for j in range(P)]},
            "response": {"classes": ["no", "yes"]},
            "clip": {"truncate": 2, "norm": 6},
            "privacy": {"epsilon": 1},
            "report": {"records": 1, "rounds": rounds},
        }
    )


def measured(rounds: int, devices: int = DEVICES) -> tuple[float, float]:
    """The noise of the total of all rounds and of the first one, over that of one report."""
    single = first_stage(_task(1))
    task = _task(rounds)
    stage = first_stage(task)
    sds = np.repeat([block.sd for block in single.blocks], single.sizes)
    worth = np.repeat([block.worth for block in stage.blocks], stage.sizes) / sds
    totals = []
    firsts = []
    for device in range(devices):
        noise = DrawnOnce(1, f"device-{device}")
        released = []
        for round in range(1, rounds + 1):
            nothing = Moments(task, stage)
            nothing.refuse("nobody's")
            found = release(nothing, round_noise(noise, stage, round))
            released.append(np.concatenate(found.blocks))
        totals.append(worth * np.sum(released, axis=0))
        firsts.append(worth * released[0])
    return float(np.sqrt(np.mean(np.square(totals)))), float(np.sqrt(np.mean(np.square(firsts))))


def running_totals() -> dict[str, float]:
    """Each number of rounds, beside what is known of it."""
    figures = {}
    for rounds, (total, first) in KNOWN.items():
        found_total, found_first = measured(rounds)
        figures[f"noise of the total of {rounds} rounds"] = found_total
        figures[f"noise of the first of {rounds} rounds"] = found_first
        figures[f"running total of {rounds} rounds, off by"] = abs(found_total / total - 1.0)
        figures[f"first of {rounds} rounds, off by"] = abs(found_first / first - 1.0)
    return figures
