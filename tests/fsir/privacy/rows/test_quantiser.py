"""No record ever reaches further than the clip: checked in fractions, without rounding."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fsir.privacy.moments import Moments
from fsir.privacy.plan import first_stage
from fsir.privacy.quantiser import Quantiser
from tests.fsir.tasks import task

TASK = task(3, features={"centre": [0.5, -1.0, 0.0], "scale": [1.0, 2.0, 0.3]})
STAGE = first_stage(TASK)
tame = st.floats(-5.0, 5.0)
finite = st.floats(allow_nan=False, allow_infinity=False)


def learned(records, task=TASK, stage=STAGE):
    moments = Moments(task, stage)
    for x, y in records:
        moments.learn_one(dict(zip(task.features.names, x, strict=True)), y)
    return moments


@given(st.lists(finite, min_size=3, max_size=3), st.floats(1e-3, 10.0), st.floats(0.01, 1.73))
def test_no_record_is_ever_longer_than_the_clip(x, R, share):
    clipped_task = task(3, clip={"truncate": R, "norm": share * R})
    stage = first_stage(clipped_task)
    moments = learned([(x, "b")], clipped_task, stage)
    row = [int(v) for v in moments.sums()[:, 1]]
    assert max(map(abs, row)) * Fraction(stage.grid) <= Fraction(R)
    assert sum(v * v for v in row) * Fraction(stage.grid) ** 2 <= Fraction(share * R) ** 2


def _clips_that_round_up():
    """Clips whose square is rounded up to a whole number of squared steps."""
    for k in range(4200, 20000):
        a = math.isqrt(k)
        b = math.isqrt(k - a * a)
        norm = math.sqrt(k)
        if a * a + b * b == k and norm * norm == k and Fraction(norm) ** 2 < k:
            yield a, b, norm


def test_a_clip_whose_square_rounds_up_lets_nothing_longer_through():
    cases = list(_clips_that_round_up())
    assert len(cases) > 20
    for a, b, norm in cases:
        exact = task(2, clip={"truncate": 2.0**-7, "norm": norm * 2.0**-21})
        stage = first_stage(exact)
        row = learned([((a * stage.grid, b * stage.grid), "a")], exact, stage).sums()[:, 0]
        assert sum(int(v) ** 2 for v in row) <= Fraction(stage.norm / stage.grid) ** 2
        assert np.abs(row - [a, b]).max() <= 1  # and nothing is lost but the last step


@given(st.lists(tame, min_size=3, max_size=3))
def test_quantisation_never_lengthens_and_loses_less_than_a_step(x):
    quantiser = Quantiser(TASK, STAGE)
    K = quantiser.truncated(np.array([x]))[0]
    exact = (np.array(x) - TASK.features.centre) / TASK.features.scale / STAGE.grid
    inside = np.clip(exact, -quantiser.reach, quantiser.reach)
    assert (np.abs(K) <= np.abs(inside) * (1 + 1e-12)).all()
    assert (np.abs(K - inside) < 1 + 1e-9).all()


def test_records_at_the_edge_of_floating_point_are_truncated_like_any_other():
    largest = np.finfo(float).max
    for x in ([largest, -largest, largest], [5e-324, -5e-324, 0.0], [0.5, -1.0, -0.0]):
        moments = learned([(x, "a")])
        assert moments.n == 1
        assert np.isfinite(moments.second()).all()
    far = task(2, features={"centre": [-1e100, 1e100], "scale": [1e-100, 1e100]})
    moments = learned([((largest, 1e100), "a"), ((-1e100, -largest), "a")], far, first_stage(far))
    assert np.isfinite(moments.sums()).all()
