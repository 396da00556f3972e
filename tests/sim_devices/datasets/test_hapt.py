"""Continuous recordings become one stream of records per person,
and what is left out is counted."""

from __future__ import annotations

import numpy as np
import pytest

from edge_agent.signal.features import FEATURE_NAMES
from sim_devices.datasets.hapt import UNSEEN, hapt
from sim_devices.datasets.population import ACTIVITIES, LEVELS, DataError, with_levels
from sim_devices.scenarios import scenarios
from sim_devices.scenarios.evaluation import accuracy, without_network
from sim_devices.scenarios.tasks import Setting, build

pytestmark = pytest.mark.long


def write(path, users=(1, 2), seconds=60):
    """Two recordings per person: unlabelled, sitting, a transition, walking."""
    rng = np.random.default_rng(0)
    columns = {name: [] for name in ("acc", "gyro", "experiment", "user", "activity")}
    n = seconds * 50
    for experiment, user in enumerate(np.repeat(users, 2), start=1):
        activity = np.repeat([0, 4, 8, 1], [500, 1000, 100, n - 1600])
        swing = np.where(activity == 1, 0.2, 0.0)[:, None] * np.sin(np.arange(n) * 0.24)[:, None]
        columns["acc"].append(rng.normal([0.9, 0.1, 0.2], 0.005, (n, 3)) + swing)
        columns["gyro"].append(rng.normal(0, 0.01, (n, 3)) + 2 * swing)
        columns["activity"].append(activity)
        columns["experiment"].append(np.full(n, experiment))
        columns["user"].append(np.full(n, user))
    np.savez(path, **{name: np.concatenate(parts) for name, parts in columns.items()})


def test_labels_come_from_the_samples_of_the_window(tmp_path):
    write(tmp_path / "hapt_raw.npz")
    population = hapt(tmp_path, levels=False)
    assert [stream.device for stream in population.devices] == ["subject-01"]
    assert [stream.device for stream in population.unseen] == ["subject-02"]
    stream = population.devices[0]
    assert set(stream.y) == {"SITTING", "WALKING"}
    # Of each of the two recordings: sitting is samples 500 to 1499, which hold the windows 8 to 21;
    # walking is 1600 to 2999, with the windows 25 to 44.
    assert [(stream.y == "SITTING").sum(), (stream.y == "WALKING").sum()] == [2 * 14, 2 * 20]
    deviation = stream.X[:, FEATURE_NAMES.index("tBodyAcc-std()-X")]
    assert deviation[stream.y == "WALKING"].min() > deviation[stream.y == "SITTING"].max() + 0.5
    assert "unlabelled" in population.caveats[-1]
    assert "in transition" in population.caveats[-1]


def test_levels_and_a_margin(tmp_path):
    write(tmp_path / "hapt_raw.npz")
    population = hapt(tmp_path / "hapt_raw.npz", margin=16)
    assert population.classes == LEVELS
    assert set(population.devices[0].y) == {"sedentary", "active"}


def test_absent_or_wrong_files_are_refused_with_a_remedy(tmp_path):
    with pytest.raises(DataError, match="--data"):
        hapt(tmp_path)
    np.savez(tmp_path / "hapt_raw.npz", acc=np.zeros((4, 3)))
    with pytest.raises(DataError, match="gyro"):
        hapt(tmp_path)


@pytest.fixture(scope="module")
def people(data_dir):
    """The real recordings, six activities."""
    return hapt(data_dir / "hapt", levels=False)


@pytest.mark.data
def test_the_real_recordings(people, data_dir):
    assert (len(people.devices), len(people.unseen)) == (21, 9)
    with np.load(data_dir / "uci_har/har_full561.npz") as file:
        assert set(UNSEEN) == set(file["subject"][~file["is_train"]].tolist())
    assert sum(map(len, people.everyone)) > 9500
    for stream in people.everyone:
        assert set(stream.y) == set(ACTIVITIES)
        assert len(stream) > 200


@pytest.mark.data
@pytest.mark.parametrize("delta", [None, 1e-6])
@pytest.mark.parametrize("volunteer", ["subject-01", "subject-16", "subject-30"])
def test_three_levels_of_unseen_people_at_epsilon_1_whoever_volunteers(people, volunteer, delta):
    setting = Setting(epsilon=1.0, delta=delta, unit_records=2, dimension=2)
    assert np.mean(_of_volunteer(with_levels(people), volunteer, scenarios.CHOSEN, setting)) >= 0.97


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.timeout(900)
def test_every_volunteer(people):
    """The table of docs/simulator.md: each of the 21 people once as the volunteer,
    three seeds of the noise."""
    for population, dimension in ((with_levels(people), 2), (people, None)):
        for chosen in (scenarios.CHOSEN, 0):
            for delta in (None, 1e-6):
                setting = Setting(epsilon=1.0, delta=delta, unit_records=2, dimension=dimension)
                accuracies = np.array(
                    [
                        _of_volunteer(population, person.device, chosen, setting)
                        for person in people.devices
                    ]
                )
                print(
                    f"{len(population.classes)} classes, {'chosen' if chosen else 'screened'}, "
                    f"delta {delta}: mean {accuracies.mean():.4f}, "
                    f"worst volunteer {accuracies.mean(1).min():.4f}, "
                    f"worst run {accuracies.min():.4f}"
                )
                if chosen and dimension:
                    assert accuracies.mean() >= 0.99
                    assert accuracies.min() >= 0.97


def _of_volunteer(population, volunteer, chosen, setting):
    scenario = scenarios.activities(population, volunteer, chosen)
    task = build(scenario.population, scenario.geometry, setting)
    devices = scenario.population.devices
    unseen = scenario.population.unseen
    return [accuracy(task, without_network(task, devices, seed), unseen) for seed in range(3)]
