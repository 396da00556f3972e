"""`fsir-sim poison` as a user types it."""

from __future__ import annotations

import json

from sim_devices.cli import main


def test_the_command_prints_what_it_measures(capsys):
    small = "poison --model I --devices 6 --records 100 --liars 0.2 --plans 2 --tries 2"
    assert main([*small.split(), "--aggregation", "sum", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [cell["liars"] for cell in answer["cells"]] == [0, 1]
    assert answer["cells"][1]["loss"] > answer["cells"][0]["loss"]
