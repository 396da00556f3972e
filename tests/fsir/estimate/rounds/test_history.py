import numpy as np
import pytest

from fsir.estimate.rounds import history as of_history
from fsir.estimate.rounds.history import History, covariance_of
from fsir.privacy.plan import first_stage
from tests.fsir.privacy.rounds.tasks import small_task

PATTERNS = {(1, 2, 3, 4): 3, (1, 3): 2, (4,): 1}


def history_of(task, patterns=PATTERNS):
    history = History(first_stage(task), patterns=dict(patterns))
    history.records = {round: 100 for pattern in patterns for round in pattern}
    return history


def test_rounds_without_records_are_no_rounds():
    history = history_of(small_task(5))
    history.records[5] = 0
    assert history.rounds == [1, 2, 3, 4]
    assert history.last == 4
    assert History(history.stage).last == 0


def test_devices_are_those_with_a_remembered_round():
    covariance = covariance_of(history_of(small_task(5)))
    assert covariance.devices(np.array([0.0, 0.0, 0.0, 1.0])) == 4
    assert covariance.devices(np.array([0.0, 0.0, 0.5, 1.0])) == 6


def test_a_pattern_may_name_rounds_that_nobody_is_left_in():
    history = history_of(small_task(5), PATTERNS | {(2, 5): 1})
    history.records[5] = 0
    shared = covariance_of(history).shared
    assert np.diagonal(shared).tolist() == [5, 4, 5, 4]


def test_two_rounds_share_the_devices_that_were_in_both():
    shared = covariance_of(history_of(small_task(5))).shared
    assert shared[0].tolist() == [5, 3, 5, 3]
    assert np.diagonal(shared).tolist() == [5, 3, 5, 4]


@pytest.mark.parametrize("noise", ["correlated", "independent"])
def test_the_covariance_gives_the_variance_of_each_pattern_added_up(noise):
    task = small_task(5, privacy={"epsilon": 1, "noise": noise})
    history = history_of(task)
    variance = history.stage.factorisation.variance
    for weights in ([1, 1, 1, 1], [0, 0, 1, 1], [-1, -1, 1, 1], [0.125, 0.25, 0.5, 1]):
        w = np.array(weights, dtype=float)
        expected = 0.0
        for pattern, devices in PATTERNS.items():
            own = [w[t - 1] if t in pattern else 0.0 for t in range(1, 5)]
            expected += devices * variance(own)
        assert w @ covariance_of(history).noise @ w == pytest.approx(expected, rel=1e-12)


def test_who_shares_two_rounds_does_not_depend_on_who_multiplies(monkeypatch):
    history = history_of(small_task(5))
    by_integers = covariance_of(history).shared
    monkeypatch.setattr(of_history, "_FOR_BLAS", 0)
    np.testing.assert_array_equal(covariance_of(history).shared, by_integers)
