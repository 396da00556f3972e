"""A table of one's own over real MQTT: the same bytes as in one process."""

from __future__ import annotations

import json

import pytest

from sim_devices.cli import main
from tests.sim_devices.own.made_up import records, write


def run(capsys, path, tmp_path, *options):
    line = ["csv", path, "--response", "activity", "--by", "person", "--out", tmp_path, "--json"]
    tried = ["--epsilon", "1,4", "--devices", "4,12", "--records", "40"]
    assert main([str(part) for part in [*line, *tried, *options]]) == 0
    return json.loads(capsys.readouterr().out.splitlines()[-1])


@pytest.mark.long
@pytest.mark.parametrize("numeric", [False, True], ids=["classes", "numbers"])
def test_devices_broker_and_aggregator_find_what_one_process_finds(numeric, tmp_path, capsys):
    rows = records(each=40, numeric=numeric)
    unequal = [row for k, row in enumerate(rows) if row[0] != "person-07" or k % 3]
    path = write(tmp_path / "people.csv", unequal)
    found = run(capsys, path, tmp_path, "--broker", "embedded")
    fast = run(capsys, path, tmp_path, "--fast")
    assert found["devices"] == found["reports_counted"] == 8
    assert found["broker"] == "embedded"
    for axis, points in found["curves"].items():
        for over_mqtt, in_process in zip(points, fast["curves"][axis], strict=True):
            # The first draw has the same noise; a larger fleet is simulated in either case.
            draws = 1 if not over_mqtt["simulated"] else len(in_process["scores"])
            assert over_mqtt["scores"] == in_process["scores"][:draws]
            assert (over_mqtt["broker"] == "embedded") != over_mqtt["simulated"]
    assert found["controls"].keys() == fast["controls"].keys()
    page = (tmp_path / "people" / "page.html").read_text(encoding="utf-8")
    assert page.count("<figure") == 6
