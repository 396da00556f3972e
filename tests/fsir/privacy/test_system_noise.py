"""What protects a device: every word of the system's generator, once, and in every number."""

from __future__ import annotations

import hashlib
import math
import os
from fractions import Fraction

import numpy as np
import pytest

from fsir.privacy.moments import Moments
from fsir.privacy.noise import SystemNoise
from fsir.privacy.plan import SCREENING, final_stage, first_stage
from fsir.privacy.release import release
from tests.fsir.privacy.words import normal_of
from tests.fsir.tasks import screened, task

WORD_BYTES = 16


class Urandom:
    """A system whose generator writes down what it gave."""

    def __init__(self):
        self.given = b""

    def __call__(self, count):
        drawn = hashlib.shake_128(str(len(self.given)).encode()).digest(count)
        self.given += drawn
        return drawn

    def normals(self):
        starts = range(0, len(self.given), WORD_BYTES)
        return [normal_of(int.from_bytes(self.given[i : i + WORD_BYTES], "little")) for i in starts]


@pytest.fixture
def system(monkeypatch):
    generator = Urandom()
    monkeypatch.setattr(os, "urandom", generator)
    return generator


def test_each_normal_is_a_word_of_its_own_bit_for_bit(system):
    noise = SystemNoise()
    sources = [noise, noise, noise.for_stage("screening"), noise.for_stage("final")]
    drawn = [source.normals(count) for source, count in zip(sources, (5, 3, 4, 4), strict=True)]
    assert all(z.dtype == np.float64 for z in drawn)
    # In the order in which the system gave them, nothing twice and nothing left over.
    assert np.concatenate(drawn).tolist() == system.normals()


@pytest.mark.parametrize("step", [1, 64])
@pytest.mark.parametrize("ratio", [8.0, 15.9])
def test_noise_is_added_to_the_sums_as_they_are(system, step, ratio):
    """Also where they stand at half a step, and where the noise is far out."""
    whole = np.arange(-50, 50) * step
    values = np.concatenate([whole + step // 2 + away for away in (-1, 0, 1)]).astype(float)
    published = SystemNoise().perturb(values, ratio * step, step)
    expected = [
        math.floor(Fraction(int(v), step) + Fraction(ratio) * Fraction(z) + Fraction(1, 2))
        for v, z in zip(values, system.normals(), strict=True)
    ]
    assert published.tolist() == expected


@pytest.mark.parametrize("word", [0, 1, 2**90, 2**90 + 1])
def test_no_tail_is_cut(monkeypatch, word):
    monkeypatch.setattr(os, "urandom", lambda count: word.to_bytes(WORD_BYTES, "little"))
    z = normal_of(word)
    assert abs(z) > 6.0
    assert SystemNoise().normals(1).tolist() == [z]
    assert SystemNoise().perturb(np.zeros(1), 80.0, 8).tolist() == [math.floor(10.0 * z + 0.5)]


def test_two_draws_have_nothing_in_common():
    """Whatever the source, the stage or the place: 2000 normals of 53 bits, no two alike."""
    noise = SystemNoise()
    sources = [noise, noise, noise.for_stage("screening"), noise.for_stage("final"), SystemNoise()]
    drawn = np.concatenate([source.normals(400) for source in sources])
    assert len(np.unique(np.abs(drawn))) == len(drawn)


def test_the_scatter_is_that_of_a_standard_normal():
    """Within seven standard errors: one false alarm in 10^11."""
    count = 40_000
    z = SystemNoise().normals(count)
    assert abs(z.mean()) < 7.0 / math.sqrt(count)
    assert abs((z * z).mean() - 1.0) < 7.0 * math.sqrt(2.0 / count)


@pytest.mark.parametrize(
    "stage",
    [
        first_stage(task(3)),
        first_stage(screened(3, limit=3)),
        final_stage(screened(3, limit=3), (0, 2)),
    ],
    ids=["one stage", "screening", "final"],
)
def test_every_number_has_noise_also_in_slices_that_are_empty(stage):
    made = screened(3, limit=3) if stage.name == SCREENING or stage.p < 3 else task(3)
    moments = Moments(made, stage)
    moments.learn_many(np.ones((5, stage.p)), ["a", "a", "a", "a", "b"])
    rows = np.stack([np.concatenate(release(moments, SystemNoise()).blocks) for _ in range(40)])
    assert (rows.min(axis=0) < rows.max(axis=0)).all()


def test_a_device_without_records_sends_nothing_but_noise():
    made = task(3)
    moments = Moments(made, first_stage(made))
    rows = np.stack([np.concatenate(release(moments, SystemNoise()).blocks) for _ in range(40)])
    assert (rows.min(axis=0) < rows.max(axis=0)).all()
