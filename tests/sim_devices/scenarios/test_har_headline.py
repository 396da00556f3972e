"""The HAR result: real people, real MQTT, everything private, tested on people who took no part."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sim_devices.cli import main
from sim_devices.scenarios import scenarios
from sim_devices.scenarios.evaluation import accuracy, without_network
from sim_devices.scenarios.tasks import Setting, build

pytestmark = pytest.mark.data


@pytest.mark.parametrize(("unit", "volunteer"), [(1, None), (1, "subject-01"), (2, "subject-01")])
def test_a_few_seeds_in_one_place(data_dir, unit, volunteer):
    scenario = scenarios.har(data_dir / "uci_har", True, volunteer)
    task = build(scenario.population, scenario.geometry, Setting(1.0, None, unit, dimension=2))
    found = [
        accuracy(
            task,
            without_network(task, scenario.population.devices, seed),
            scenario.population.unseen,
        )
        for seed in range(3)
    ]
    assert np.mean(found) >= 0.99
    assert min(found) >= 0.97


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.timeout(1200)
def test_twenty_seeds_over_the_network(data_dir, capsys, tmp_path):
    arguments = [
        "har",
        "--data",
        str(data_dir / "uci_har"),
        "--epsilon",
        "1",
        "--delta",
        "paper",
        "--repeat",
        "20",
    ]
    assert main([*arguments, "--json", "--out", str(tmp_path)]) == 0
    table = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert table["devices"] == table["reports_counted"] == 21
    assert table["accuracy"] >= 0.99
    assert table["worst"] >= 0.97


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.timeout(1800)
def test_five_thousand_devices_are_counted_once(capsys):
    arguments = [
        "fleet",
        "--devices",
        "5000",
        "--records",
        "100",
        "--dropout",
        "0.1",
        "--crash",
        "0.05",
    ]
    assert main([*arguments, "--broker", "mosquitto", "--json"]) == 0
    table = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert table["devices"] == table["reports_counted"] == 5000
    assert table["dropped_connections"] > 400
    assert table["crashes"] > 150
