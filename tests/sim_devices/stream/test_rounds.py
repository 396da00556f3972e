import numpy as np
import pytest

from benchmarks.streams.drifting import noted
from benchmarks.streams.noise import KNOWN, measured
from benchmarks.streams.stationary import loss
from fsir.estimate.rounds.memory import remember
from fsir.estimate.subspace import estimate
from sim_devices.datasets import models
from sim_devices.scenarios import scenarios
from sim_devices.scenarios.tasks import Setting, build
from sim_devices.stream.rounds import Fleet
from sim_devices.stream.tasks import with_rounds
from sim_devices.stream.turning import model_round


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
