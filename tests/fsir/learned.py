"""Moments that have learned something, for the tests of what is made of them."""

from __future__ import annotations

import numpy as np

from fsir.privacy.moments import Moments
from fsir.privacy.plan import first_stage


def filled(task, stage, n=200, seed=0):
    """Moments of n random records with random classes."""
    rng = np.random.default_rng(seed)
    moments = Moments(task, stage)
    X = rng.normal(size=(n, len(stage.features)))
    moments.learn_many(X, rng.choice(task.response.classes, n))
    return moments


def signal(task, n, shift, seed=0):
    """Moments of a device on which feature 1 tells the classes apart by `shift`."""
    stage = first_stage(task)
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, len(task.response.classes), n)
    x = rng.normal(size=(n, task.p)) * 0.3
    x[:, 1] += shift * (labels - 1)
    moments = Moments(task, stage)
    moments.learn_many(x, np.array(task.response.classes)[labels])
    return moments
