import numpy as np
import pytest

from fsir.estimate.rounds.memory import remember, totals_of
from fsir.estimate.subspace import estimate
from fsir.estimate.totals import Totals
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import release
from fsir.privacy.rounds.correlated import round_noise
from tests.fsir.estimate.rounds.worlds import count, federation
from tests.fsir.privacy.rounds.tasks import small_task


def test_a_single_round_is_the_totals_of_its_reports():
    task = small_task(1, records=200)
    stage = first_stage(task)
    totals = Totals(stage)
    history = federation(task, [])
    rng = np.random.default_rng(1)
    for k in range(3):
        moments = Moments(task, stage)
        moments.learn_many(rng.normal(size=(200, 2)), rng.choice(["no", "yes"], 200))
        released = release(moments, SeededNoise(1, str(k)))
        totals.add(released)
        count(history, [1], [released])
    kept = remember(task, history)
    assert kept.totals.noises == totals.noises == 3
    assert (kept.totals.n, kept.totals.devices, kept.since) == (600, 3, 1)
    assert np.array_equal(kept.totals.second(), totals.second())
    assert np.array_equal(estimate(task, kept.totals).basis, estimate(task, totals).basis)


def test_nothing_counted_is_nothing_remembered():
    task = small_task(4)
    kept = remember(task, federation(task, []))
    assert (kept.totals.n, kept.totals.devices, kept.since, kept.weights) == (0, 0, 0, {})


@pytest.mark.parametrize(
    ("section", "weights"),
    [
        ({"memory": "all"}, {1: 1.0, 2: 1.0, 3: 1.0, 5: 1.0}),
        ({"memory": "auto"}, {1: 1.0, 2: 1.0, 3: 1.0, 5: 1.0}),
        ({"memory": "window", "span": 3}, {3: 1.0, 5: 1.0}),
        ({"memory": "decay", "span": 2}, {1: 0.25, 2: 0.5**1.5, 3: 0.5, 5: 1.0}),
    ],
)
def test_each_memory_has_its_weights(section, weights):
    task = small_task(8, estimate=section)
    history = federation(task, [(1, 2, 3, 5), (2, 5)])
    kept = remember(task, history)
    assert kept.weights == pytest.approx(weights)
    assert kept.since == min(weights)


def test_weights_keep_the_weighted_mean_and_count_effective_records():
    task = small_task(4, estimate={"memory": "decay", "span": 1})
    history = federation(task, [(1, 2, 3)] * 2)
    totals = totals_of(history, {1: 0.25, 2: 0.5, 3: 1.0})
    n = 200
    assert totals.n == round((1.75 * n) ** 2 / (1.3125 * n))
    parts = [totals_of(history, {t: 1.0}).sums() / n for t in (1, 2, 3)]
    mean = (0.25 * parts[0] + 0.5 * parts[1] + parts[2]) / 1.75
    assert totals.sums() / totals.n == pytest.approx(mean)


@pytest.mark.parametrize("weights", [[1, 1, 1, 1], [0, 0, 1, 1], [0.125, 0.25, 0.5, 1]])
def test_the_noise_is_that_of_released_integers(weights):
    """Devices without a record, some of which skip rounds: all that they release is noise."""
    task = small_task(4, records=1)
    stage = first_stage(task)
    nothing = Moments(task, stage)
    nothing.refuse("nobody's")
    squares = []
    for seed in range(300):
        history = federation(task, [])
        for k, rounds in enumerate([(1, 2, 3, 4), (1, 2, 3, 4), (1, 3), (2, 4)]):
            source = SeededNoise(seed, str(k))
            count(
                history, rounds, [release(nothing, round_noise(source, stage, t)) for t in rounds]
            )
        totals = totals_of(history, dict(enumerate(weights, start=1)))
        sds = [block.variance**0.5 for block in stage.blocks]
        values = [totals._block(b) / sd for b, sd in enumerate(sds)]
        squares.append(np.concatenate(values) ** 2)
    # 300 times 9 values: a standard error of 2.7%.
    assert np.mean(squares) == pytest.approx(totals.noises, rel=0.09)


def test_auto_forgets_what_has_changed_and_others_say_so():
    attendance = [tuple(range(1, 13))] * 5
    changes = {"epsilon": 8}
    task = small_task(12, records=500, privacy=changes)
    history = federation(task, attendance, shift=lambda t: 0.0 if t <= 7 else 1.0)
    kept = remember(task, history)
    assert kept.drift is not None
    assert kept.since == kept.drift.since == 8
    assert kept.drift.chance < 1e-3
    steady = small_task(12, records=500, privacy=changes, estimate={"memory": "all"})
    everything = remember(steady, history)
    assert everything.since == 1
    assert everything.drift == kept.drift
