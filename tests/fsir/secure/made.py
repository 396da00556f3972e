"""A task whose two aggregators have real keys, and reports of devices for it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import release
from fsir.secure.keys import KeyPair
from fsir.task.secure import HELPER, LEADER
from tests.fsir.tasks import shared, shared_table

PAIRS = {LEADER: KeyPair.new("hospital"), HELPER: KeyPair.new("university")}


@cache
def keyed_task(p: int = 3, cohort: int = 5, **privacy: Any):
    """A task that names both pairs."""
    section = {**shared_table(cohort=cohort)["secure"]}
    section |= {role: pair.party._asdict() for role, pair in PAIRS.items()}
    return shared(p, secure=section, privacy=privacy)


def released(task, seed: int):
    """What one device publishes of records of its own."""
    rng = np.random.default_rng(seed)
    stage = first_stage(task)
    moments = Moments(task, stage)
    n = task.report.records
    moments.learn_many(rng.normal(size=(n, task.p)), rng.choice(["a", "b", "c"], n))
    return release(moments, SeededNoise(seed, "device"))
