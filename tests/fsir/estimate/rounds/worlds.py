"""Histories of small federations, made of nothing but noise or of records that change."""

import numpy as np

from fsir.estimate.rounds.history import History
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import release
from fsir.privacy.rounds.correlated import round_noise


def count(history, device_rounds, releases):
    """Count releases, one for each of a device's rounds."""
    for round, released in zip(device_rounds, releases, strict=True):
        values = np.concatenate(released.blocks)
        history.sums[round] = history.sums.get(round, 0) + values
        history.records[round] = history.records.get(round, 0) + released.n
    pattern = tuple(device_rounds)
    history.patterns[pattern] = history.patterns.get(pattern, 0) + 1


def federation(task, attendance, shift=lambda round: 0.0, seed=0):
    """A history of devices that attend these rounds; class means move by `shift`."""
    stage = first_stage(task)
    rng = np.random.default_rng(seed)
    history = History(stage)
    n = task.report.records
    for k, rounds in enumerate(attendance):
        noise = SeededNoise(seed, f"device {k}")
        releases = []
        for round in rounds:
            labels = np.where(rng.random(n) < 0.5, "yes", "no")
            X = rng.normal(size=(n, 2)) + (labels == "yes")[:, None] * np.array([1.0, 0.0])
            X[:, 1] += (labels == "yes") * shift(round)
            moments = Moments(task, stage)
            moments.learn_many(X, labels)
            releases.append(release(moments, round_noise(noise, stage, round)))
        count(history, rounds, releases)
    return history
