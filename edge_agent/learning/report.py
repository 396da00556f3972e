"""From moments to the bytes of a report. The only place where noise is drawn."""

from __future__ import annotations

from functools import partial

import numpy as np

from fsir.estimate.totals import Totals
from fsir.estimate.votes import private_votes
from fsir.privacy.moments import Moments
from fsir.privacy.noise import Noise
from fsir.privacy.plan import SCREENING
from fsir.privacy.release import release
from fsir.task.task import Task
from fsir.wire.messages import Report, encode


def report_bytes(task: Task, device: str, moments: Moments, noise: Noise) -> bytes:
    """The report of one stage. Each call draws new noise: call it once, and keep what it returns."""
    stage, released = moments.stage, release(moments, noise.for_stage(moments.stage.name))
    head = partial(Report, task=task.digest, device=device, stage=stage.name, n=released.n)
    if stage.name == SCREENING and task.screening is not None and task.screens_by_votes:
        votes = private_votes(released, Totals(stage), task.screening.threshold)
        return encode(head(votes=votes.astype(np.bool_)))
    return encode(head(blocks=released.blocks))
