"""What a task may say about rounds."""

import pytest

from fsir.contract import decode_task, task_from_table
from fsir.errors import TaskError
from fsir.task.task import Estimate
from tests.fsir.privacy.rounds.tasks import small_task


def test_one_round_is_what_a_task_has_that_says_nothing():
    silent = small_task(rounds=1)
    table = silent.table()
    assert "rounds" not in table["report"]
    assert task_from_table(table).digest == silent.digest
    assert silent.rounds == 1
    assert not silent.correlates_noise


def test_rounds_are_correlated_and_remembered_as_noise_and_drift_allow():
    task = small_task(rounds=52)
    assert task.correlates_noise
    assert task.memory == Estimate(memory="auto")
    assert decode_task(task.encode()) == task


@pytest.mark.parametrize(
    ("sections", "field"),
    [
        ({"report": {"records": 5, "every": 60}}, "report.every"),
        ({"report": {"records": 5, "start": 0}}, "report.start"),
        ({"report": {"records": 5, "rounds": 1001}}, "report.rounds"),
        ({"report": {"records": 5, "rounds": 3, "deadline": 2_000_000_000}}, "report.deadline"),
        ({"report": {"records": 5}, "estimate": {"memory": "all"}}, "estimate.memory"),
        ({"report": {"records": 5}, "privacy": {"epsilon": 1, "noise": "correlated"}}, "noise"),
        ({"estimate": {"memory": "window"}}, "estimate.span"),
        ({"estimate": {"memory": "all", "span": 4}}, "estimate.span"),
        ({"estimate": {"memory": "some"}}, "estimate.memory"),
        ({"privacy": {"epsilon": 1, "mechanism": "none", "noise": "correlated"}}, "noise"),
        ({"aggregation": "trimmed"}, "aggregation"),
        ({"version": 1}, "report.rounds"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_name(sections, field):
    with pytest.raises(TaskError, match=field):
        small_task(**{"rounds": 3, **sections})
