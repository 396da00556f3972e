"""What the project stands for: real people over real MQTT, everything private;
thousands of devices, counted once."""

from __future__ import annotations

import json

import pytest

from sim_devices.cli import main

pytestmark = pytest.mark.data


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.timeout(1200)
def test_twenty_seeds_over_the_network(data_dir, capsys, tmp_path):
    data = ["--data", str(data_dir / "uci_har")]
    arguments = ["--epsilon", "1", "--delta", "paper", "--repeat", "20"]
    assert main(["har", *data, *arguments, "--json", "--out", str(tmp_path)]) == 0
    table = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert table["devices"] == table["reports_counted"] == 21
    assert table["accuracy"] >= 0.99
    assert table["worst"] >= 0.97


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.timeout(1800)
def test_five_thousand_devices_are_counted_once(capsys):
    line = "fleet --devices 5000 --records 100 --dropout 0.1 --crash 0.05 --broker mosquitto --json"
    assert main(line.split()) == 0
    table = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert table["devices"] == table["reports_counted"] == 5000
    assert table["dropped_connections"] > 400
    assert table["crashes"] > 150
