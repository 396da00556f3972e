import numpy as np
import pytest

from benchmarks.streams.drifting import noted
from benchmarks.streams.noise import KNOWN, measured
from benchmarks.streams.stationary import loss
from fsir.errors import FsirError
from fsir.estimate.rounds.history import covariance_of
from fsir.estimate.rounds.memory import remember
from fsir.estimate.subspace import estimate
from fsir.privacy.moments import Moments
from fsir.privacy.release import release
from sim_devices.datasets import models
from sim_devices.datasets.population import DeviceStream
from sim_devices.network.parties import secured
from sim_devices.scenarios import scenarios
from sim_devices.scenarios.tasks import Setting, build
from sim_devices.stream.rounds import Fleet
from sim_devices.stream.tasks import with_rounds
from sim_devices.stream.turning import model_round
from tests.system.harness.silent import SilentNoise


@pytest.mark.parametrize("rounds", [4, 10])
def test_released_rounds_have_the_noise_that_is_known(rounds):
    # 8 devices with 527 values each: a standard error of 1.1%.
    assert measured(rounds, devices=8) == pytest.approx(KNOWN[rounds], rel=0.04)


@pytest.mark.long
def test_correlated_rounds_lose_less_than_independent_ones():
    found = loss("III", rounds=12, seeds=2, devices=10)
    assert found["floor"] < found["correlated"] < 0.8 * found["independent"]


@pytest.mark.long
@pytest.mark.parametrize("model", models.MODELS)
def test_a_steady_stream_is_not_said_to_drift(model):
    assert not noted(model, seed=1, rounds=20)


def test_devices_that_skip_rounds_are_counted_where_they_were():
    scenario = scenarios.model("I", 3, 100, 4, 1)
    task = with_rounds(build(scenario.population, scenario.geometry, Setting()), 3)
    fleet = Fleet(task, seed=1)
    rng = np.random.default_rng(1)
    basis = models.true_basis("I", 4, "low", rng)
    for round, present in ((1, 3), (2, 1), (3, 2)):
        fleet.report(round, model_round("I", 3, 100, basis, rng)[:present])
    history = fleet.history
    assert history.records == {1: 300, 2: 100, 3: 200}
    assert history.patterns == {(1, 2, 3): 1, (1, 3): 1, (1,): 1}
    kept = remember(task, history)
    assert (kept.totals.n, kept.totals.devices) == (600, 3)
    assert estimate(task, kept.totals).basis.shape == (4, 1)


def test_two_aggregators_add_the_noise_that_the_history_knows():
    devices, cohort, rounds = 6, 4, 3
    scenario = scenarios.model("I", devices, 100, 20, 1)
    plain = with_rounds(build(scenario.population, scenario.geometry, Setting()), rounds)
    fleet = Fleet(secured(plain, cohort), seed=1)
    stage = fleet.history.stage
    X, y = scenario.population.devices[0].X, scenario.population.devices[0].y
    moments = Moments(fleet.task, stage)
    moments.learn_many(X, y)
    exact = devices * np.concatenate(release(moments, SilentNoise()).blocks)
    sd = np.concatenate([np.full(b.size, b.sd / b.worth) for b in stage.blocks])
    for t in range(1, rounds + 1):
        fleet.report(t, [DeviceStream(f"d{k}", X, y) for k in range(devices)])
    drawn = [(fleet.history.sums[t] - exact) / sd for t in range(1, rounds + 1)]
    assert fleet.history.patterns == {(1, 2, 3): devices + 2 * cohort}
    assert fleet.devices([2]) == devices
    known = covariance_of(fleet.history).noise
    # 252 values: a standard error of 9% of a variance.
    assert np.allclose(np.cov(drawn), known, atol=0.3 * known[0, 0])
    assert known[0, 1] < -0.4 * known[0, 0]  # noise is taken back, that of aggregators too


def test_too_few_devices_for_a_sum_are_refused_with_the_remedy():
    scenario = scenarios.model("I", 3, 100, 4, 1)
    task = with_rounds(build(scenario.population, scenario.geometry, Setting()), 2)
    with pytest.raises(FsirError, match="give a smaller --cohort"):
        Fleet(secured(task, 4), seed=1).report(1, scenario.population.devices)
