import pytest

from fsir.estimate.rounds.memory import remember
from tests.fsir.estimate.rounds.worlds import federation
from tests.fsir.privacy.rounds.tasks import small_task

NOISES = [
    {"epsilon": 8},
    {"epsilon": 8, "noise": "independent"},
    {"epsilon": 1, "mechanism": "none"},
]


@pytest.mark.parametrize("privacy", NOISES)
@pytest.mark.parametrize("seed", range(5))
def test_where_nothing_changes_nothing_is_said(privacy, seed):
    task = small_task(20, records=300, privacy=privacy)
    # The second device skips every other round, and the third comes late.
    attendance = [tuple(range(1, 21)), tuple(range(1, 21, 2)), tuple(range(8, 21))]
    assert remember(task, federation(task, attendance, seed=seed)).drift is None


@pytest.mark.parametrize("privacy", NOISES)
def test_a_jump_is_dated(privacy):
    task = small_task(20, records=500, privacy=privacy)
    history = federation(task, [tuple(range(1, 21))] * 5, lambda t: 0.0 if t < 15 else 1.5)
    drift = remember(task, history).drift
    assert drift is not None
    assert drift.since == 15


def test_of_two_changes_the_last_one_counts():
    task = small_task(24, records=500, privacy={"epsilon": 8})
    shift = [0.0] * 8 + [1.5] * 8 + [3.0] * 8
    history = federation(task, [tuple(range(1, 25))] * 5, lambda t: shift[t - 1])
    assert remember(task, history).since == 17


def test_two_rounds_tell_nothing_about_change():
    task = small_task(2, records=500, privacy={"epsilon": 1, "mechanism": "none"})
    history = federation(task, [(1, 2)] * 3, lambda t: 3.0 * t)
    assert remember(task, history).drift is None
