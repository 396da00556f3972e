"""An expected loss grows with what is not known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fsir.estimate.public.loss import corrected_loss
from fsir.estimate.public.posterior import posterior
from fsir.estimate.subspace import random_loss
from fsir.estimate.totals import Totals
from fsir.privacy.plan import first_stage
from tests.fsir.estimate.public.worlds import H, World


def known():
    task = World().task()
    return posterior(task.public, Totals(first_stage(task)), task.clip.norm)


def test_who_knows_everything_expects_no_error():
    sure = replace(known(), variances=np.zeros(H), within_variance=0.0)
    assert corrected_loss(sure, H - 1, 0) < 1e-6


def test_it_grows_with_the_variance_and_with_what_lies_beyond_the_map():
    base = known()
    losses = [
        corrected_loss(replace(base, variances=np.full(H, v)), 1, 0) for v in (0.01, 0.1, 1.0)
    ]
    assert losses == sorted(losses)
    beyond = [corrected_loss(base, 1, features) for features in (0, 10, 1000)]
    assert beyond == sorted(beyond)


def test_who_knows_nothing_expects_what_chance_gives():
    base = known()
    q = base.centres.shape[1]
    lost = replace(base, variances=np.full(H, 1e6))
    assert abs(corrected_loss(lost, 1, 0) - random_loss(q, 1)) < 0.15
