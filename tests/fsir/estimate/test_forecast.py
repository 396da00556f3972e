"""What is foreseen for twice as many devices is what comes true when they have reported."""

from __future__ import annotations

from itertools import starmap

import numpy as np
import pytest

from fsir.contract import task_from_table
from fsir.estimate.forecast import forecast
from fsir.estimate.public.posterior import posterior, sharpened
from fsir.estimate.subspace import estimate, projection_loss
from fsir.estimate.totals import Totals
from fsir.privacy.plan import first_stage
from tests.aggregator.federations import make_task, release_of
from tests.fsir.estimate.public.worlds import World
from tests.fsir.simulated import federations, model_task, true_directions


def foreseen_and_true(model: str, K: int, epsilon: float, count: int) -> tuple[float, float]:
    """Means over federations: the error that K devices foresee, and the loss of twice as many."""
    n = 1000
    beta = true_directions(model)
    task = model_task(model, n, epsilon, d=beta.shape[1])
    few = (totals for _, [totals] in federations([task], model, n, K, count))
    many = (totals for _, [totals] in federations([task], model, n, 2 * K, count))
    ahead = [forecast(task, totals).expected_error for totals in few]
    came = [projection_loss(estimate(task, totals).basis, beta) for totals in many]
    return float(np.mean(ahead)), float(np.mean(came))


@pytest.mark.parametrize("model", ["I", "III", "V"])
def test_the_error_that_is_foreseen_comes_true(model: str) -> None:
    ahead, came = foreseen_and_true(model, 10, 2.0, 30)
    assert ahead == pytest.approx(came, rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 2.0])
@pytest.mark.parametrize("K", [5, 25])
@pytest.mark.parametrize("model", ["I", "II", "III", "V"])
def test_the_error_that_is_foreseen_comes_true_over_100_federations(
    model: str, K: int, epsilon: float
) -> None:
    ahead, came = foreseen_and_true(model, K, epsilon, 100)
    figures = f"foreseen {ahead:.4f} came {came:.4f} ratio {ahead / came:.2f}"
    print(f"model {model:3s} K {K} epsilon {epsilon:g}: {figures}")
    assert ahead == pytest.approx(came, rel=0.35)


def _totals(task, devices: range) -> Totals:
    totals = Totals(first_stage(task))
    for device in devices:
        totals.add(release_of(task, totals.stage, device))
    return totals


def test_more_devices_are_never_foreseen_to_be_worse() -> None:
    task = make_task(p=5, classes=4, records=100, privacy={"epsilon": 1.0})
    totals = _totals(task, range(10))
    now = estimate(task, totals)
    steps = [forecast(task, totals, times) for times in (1, 2, 8, 64)]
    errors = [step.expected_error for step in steps]
    accuracies = [step.expected_accuracy for step in steps]
    assert [step.devices for step in steps] == [10, 20, 80, 640]
    assert errors == sorted(errors, reverse=True)
    assert accuracies == sorted(accuracies)
    # For as many as there are it is what the subspace says itself.
    assert errors[0] == pytest.approx(now.expected_error)
    assert accuracies[0] == pytest.approx(now.expected_accuracy)


def test_tasks_of_version_1_have_no_expected_accuracy_to_foresee() -> None:
    task = task_from_table(make_task(p=3, records=60).table() | {"version": 1})
    ahead = forecast(task, _totals(task, range(5)))
    assert ahead is not None
    assert ahead.expected_accuracy is None


# --- with a public sample -------------------------------------------------------------------------


def test_what_reports_will_add_to_a_public_sample_is_what_they_add() -> None:
    """Over worlds of people who lie elsewhere: error and accuracy of twice as many devices."""

    def both(seed: int) -> tuple[float, float, float, float]:
        world = World(seed, strange=1.0)
        task = world.task(devices=20, epsilon=1.0)
        ahead = forecast(task, world.totals(task, 20, seed=seed))
        came = estimate(task, world.totals(task, 40, seed=seed + 100))
        if ahead is None or came.expected_accuracy is None:
            return (np.nan,) * 4
        figures = (ahead.expected_accuracy, came.expected_accuracy)
        return ahead.expected_error, came.expected_error, *figures

    found = np.array(list(starmap(both, [(seed,) for seed in range(6)])))
    error, came, accuracy, right = np.nanmean(found, axis=0)
    assert np.isfinite(found).any(1).sum() >= 4
    assert error == pytest.approx(came, rel=0.25)
    assert accuracy == pytest.approx(right, abs=0.04)


def test_without_news_nothing_is_foreseen_while_the_public_rule_is_kept() -> None:
    world = World(3, strange=0.0)
    task = world.task(devices=2, epsilon=0.1)
    totals = world.totals(task, 2)
    kept = [note for note in estimate(task, totals).notes if "own rule is kept" in note]
    assert kept
    assert forecast(task, totals) is None


def test_twice_the_reports_halve_the_noise_and_nothing_else() -> None:
    """With variances of shifts (t) and noise (v) a centre's is `1/(1/t + 1/v)`."""
    world = World(1)
    task = world.task()
    known = posterior(task.public, world.totals(task, 20), task.clip.norm)
    more = sharpened(known, 2)
    noise = 1.0 / (1.0 / known.variances - 1.0 / known.strangeness)
    np.testing.assert_allclose(1.0 / more.variances, 1.0 / known.strangeness + 2.0 / noise)
    assert more.N == 2 * known.N
    np.testing.assert_array_equal(more.centres, known.centres)
