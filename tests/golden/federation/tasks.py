"""The tasks of the golden federation: every mechanism, kind of screening and kind of response."""

from __future__ import annotations

from typing import Any

from fsir.contract import task_from_table
from fsir.task.task import Task

CLOCK = 1_750_000_000  # seconds since 1970: when the federation begins
FEATURES = ("acc_x", "acc_y", "acc_z", "gyro", "light", "sound")
CLASSES = ("walk", "sit", "lie")
CENTRE = (0.25, 0.0, -0.125, 0.0, 0.5, 0.0)
SCALE = (1.0, 1.5, 1.25, 1.0, 2.0, 1.0)
RECORDS = 40


def _table(name: str, p: int, **sections: Any) -> dict[str, Any]:
    """A task about the first p features and the activity; `sections` replace or add tables."""
    table: dict[str, Any] = {
        "version": 1,
        "name": name,
        "features": {
            "names": list(FEATURES[:p]),
            "centre": list(CENTRE[:p]),
            "scale": list(SCALE[:p]),
        },
        "response": {"name": "activity", "classes": list(CLASSES)},
        "clip": {"truncate": 3.0, "norm": 2.5},
        "privacy": {"epsilon": 4.0},
        "report": {"records": RECORDS},
    }
    return table | sections


def _task(name: str, p: int, **sections: Any) -> Task:
    return task_from_table(_table(name, p, **sections))


def _of_mechanism(mechanism: str) -> Task:
    return _task(mechanism, 3, privacy={"epsilon": 4.0, "delta": 1e-5, "mechanism": mechanism})


_NUMBER = {"name": "delay", "cuts": [-6.0, 6.0, 14.5]}
_DENSE = {"keep": 1, "limit": 4, "quorum": 3, "share": 0.6, "final_norm": 2.0}
_VOTES = {
    "method": "votes",
    "records": "fresh",
    "threshold": 0.45,
    "limit": 4,
    "quorum": 3,
    "final_norm_factor": 1.2,
}
_CODED = {
    "records": "fresh",
    "code": "circle",
    "select": "overall",
    "keep": 2,
    "limit": 3,
    "quorum": 99,
    "wait_seconds": 60.0,
    "final_norm": 2.0,
}

PLAIN = _task(
    "plain",
    3,
    dimension=2,
    report={"records": RECORDS, "max_delay": 30.0, "presence": True},
)
DENSE = _task("dense", 6, screening=_DENSE)
VOTES = _task("votes", 6, screening=_VOTES, epoch=2)
NUMERIC = _task("numeric", 4, response=_NUMBER, privacy={"epsilon": 4.0, "unit_records": 2})
CODED = _task("coded", 6, response=_NUMBER, screening=_CODED)
TRIMMED = _task("trimmed", 3, aggregation="trimmed")
IID = _of_mechanism("iid")
VGM = _of_mechanism("vgm")
NONE = _of_mechanism("none")
DEADLINE = _task("deadline", 3, report={"records": 90, "deadline": CLOCK + 86400, "sigma_0": 0.9})
GREEDY = _task("greedy", 4, features={"names": ["acc_x", "acc_y", "acc_z", "heart_rate"]})

LONG = (PLAIN, DENSE, VOTES)  # whose devices live through all moments
SHORT = (NUMERIC, CODED, TRIMMED, IID, VGM, NONE, DEADLINE)
SERVED = (*LONG, *SHORT)  # by the aggregator
ALL = (*SERVED, GREEDY)  # which asks for what the owner of the first device never shares
