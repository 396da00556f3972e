"""Small federations: tasks, and honest reports of devices that are made of fsir alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from fsir.contract import task_from_table
from fsir.estimate.totals import Totals
from fsir.estimate.votes import private_votes
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import SCREENING, Stage, first_stage, report_size
from fsir.privacy.release import release
from fsir.task.task import Task
from fsir.wire import messages


def make_task(
    p: int = 4, classes: int = 3, records: int = 200, name: str = "test", **sections: Any
) -> Task:
    """A small task; `sections` replace or add tables."""
    table = {
        "name": name,
        "features": {"names": [f"x{j}" for j in range(p)]},
        "response": {"classes": [f"c{h}" for h in range(classes)]},
        "clip": {"truncate": 3.0, "norm": min(3.0, 1.5 * p**0.5)},
        "privacy": {"epsilon": 4.0},
        "report": {"records": records},
    }
    return task_from_table(table | sections)


def screening_task(method: str = "dense", quorum: int = 3, p: int = 8, **more: Any) -> Task:
    """A task with two stages."""
    rule = {
        "method": method,
        "quorum": quorum,
        "keep": 1,
        "limit": 4,
        "final_norm_factor": 1.2,
        "records": "fresh",
    }
    if method == "votes":
        rule |= {"threshold": 0.3}
    return make_task(p, screening=rule | more, name="screened")


def release_of(task: Task, stage: Stage, seed: int, n: int | None = None) -> Any:
    """What an honest device with this seed releases: class h has its mean at feature h."""
    rng = np.random.default_rng(seed)
    n = report_size(task) if n is None else n
    slices = rng.integers(0, task.slicing.count, n)
    X = rng.normal(size=(n, task.p))
    X[np.arange(n), slices % task.p] += 2.0
    moments = Moments(task, stage)
    labels = (
        np.array(task.slicing.labels)[slices] if task.response.classes else slices.astype(float)
    )
    moments.learn_many(X[:, list(stage.features)], labels)
    return release(moments, SeededNoise(seed, stage.name))


def report(task: Task, device: str, seed: int, stage: Stage | None = None, **changes: Any) -> bytes:
    """The bytes of an honest report; `changes` replace fields of the message."""
    stage = first_stage(task) if stage is None else stage
    released = release_of(task, stage, seed)
    body: dict[str, Any] = {
        "task": task.digest,
        "device": device,
        "stage": stage.name,
        "n": released.n,
    }
    if stage.name == SCREENING and task.screening is not None and task.screens_by_votes:
        body["votes"] = private_votes(released, Totals(stage), task.screening.threshold)
    else:
        body["blocks"] = released.blocks
    return messages.encode(messages.Report(**(body | changes)))


def topic(task: Task, device: str) -> str:
    """Where a device publishes its reports."""
    return messages.topic(task.name, "report", device)
